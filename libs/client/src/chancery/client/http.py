"""The client of the HTTP surface: ask for an answer, and read it when it is sealed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus

import httpx
from pydantic import JsonValue, TypeAdapter

from chancery.client.errors import ProblemError, StillOpen
from chancery.client.following import Heard, await_end, follow
from chancery.client.handles import AnswerHandle
from chancery.client.knowledge import Files
from chancery.client.replies import (
    ANSWER,
    Answer,
    Credential,
    Done,
    Membership,
    Posted,
    Retried,
    Workspaces,
)
from chancery.client.streaming import RunEvent
from chancery.client.transport import ABSENCE_S, PATIENCE_S, Received, Sent, Transport, open_http
from chancery.client.workspace import Workspace
from chancery.events.authority import Mode
from chancery.kernel.canonical import Json
from chancery.kernel.clock import to_text

WAIT_S = 120.0
_OBJECT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question; empty selections mean everything that the caller may read."""

    question: str
    sources: Sequence[str] = ()
    items: Sequence[str] = ()
    datasets: Sequence[str] = ()
    files: Sequence[str] = ()
    mode: Mode = "auto"
    bounds: Mapping[str, Json] | None = None
    idempotency_key: str | None = None

    def body(self) -> dict[str, Json]:
        """Return the JSON body of the message."""
        body: dict[str, Json] = {"question": self.question, "mode": self.mode}
        body["sources"] = list(self.sources)
        body["items"] = list(self.items)
        body["datasets"] = list(self.datasets)
        body["files"] = list(self.files)
        if self.bounds is not None:
            body["bounds"] = self.bounds
        return body


