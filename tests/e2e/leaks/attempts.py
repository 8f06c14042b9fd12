"""How each route of the surface is tried with ids of others; a route that is missing here fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chancery.kernel.canonical import Json

Ids = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sent:
    """What is sent beside method and path: JSON, or bytes with their headers."""

    json: Json = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


W: Final = "/v1/workspaces/{ws}"
SHA: Final = "0" * 64
BROKEN: Final = Sent(json={"nobody": "knows this field"})
TEXT: Final = Sent(content=b"# Any\n\nText.\n", headers={"Content-Type": "text/markdown"})
CSV: Final = Sent(content=b"a,b\n1,2\n", headers={"Content-Type": "text/csv"})
PICTURE: Final = Sent(content=b"\x89PNG", headers={"Content-Type": "image/png"})


def _nothing(_: Ids) -> Sent:
    return Sent()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to try a route.

    `own` names the ids that stay the attacker's while the others are foreign; `body` names ids that
    stand in the body, which `sent` makes; `numbers` replaces revision numbers; `allowed` are the
    roles in whose workspace this is theirs to do, so that it is not tried, and `why`.
    """

    sent: Callable[[Ids], Sent] = _nothing
    body: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    number: int = 1
    allowed: tuple[str, ...] = ()
    why: str = ""
    query: str = ""
    shows: bool = True


def fixed(sent: Sent) -> Callable[[Ids], Sent]:
    """Return what sends the same body always."""
    return lambda _: sent


def as_json(**fields: Json) -> Callable[[Ids], Sent]:
    """Return what sends a JSON object; `{name}` in a text of it becomes that id."""

    def filled(value: Json, ids: Ids) -> Json:
        if isinstance(value, str):
            return value.format_map(ids)
        if isinstance(value, Mapping):
            return {name: filled(each, ids) for name, each in value.items()}
        if isinstance(value, Sequence):
            return [filled(each, ids) for each in value]
        return value

    return lambda ids: Sent(json={name: filled(value, ids) for name, value in fields.items()})


_CURATORS: Final = ("curator", "publisher", "admin")
_PUBLISHERS: Final = ("publisher", "admin")
_ADMIN: Final = ("admin",)
_MAKES: Final = "it makes what is not there; tried apart, what is there is not overwritten"
_BLIND: Final = "an admin ends what others read without reading it"
_LIST: Final = "an admin says who is a member"

_DRAFT: Final[Mapping[str, Json]] = {"title": "T", "kind": "k", "domain": "d", "text": "x"}
_ROOT: Final[Json] = [{"kind": "source", "id": "{source}", "revision": 1}]
_PAIR: Final[Mapping[str, Json]] = {"source": "s", "revision": 1}
_QUESTION: Final[Mapping[str, Json]] = {"profile": "p", "policy_revision": "0", "question": "Who?"}
_BULK: Final[Json] = [{"source_id": "{source}", "title": "T", "text": "Any."}]


def _read(*, shows: bool = True) -> tuple[Attempt, ...]:
    return (Attempt(shows=shows),)


def _numbered(*, shows: bool = True) -> tuple[Attempt, ...]:
    return (Attempt(shows=shows), Attempt(number=9))


def _grants(kind: str) -> dict[str, tuple[Attempt, ...]]:
    path = f"{W}/{kind}s/{{{kind}}}/grants/{{grantee}}"
    return {
        f"PUT {path}": (Attempt(),),
        f"DELETE {path}": (Attempt(allowed=_ADMIN, why=_BLIND),),
    }


