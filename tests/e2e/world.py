"""A small workspace for tests: who is in it, and what they need again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from chancery.client.http import Ask, Chancery
from chancery.client.replies import Answer
from chancery.client.workspace import Workspace
from chancery.events.authority import Language, Visibility


@dataclass(frozen=True, slots=True)
class World:
    """A workspace; the publisher publishes, the reader asks, the stranger is no member."""

    id: str
    operator: Chancery
    publisher: Chancery
    reader: Chancery
    stranger: Chancery

    @property
    def reader_name(self) -> str:
        """The principal of the reader."""
        return f"reader-{self.id}"

    @property
    def desk(self) -> Workspace:
        """The workspace as its publisher sees it."""
        return self.publisher.workspace(self.id)

    async def document(
        self, source_id: str, text: str, *, title: str = "A page", access: Visibility = "workspace"
    ) -> int:
        """Publish a document, wait until it is indexed, and return its revision."""
        await self.desk.declare_source(source_id, title, visibility=access)
        published = await self.desk.publish_text(source_id, text)
        status = await self.desk.wait_until_ready(source_id, published.revision)
        assert status.state == "ready"
        return published.revision

    async def ask(self, question: str, client: Chancery | None = None) -> Answer:
        """Ask as the reader and return what the run ended with."""
        asking = client or self.reader
        return await asking.answer(await asking.ask(self.id, Ask(question=question)))


async def make_world(operator: Chancery, workspace_id: str, language: Language = "en") -> World:
    """Create the workspace and its people."""
    workspace = await operator.create_workspace(workspace_id, "A workspace")
    await workspace.revise_policy("test-1", language=language)
    names = [f"{role}-{workspace_id}" for role in ("publisher", "reader", "stranger")]
    clients = [
        operator.acting_with((await operator.issue_credential(name)).token) for name in names
    ]
    await workspace.add_member(names[0], "publisher")
    await workspace.add_member(names[1], "reader")
    return World(workspace_id, operator, *clients)


async def send(client: Chancery, method: str, path: str, **sent: Any) -> httpx.Response:
    """Send a request that the client would not send, and return the bare response."""
    headers = {"Authorization": f"Bearer {client.transport.token}", **sent.pop("headers", {})}
    return await client.transport.http.request(method, path, headers=headers, **sent)
