"""`publish`: files become sources and datasets, named after themselves.

A file that cannot be published does not keep the others from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chancery.client.command.declaring import Wanted, declare_dataset, declare_source
from chancery.client.command.items import Item, check_item, find_items
from chancery.client.command.output import (
    EXIT_DONE,
    error_document,
    exit_code,
    tell,
    tell_error,
    tell_json,
)
from chancery.client.command.server import entering, server_client
from chancery.client.command.settings import load_settings
from chancery.client.workspace import Workspace
from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError, Rejected
from chancery.kernel.ids import parse_id

AT_ONCE_MAX = 4
"""How many files are on their way at the same time."""


class NotIndexed(Rejected):
    """The file was published, but nothing can be answered from it."""

    code = "not_indexed"


@dataclass(frozen=True, slots=True)
class Published:
    """What became of one file: what was told of it, or why it failed."""

    item: Item
    told: dict[str, Json]
    error: ChanceryError | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the outcome as a JSON object."""
        told: dict[str, Json] = {"path": str(self.item.path), **self.told}
        return told if self.error is None else {**told, "error": error_document(self.error)}


async def run_publish(path: Path, workspace_id: str, wanted: Wanted, *, as_json: bool) -> int:
    """Publish the file or every file of the folder, say what became of each, return the exit code.

    Raises:
        Rejected: when one title is given for many files.
    """
    items = list(find_items(path))
    if wanted.title is not None and items[0].path != path:
        message = "a title is for one file; publish the files of a folder without --title"
        raise Rejected(message, field="--title", code="title_for_folder")
    parse_id(workspace_id, field="--workspace")
    settings = load_settings()
    async with server_client(settings) as client:
        workspace = client.workspace(workspace_id)
        # Whatever keeps every file from being published is said once.
        with entering(workspace_id):
            await workspace.sources()
        batch = Batch(workspace, wanted, settings.max_upload_bytes, as_json=as_json)
        outcomes = await batch.publish(items)
    if as_json:
        tell_json({"published": [each.to_json() for each in outcomes]})
    return max((exit_code(each.error) for each in outcomes if each.error), default=EXIT_DONE)


class Batch:
    """Publishes files into one workspace, a few at a time."""

    def __init__(
        self, workspace: Workspace, wanted: Wanted, bytes_max: int, *, as_json: bool
    ) -> None:
        """Publish into `workspace` files of at most `bytes_max` bytes."""
        self._workspace = workspace
        self._wanted = wanted
        self._bytes_max = bytes_max
        self._as_json = as_json
        self._slots = asyncio.Semaphore(AT_ONCE_MAX)

    async def publish(self, items: Sequence[Item]) -> list[Published]:
        """Publish every item and return what became of each, in their order."""
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(self._one(item)) for item in items]
        return [each.result() for each in running]

    async def _one(self, item: Item) -> Published:
        told: dict[str, Json] = {}
        async with self._slots:
            try:
                await self._publish(item, told)
                outcome = Published(item, told)
            except ChanceryError as error:
                outcome = Published(item, told, error)
            except OSError as error:
                reason = (error.strerror or "it cannot be read").lower()
                outcome = Published(item, told, Rejected(reason, code="not_readable"))
        if not self._as_json:
            _tell(outcome)
        return outcome

    async def _publish(self, item: Item, told: dict[str, Json]) -> None:
        data = await asyncio.to_thread(item.path.read_bytes)
        await asyncio.to_thread(check_item, item, data, bytes_max=self._bytes_max)
        declare = declare_dataset if item.is_table else declare_source
        declared = await declare(self._workspace, item, self._wanted)
        told["dataset" if item.is_table else "source"] = item.id
        told["visibility"] = declared.visibility
        if declared.before not in {None, declared.visibility}:
            told["visibility_before"] = declared.before
        await (self._table if item.is_table else self._document)(item, data, told)

    async def _document(self, item: Item, data: bytes, told: dict[str, Json]) -> None:
        revision = await self._workspace.publish(item.id, data, item.media_type)
        told["revision"], told["state"] = revision.revision, revision.state
        status = await self._workspace.wait_until_ready(item.id, revision.revision)
        told["state"] = status.state
        if status.state != "ready":
            reason = status.reason or status.state
            message = f"revision {revision.revision} of {item.id} cannot be asked about: {reason}"
            raise NotIndexed(message)

    async def _table(self, item: Item, data: bytes, told: dict[str, Json]) -> None:
        snapshot = await self._workspace.publish_snapshot(item.id, data)
        told["snapshot"], told["state"] = snapshot.snapshot, snapshot.state


def _tell(outcome: Published) -> None:
    told = outcome.told
    if outcome.error is not None:
        tell_error(outcome.error, as_json=False, about=str(outcome.item.path))
        return
    kind, number = ("dataset", "snapshot") if "dataset" in told else ("source", "revision")
    access = str(told["visibility"])
    if "visibility_before" in told:
        access = f"{told['visibility_before']} -> {access}"
    tell(f"{told[kind]}  {number} {told[number]}  {told['state']}  {access}")
