"""What routes share: the call, the ports behind the application, and ids in paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from fastapi import Depends, Path, Query, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from chancery.events.queries import Document, Identity, WhoAmI
from chancery.events.requests import Message
from chancery.events.topology import Service, command_subject, query_subject
from chancery.gateway.domain.calls import Call
from chancery.gateway.domain.problems import FIELD_CHARACTERS_MAX
from chancery.gateway.handlers.room import Room
from chancery.gateway.handlers.turns import Turns
from chancery.gateway.ports import Announcements, Nudges, Owners
from chancery.kernel.errors import Rejected
from chancery.kernel.ids import ID_PATTERN
from chancery.runtime.misspelled import meant
from chancery.store.blobs import Receiving

Told = TypeVar("Told", bound=Message)

TEXTS_MAX = 8
TEXTS_OF_ONE_MAX = 4
TEXTS_OF_TENANT_MAX = 6
"""Texts that are looked into at the same time, each of up to 64 MiB and with its places."""

SENT_MAX = 32
SENT_OF_ONE_MAX = 4
SENT_OF_TENANT_MAX = 16
"""Long texts on their way to a caller, each in a file of up to 64 MiB."""

SUPERSEDED_HEADER = "Chancery-Superseded-By-Publication"

PathId = Annotated[str, Path(pattern=ID_PATTERN, description="1 to 64 of A-Z a-z 0-9 _ -")]
Restore = Annotated[bool, Query(description="let it serve again when it was withdrawn")]
RevisionNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]


@dataclass(frozen=True, slots=True)
class Edge:
    """The ports of the edge and its token key, built once by the application."""

    owners: Owners
    announcements: Announcements
    nudges: Nudges
    blobs: Receiving
    token_key: bytes
    room: Room = field(default_factory=Room)
    texts: Turns = field(
        default_factory=lambda: Turns(TEXTS_MAX, TEXTS_OF_ONE_MAX, TEXTS_OF_TENANT_MAX)
    )
    """A turn to have a stored text in memory: to look for something in it, or to send it."""

    sending: Turns = field(
        default_factory=lambda: Turns(SENT_MAX, SENT_OF_ONE_MAX, SENT_OF_TENANT_MAX)
    )
    """A turn to send a text that is longer than what anybody may keep in memory."""


@dataclass(frozen=True, slots=True)
class Context:
    """One call together with the ports that can serve it."""

    call: Call
    edge: Edge

    async def command(self, server: Service, verb: str, body: Message, reply: type[Told]) -> Told:
        """Send a command on behalf of the caller and return its outcome."""
        subject = command_subject(server, verb)
        return await self.edge.owners.ask(subject, self.call.request(body), reply)

    async def query(self, server: Service, noun: str, body: Message, reply: type[Told]) -> Told:
        """Ask a read-only question on behalf of the caller and return its answer."""
        subject = query_subject(server, noun)
        return await self.edge.owners.ask(subject, self.call.request(body), reply)


async def prove(context: Context) -> None:
    """Ask whether the credential of a call is what it claims to be.

    Raises:
        Denied: it is not.
    """
    await context.query("release", "identity", WhoAmI(), Identity)


_BEARER = HTTPBearer(
    scheme_name="bearerAuth",
    description="chy1.<tenant>.<principal>.<credential>.<secret>",
    auto_error=False,
)


async def _context(
    request: Request, _named: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]
) -> Context:  # Not async, it would take a thread. The intake has checked the credential's shape.
    call: Call = request.state.call
    edge: Edge = request.app.state.edge
    return Context(call=call, edge=edge)


async def refuse_unknown_parameters(request: Request) -> None:
    """Refuse a query parameter that the route does not take, or one that is there twice.

    Passed over, it would widen a reply; and two readers could take another one of the two.

    Raises:
        Rejected: naming it.
    """
    route = request.scope.get("route")
    if not request.url.path.startswith("/v1/") or not isinstance(route, APIRoute):
        return
    known = {each.alias for each in route.dependant.query_params}
    for name in request.query_params:
        if name not in known:
            near = meant(name, known)
            hint = "" if near is None else f"; did you mean {near}?"
            message = f"the route does not take this query parameter{hint}"
            raise Rejected(message, field=name[:FIELD_CHARACTERS_MAX], code="unknown_parameter")
        if len(request.query_params.getlist(name)) > 1:
            message = f"send the query parameter {name} once"
            raise Rejected(message, field=name, code="repeated_parameter")


Here = Annotated[Context, Depends(_context)]
"""The context of the current request."""


def disclosed(document: Document, *, open_status: int = 200) -> Response:
    """Return a disclosure byte for byte; what is beside the sealed bytes goes into a header."""
    headers = {SUPERSEDED_HEADER: "true"} if document.superseded else {}
    return Response(
        document.json_text.encode(),
        status_code=open_status if document.status == "open" else 200,
        media_type="application/json",
        headers=headers,
    )