@asynccontextmanager
async def connect(
    url: str,
    token: str | None = None,
    *,
    patience_s: float = PATIENCE_S,
    absence_s: float = ABSENCE_S,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncGenerator[Chancery]:
    """Open a client of the server at `url` and close its connections at the end.

    A server that cannot answer now is asked again for up to `patience_s`, an address at which
    nothing answers for up to `absence_s`; `transport` replaces the network.
    """
    async with open_http(url, transport) as http:
        yield Chancery(Transport(http, token, patience_s, absence_s))


@dataclass(frozen=True, slots=True)
class Chancery:
    """A server and a token; make it with `connect`."""

    transport: Transport

    def acting_with(self, token: str | None) -> Chancery:
        """Return a client of the same server for another token; it shares the connections."""
        return Chancery(replace(self.transport, token=token))

    @property
    def files(self) -> Files:
        """Return the private files of the caller; nothing is sent yet."""
        return Files(self.transport)

    def workspace(self, workspace_id: str) -> Workspace:
        """Return the workspace with this id; nothing is sent yet."""
        return Workspace(self.transport, workspace_id)

    async def workspaces(self) -> tuple[Membership, ...]:
        """Return the workspaces that the caller belongs to."""
        return (await self._call("GET", "workspaces")).read(Workspaces).workspaces

    async def create_workspace(self, workspace_id: str, title: str) -> Workspace:
        """Create a workspace; the caller becomes its first admin."""
        body = {"workspace_id": workspace_id, "title": title}
        await self._call("POST", "workspaces", Sent(json=body))
        return self.workspace(workspace_id)

    async def ensure_workspace(self, workspace_id: str, title: str) -> Workspace:
        """Return the workspace with this id, creating it when there is none.

        A member needs no other right; creating one needs a tenant administrator.
        """
        if any(each.workspace_id == workspace_id for each in await self.workspaces()):
            return self.workspace(workspace_id)
        try:
            return await self.create_workspace(workspace_id, title)
        except ProblemError as error:
            if error.code != "workspace_exists":
                raise
        return self.workspace(workspace_id)

    async def close_workspace(self, workspace_id: str) -> Done:
        """Close a workspace for good."""
        return (await self._call("DELETE", f"workspaces/{workspace_id}")).read(Done)

    async def issue_credential(
        self,
        principal: str,
        *,
        tenant: str | None = None,
        expires_at: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> Credential:
        """Issue a credential; any principal name is valid."""
        body: dict[str, Json] = {"principal": principal}
        if tenant is not None:
            body["tenant"] = tenant
        if expires_at is not None:
            body["expires_at"] = to_text(expires_at)
        sent = Sent(json=body, idempotency_key=idempotency_key)
        return (await self._call("POST", "credentials", sent)).read(Credential)

    async def revoke_credential(self, credential_id: str) -> Done:
        """End a credential."""
        return (await self._call("DELETE", f"credentials/{credential_id}")).read(Done)

    async def join_group(self, group: str, principal: str) -> Done:
        """Put a principal into a group of the tenant."""
        return (await self._call("PUT", f"groups/{group}/members/{principal}")).read(Done)

    async def leave_group(self, group: str, principal: str) -> Done:
        """Take a principal out of a group of the tenant."""
        return (await self._call("DELETE", f"groups/{group}/members/{principal}")).read(Done)

    async def post_message(self, conversation_id: str, ask: Ask) -> Posted:
        """Post a question; the returned run prepares the answer."""
        sent = Sent(json=ask.body(), idempotency_key=ask.idempotency_key)
        path = f"conversations/{conversation_id}/messages"
        return (await self._call("POST", path, sent)).read(Posted)

    async def ask(self, workspace_id: str, ask: Ask, *, within_s: float = WAIT_S) -> AnswerHandle:
        """Ask in a new conversation and return the answer's handle when the run has ended."""
        conversation_id = await self.workspace(workspace_id).open_conversation()
        posted = await self.post_message(conversation_id, ask)
        return await self.wait(posted.run_id, within_s=within_s)

    async def conversation(self, conversation_id: str) -> Mapping[str, JsonValue]:
        """Return the caller's conversation and its runs."""
        return (await self._call("GET", f"conversations/{conversation_id}")).read_as(_OBJECT)

    async def run(self, run_id: str) -> Mapping[str, JsonValue]:
        """Return the state of a run; it holds no content."""
        return (await self._call("GET", f"runs/{run_id}")).read_as(_OBJECT)

    def events(self, run_id: str, *, after: str | None = None) -> AsyncGenerator[RunEvent]:
        """Yield what happens to a run until it ends; a broken stream goes on where it broke.

        Raises:
            Unreachable: when the stream keeps breaking without a new event.
        """
        return follow(self.transport, run_id, after)

    async def wait(
        self, run_id: str, *, within_s: float = WAIT_S, heard: Heard | None = None
    ) -> AnswerHandle:
        """Return the handle of the run's answer once it is sealed, refused or withheld.

        `heard` is told of each event on the way.

        Raises:
            StillOpen: when the run has not ended within `within_s`.
        """
        heard = heard or _ignore
        return await await_end(self.transport, run_id, within_s=within_s, heard=heard)

    async def answer(self, handle: AnswerHandle) -> Answer:
        """Return the answer, its refusal or the withheld notice, as the caller may see it now.

        Raises:
            StillOpen: when the run is being answered again.
        """
        return (await self._ended(handle.run_id, "answer")).read_as(ANSWER)

    async def audit(self, run_id: str) -> Mapping[str, JsonValue]:
        """Return what was recorded of a run."""
        return (await self._ended(run_id, "audit")).read_as(_OBJECT)

    async def bundle(self, run_id: str) -> bytes:
        """Return everything that verifies the answer offline, byte for byte as it was sent."""
        return (await self._ended(run_id, "bundle")).body

    async def retry(self, run_id: str) -> Retried:
        """Have a question answered once more; earlier receipts stay, the newest answer is shown."""
        return (await self._call("POST", f"runs/{run_id}/retry")).read(Retried)

    async def cancel(self, run_id: str) -> None:
        """Give a run up."""
        await self._call("POST", f"runs/{run_id}/cancel")

    async def is_ready(self) -> bool:
        """Tell whether the server answers and reaches what stands behind it."""
        try:
            await self.transport.call("GET", "/readyz")
        except ProblemError:
            return False
        return True

    async def _ended(self, run_id: str, view: str) -> Received:
        received = await self._call("GET", f"runs/{run_id}/{view}")
        if received.status == HTTPStatus.ACCEPTED:
            message = f"run {run_id} has not ended yet"
            raise StillOpen(message)
        return received

    async def _call(self, method: str, path: str, sent: Sent | None = None) -> Received:
        return await self.transport.call(method, f"/v1/{path}", sent)


def _ignore(event: RunEvent) -> None:
    del event