TABLE: Final[Mapping[str, tuple[Attempt, ...]]] = {
    "POST /v1/workspaces": (Attempt(as_json(workspace_id="{ws}", title="T"), body=("ws",)),),
    f"DELETE {W}": (Attempt(allowed=_ADMIN, why="it is the admin's to close"),),
    f"PUT {W}/members/{{principal}}": (
        Attempt(as_json(role="reader"), allowed=_ADMIN, why=_LIST),
        Attempt(fixed(BROKEN), allowed=_ADMIN, why=_LIST),
    ),
    f"DELETE {W}/members/{{principal}}": (Attempt(allowed=_ADMIN, why=_LIST),),
    "PUT /v1/groups/{group}/members/{principal}": (Attempt(),),
    "DELETE /v1/groups/{group}/members/{principal}": (Attempt(),),
    "POST /v1/credentials": (
        Attempt(as_json(principal="{principal}"), body=("principal",)),
        Attempt(as_json(principal="{principal}", tenant="{tenant}"), body=("principal", "tenant")),
    ),
    "DELETE /v1/credentials/{credential}": (Attempt(),),
    f"GET {W}/policy": _read(shows=False),
    f"PUT {W}/policy": (Attempt(as_json(policy_revision="p"), allowed=_ADMIN, why=_LIST),),
    f"GET {W}/sources": _read(),
    f"POST {W}/sources": (
        Attempt(as_json(documents=_BULK), body=("source",), allowed=_PUBLISHERS, why=_MAKES),
    ),
    f"GET {W}/sources/{{source}}": _read(),
    f"PUT {W}/sources/{{source}}": (
        Attempt(as_json(title="T"), allowed=_PUBLISHERS, why=_MAKES),
        Attempt(fixed(BROKEN)),
    ),
    f"POST {W}/sources/{{source}}/revisions": (
        Attempt(fixed(TEXT)),
        Attempt(fixed(PICTURE)),
        Attempt(fixed(Sent(json={"text": ""}))),
    ),
    f"GET {W}/sources/{{source}}/revisions/{{number}}": _numbered(),
    f"GET {W}/sources/{{source}}/revisions/{{number}}/text": _numbered(),
    f"GET {W}/sources/{{source}}/revisions/{{number}}/status": _numbered(shows=False),
    f"POST {W}/sources/{{source}}/revisions/{{number}}/check": (
        Attempt(as_json(text="pump stands")),
        Attempt(as_json(text="x", start=9_999_999, end=10_000_000)),
    ),
    **_grants("source"),
    f"POST {W}/sources/{{source}}/withdraw": (Attempt(allowed=_ADMIN, why=_BLIND),),
    f"POST {W}/sources/{{source}}/restore": (Attempt(),),
    f"POST {W}/sources/{{source}}/refresh": (
        Attempt(as_json(revision=1)),
        Attempt(as_json(revision=9)),
    ),
    f"POST {W}/sources/{{source}}/reconcile": (Attempt(),),
    f"PUT {W}/datasets/{{dataset}}": (
        Attempt(as_json(title="T"), allowed=_PUBLISHERS, why=_MAKES),
    ),
    f"GET {W}/datasets/{{dataset}}": _read(),
    f"POST {W}/datasets/{{dataset}}/snapshots": (
        Attempt(fixed(CSV)),
        Attempt(fixed(CSV), query="?mode=append"),
        Attempt(fixed(PICTURE)),
    ),
    f"GET {W}/datasets/{{dataset}}/snapshots/{{number}}": _numbered(),
    f"GET {W}/datasets/{{dataset}}/schema": _read(),
    **_grants("dataset"),
    f"POST {W}/datasets/{{dataset}}/withdraw": (Attempt(allowed=_ADMIN, why=_BLIND),),
    f"POST {W}/query": (
        Attempt(as_json(sql='SELECT * FROM "{dataset}"'), body=("dataset",)),
        Attempt(as_json(sql='SELECT nothing FROM "{dataset}"'), body=("dataset",), shows=False),
        Attempt(as_json(sql="SELECT 1/0 FROM {dataset} x"), body=("dataset",), shows=False),
    ),
    f"POST {W}/items/{{item}}/drafts": (
        Attempt(as_json(**_DRAFT), allowed=_CURATORS, why=_MAKES),
        Attempt(as_json(**_DRAFT, evidence=_ROOT), body=("source",), own=("item",)),
    ),
    f"PUT {W}/items/{{item}}/drafts/{{draft}}": (
        Attempt(as_json(**_DRAFT), allowed=_CURATORS, why=_MAKES),
        Attempt(as_json(**_DRAFT, evidence=_ROOT), body=("source",), own=("item", "draft")),
    ),
    f"POST {W}/items/{{item}}/drafts/{{draft}}/publish": (
        Attempt(as_json(content_sha256=SHA)),
        Attempt(as_json(content_sha256=SHA), own=("item",)),
        Attempt(
            as_json(content_sha256=SHA, evidence=_ROOT), body=("source",), own=("item", "draft")
        ),
    ),
    f"GET {W}/items": _read(),
    f"GET {W}/items/{{item}}": _read(),
    f"GET {W}/items/{{item}}/versions/{{number}}": _numbered(),
    f"GET {W}/items/{{item}}/versions/{{number}}/manifest": _numbered(),
    f"GET {W}/items/{{item}}/versions/{{number}}/text": _numbered(),
    f"GET {W}/items/{{item}}/versions/{{number}}/parts/{{part}}": (
        Attempt(),
        Attempt(own=("item",), shows=False),
    ),
    **_grants("item"),
    f"POST {W}/items/{{item}}/withdraw": (Attempt(allowed=_ADMIN, why=_BLIND),),
    "DELETE /v1/files/{file}": (Attempt(),),
    f"PUT {W}/corpora/{{corpus}}": (
        Attempt(as_json(model="Revision"), allowed=_PUBLISHERS, why=_MAKES),
    ),
    f"GET {W}/corpora/{{corpus}}": _read(),
    f"POST {W}/corpora/{{corpus}}/answer": (Attempt(as_json(**_QUESTION, **_PAIR)),),
    f"POST {W}/corpora/{{corpus}}/cancel": (Attempt(as_json(**_PAIR)),),
    f"POST {W}/corpora/{{corpus}}/reconcile": (Attempt(as_json(**_PAIR)),),
    f"POST {W}/corpora/{{corpus}}/available": (
        Attempt(as_json(answer={"run_id": "{run}", "generation": 1}), body=("run",)),
        Attempt(
            as_json(answer={"run_id": "{run}", "generation": 1}), body=("run",), own=("corpus",)
        ),
    ),
    f"POST {W}/corpora/{{corpus}}/refresh": (
        Attempt(as_json(source="{source}", revision=1), body=("source",)),
        Attempt(as_json(source="{source}", revision=1), body=("source",), own=("corpus",)),
    ),
    f"GET {W}/corpora/{{corpus}}/status/{{source}}/{{revision}}": (
        Attempt(shows=False),
        Attempt(own=("corpus",), shows=False),
        Attempt(number=9),
    ),
    f"POST {W}/conversations": (Attempt(),),
    "GET /v1/conversations/{conversation}": _read(),
    "POST /v1/conversations/{conversation}/messages": (
        Attempt(as_json(question="Who?")),
        Attempt(as_json(question="Who?", sources=["{source}"]), body=("source",)),
        Attempt(as_json(question=" ")),
    ),
    "GET /v1/runs/{run}": _read(),
    "GET /v1/runs/{run}/answer": _read(),
    "GET /v1/runs/{run}/audit": _read(),
    "GET /v1/runs/{run}/bundle": _read(),
    "POST /v1/runs/{run}/cancel": (Attempt(),),
    "POST /v1/runs/{run}/retry": (Attempt(),),
    "GET /v1/runs/{run}/events": (
        Attempt(),
        Attempt(lambda ids: Sent(headers={"Last-Event-ID": f"{ids['run']}.1"})),
    ),
    f"POST {W}/search": (
        Attempt(as_json(query="pump stands hall", sources=["{source}"]), body=("source",)),
        Attempt(as_json(query="pump stands hall", items=["{item}"]), body=("item",)),
        Attempt(as_json(query="pump stands hall", files=["{file}"]), body=("file",)),
        Attempt(as_json(query="pump", sources=["{source}"], k=0), body=("source",), shows=False),
    ),
    f"POST {W}/rag": (Attempt(as_json(question="Where does the pump stand?")),),
    f"POST {W}/rlm": (Attempt(as_json(question="Where does the pump stand?")),),
}
"""Each route with ids of others; selections of a run are tried in `test_selections`."""

WITHOUT_IDS: Final[Mapping[str, str]] = {
    "GET /healthz": "says that the process lives",
    "GET /readyz": "says which services answer",
    "GET /metrics": "counts by route templates",
    "GET /v1/workspaces": "the caller's own memberships; read in `test_listings`",
    "POST /v1/blobs": "keeps bytes for the caller alone and names no one else's",
    "POST /v1/files": "makes a file of the caller with an id of the caller's",
    "GET /v1/files": "the caller's own files; read in `test_listings`",
}
"""Routes that take no id of anything, and why nothing of others can be named on them."""
