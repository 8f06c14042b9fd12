"""What a body takes its owner's request takes too, and neither guesses at another type."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import httpx
import pytest
from pydantic import BaseModel

from chancery.events import commands, corpora, queries
from chancery.events.run import Bounds, Filters
from chancery.events.search import Search, SearchScopeOf
from chancery.gateway.domain.bodies import (
    BoundsBody,
    CheckBody,
    CredentialBody,
    DatasetBody,
    FiltersBody,
    MemberBody,
    MessageBody,
    PolicyBody,
    SourceBody,
    SqlBody,
    WorkspaceBody,
)
from chancery.gateway.domain.bulk import DocumentBody, DocumentsBody
from chancery.gateway.domain.excerpts import ExcerptBody
from chancery.gateway.domain.knowledge import (
    AnswerHandle,
    AvailableBody,
    CorpusQuestion,
    DraftBody,
    PublishBody,
    RecordBody,
    RequestPair,
)
from chancery.gateway.domain.searches import RefreshBody, SearchBody
from chancery.kernel.canonical import Json
from tests.unit.gateway.fakes import TOKEN, World

W = "/v1/workspaces/w"
DRAFT: Mapping[str, Json] = {"title": "t", "kind": "rule", "domain": "d", "text": "x"}
PAIR: Mapping[str, Json] = {"source": "s", "revision": 1}
ASKED: Mapping[str, Json] = {**PAIR, "question": "q", "profile": "p", "policy_revision": "1"}
EVIDENCE: Mapping[str, Json] = {"kind": "source", "id": "s", "revision": 1}

MADE_OF: Mapping[type[BaseModel], tuple[type[BaseModel], ...]] = {
    AnswerHandle: (corpora.OfCorpusAnswer,),
    AvailableBody: (),
    BoundsBody: (Bounds,),
    CheckBody: (),
    CorpusQuestion: (corpora.AskCorpus, Bounds),
    CredentialBody: (commands.IssueCredential,),
    DatasetBody: (commands.DeclareDataset,),
    DocumentBody: (commands.BulkDocument,),
    DocumentsBody: (),
    DraftBody: (commands.SaveDraft,),
    ExcerptBody: (commands.PostMessage,),
    FiltersBody: (Filters,),
    MemberBody: (commands.AddMember,),
    MessageBody: (commands.PostMessage,),
    PolicyBody: (commands.RevisePolicy,),
    PublishBody: (commands.PublishDraft,),
    RecordBody: (corpora.OfRecord,),
    RefreshBody: (queries.OfResource,),
    RequestPair: (corpora.OfCorpusRun,),
    SearchBody: (SearchScopeOf, Search),
    SourceBody: (commands.DeclareSource,),
    SqlBody: (queries.RunQuery,),
    WorkspaceBody: (commands.CreateWorkspace,),
}
"""Which requests are made of each body."""

STRICTER = {
    ("SourceBody", "date"), ("FiltersBody", "date_from"), ("FiltersBody", "date_to"),
    ("MessageBody", "bounds"), ("MessageBody", "filters"), ("ExcerptBody", "bounds"),
    ("CorpusQuestion", "max_sources"), ("CorpusQuestion", "revision"),
    ("RequestPair", "revision"), ("RecordBody", "revision"), ("RefreshBody", "revision"),
    ("CorpusQuestion", "profile"), ("CorpusQuestion", "policy_revision"),
    ("DatasetBody", "columns"), ("DatasetBody", "row_filters"), ("DatasetBody", "measures"),
    ("ExcerptBody", "filters"), ("AnswerHandle", "run_id"), ("AnswerHandle", "generation"),
}  # fmt: skip
"""The fields that a body bounds more than the request does, or by a body of its own."""


def bodies_of_the_surface() -> set[str]:
    """Return the names of the bodies of every route, as the contract tells them."""
    paths = World().surface().openapi()["paths"]
    operations = [each for path in paths.values() for each in path.values()]
    schemas = (
        each["requestBody"]["content"].get("application/json", {}).get("schema", {})
        for each in operations
        if "requestBody" in each
    )
    return {each["$ref"].rpartition("/")[2] for each in schemas if "$ref" in each}


def rules(model: type[BaseModel], name: str) -> tuple[object, ...]:
    """Return what a field demands; validators are told by the function that they call."""
    field = model.model_fields[name]
    return (str(field.annotation), *sorted(map(repr, field.metadata)))


def test_each_body_says_which_requests_are_made_of_it() -> None:
    assert bodies_of_the_surface() <= {each.__name__ for each in MADE_OF}
    assert "DraftBody" in bodies_of_the_surface()


@pytest.mark.parametrize("body", MADE_OF)
def test_a_body_demands_what_the_request_that_is_made_of_it_demands(body: type[BaseModel]) -> None:
    looser = [
        (request.__name__, field)
        for request in MADE_OF[body]
        for field in body.model_fields.keys() & request.model_fields.keys()
        if (body.__name__, field) not in STRICTER and rules(body, field) != rules(request, field)
    ]

    assert looser == []


@pytest.mark.req("CL-8")
@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_a_tag_twice_is_refused_by_name(method: str) -> None:
    path = f"{W}/items/i/drafts" + ("/d" if method == "PUT" else "")

    async with World().client() as client:
        told = await client.request(method, path, json={**DRAFT, "tags": ["a", "a"]})
        other = await client.request(method, path, json={**DRAFT, "tags": ["a", "b"]})

    assert (told.status_code, told.json()["field"]) == (422, "tags")
    assert told.json()["detail"] == "tags: must name each tag once"
    assert other.status_code == 503


@pytest.mark.parametrize(
    ("made", "status", "code", "field"),
    [
        (
            lambda: commands.CreateWorkspace(workspace_id="w", title=""),
            422,
            "invalid_request",
            "title",
        ),
        (lambda: commands.Outcome(sequence=-1, changed=True), 500, "internal", None),
    ],
)
async def test_what_only_the_request_refuses_is_the_callers_and_a_bad_reply_is_not(
    made: Callable[[], BaseModel], status: int, code: str, field: str | None
) -> None:
    surface = World().surface()

    @surface.get("/v1/made")
    async def make() -> None:
        made()

    transport = httpx.ASGITransport(surface, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://edge", headers=headers
    ) as client:
        told = await client.get("/v1/made")

    assert (told.status_code, told.json()["code"], told.json().get("field")) == (
        status,
        code,
        field,
    )


@pytest.mark.req("CL-8")
@pytest.mark.parametrize("value", [True, "1", "x", False])
@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("corpora/c/answer", ASKED, "revision"),
        ("corpora/c/answer", ASKED, "max_input_tokens"),
        ("corpora/c/answer", ASKED, "max_sources"),
        ("corpora/c/cancel", PAIR, "revision"),
        ("corpora/c/refresh", PAIR, "revision"),
        ("corpora/c/available", {"answer": {"run_id": "r"}}, "answer.generation"),
        ("sources/s/refresh", {}, "revision"),
        ("search", {"query": "q"}, "k"),
        ("query", {"sql": "SELECT 1"}, "offset"),
        ("sources/s/revisions/1/check", {"text": "t"}, "start"),
        ("items/i/drafts", {**DRAFT, "evidence": [EVIDENCE]}, "evidence.0.revision"),
        ("rag", {"question": "q", "bounds": {}}, "bounds.max_duration_s"),
    ],
)
async def test_a_whole_number_is_taken_from_nothing_else(
    path: str, body: Mapping[str, Json], field: str, value: Json
) -> None:
    async with World().client() as client:
        told = await client.post(f"{W}/{path}", json=placed(body, field, value))
        good = await client.post(f"{W}/{path}", json=placed(body, field, 1))

    assert (told.status_code, told.json()["field"]) == (422, field)
    assert told.json()["detail"] == f"{field}: must be a whole number"
    assert good.status_code == 503


@pytest.mark.parametrize("value", [1, "true", "yes", 0.0])
async def test_a_switch_is_true_or_false(value: Json) -> None:
    document = {"source_id": "s", "text": "t", "restore": value}

    async with World().client() as client:
        told = await client.post(f"{W}/sources", json={"documents": [document]})

    assert (told.status_code, told.json()["field"]) == (422, "documents.0.restore")
    assert told.json()["detail"].endswith("must be true or false")


def placed(body: Mapping[str, Json], field: str, value: Json) -> Json:
    """Return a body with another value at the place of a field."""
    step, _, rest = field.partition(".")
    if not rest:
        return {**body, step: value}
    within = body[step]
    if isinstance(within, list):
        first = within[0]
        assert isinstance(first, dict)
        return {**body, step: [placed(first, rest.partition(".")[2], value)]}
    assert isinstance(within, dict)
    return {**body, step: placed(within, rest, value)}
