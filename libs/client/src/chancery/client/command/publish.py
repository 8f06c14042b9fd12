"""`publish`: files become sources and datasets, named after themselves.

A file that cannot be published does not keep the others from it. Repeating is safe at any time:
what is published already is recognised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chancery.client.command.absence import Absence, ServerLost, is_away
from chancery.client.command.arguments import check_words, given_id
from chancery.client.command.bulk import SINGLE_BYTES, Bulk, not_indexed, unreadable
from chancery.client.command.declaring import Wanted, declare_dataset, declare_source
from chancery.client.command.earlier import with_kept_ids
from chancery.client.command.file_ids import readable
from chancery.client.command.items import Item, check_item, look_at
from chancery.client.command.outcomes import Published, exit_code_of, summary
from chancery.client.command.output import (
    EXIT_UNAVAILABLE,
    WrongUsage,
    error_document,
    tell,
    tell_error,
    tell_json,
    tell_progress,
)
from chancery.client.command.progress import Counter, counting
from chancery.client.command.reading import read_file
from chancery.client.command.server import entering, server_client
from chancery.client.command.settings import load_settings
from chancery.client.replies import Resource
from chancery.client.workspace import Workspace
from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError, Unavailable

AT_ONCE_MAX = 4
"""How many tables and large files are on their way at the same time."""
SKIPPED_SHOWN = 10
"""How many skipped files are named to people; `--json` names all."""


async def run_publish(path: Path, workspace_id: str, wanted: Wanted, *, as_json: bool) -> int:
    """Publish the file or every file of the folder, say what became of each, return the exit code.

    Ctrl-C and a server that is lost end it with what was told so far; the same command goes on.

    Raises:
        WrongUsage: when one title is given for many files.
    """
    given_id(workspace_id, field="--workspace")
    found = look_at(path)
    is_folder = found.items[0].path != path
    _check_title(wanted.title, is_folder=is_folder)
    settings = load_settings()
    async with server_client(settings) as client:
        workspace = client.workspace(workspace_id)
        # Whatever keeps every file from being published is said once.
        with entering(workspace_id):
            known = {each.id: each for each in await workspace.sources()}
            items = await with_kept_ids(workspace, found.items, known)
        with counting(len(items), is_shown=is_folder and not as_json) as counter:
            batch = Batch(workspace, wanted, settings.max_upload_bytes, counter, as_json=as_json)
            stopped = await _publish(batch, items, known if is_folder else None)
    outcomes = [batch.outcomes[item] for item in items if item in batch.outcomes]
    counts = summary(len(items), outcomes)
    if as_json:
        published: list[Json] = [each.to_json() for each in outcomes]
        told: dict[str, Json] = {"published": published, "summary": counts.to_json()}
        told |= {} if stopped is None else {"error": error_document(stopped)}
        tell_json({**told, "skipped": list(found.skipped), "skipped_why": dict(found.skipped)})
    elif stopped is not None:
        tell_error(stopped, as_json=False)
    if is_folder and not as_json:
        tell_progress(counts.sentence())
        for sentence in _sentences_of(found.skipped):
            tell_progress(sentence)
    return exit_code_of(outcomes) if stopped is None else EXIT_UNAVAILABLE


def _check_title(title: str | None, *, is_folder: bool) -> None:
    if title is None:
        return
    if is_folder:
        message = "a title is for one file; publish the files of a folder without --title"
        raise WrongUsage(message, field="--title", code="title_for_folder")
    check_words(title, field="--title")
    if readable(title) != title:
        message = "a title is one line of text; leave out what is no text and control characters"
        raise WrongUsage(message, field="--title", code="title_not_text")


def _sentences_of(skipped: Mapping[str, str]) -> Iterator[str]:
    """Yield for each reason how many files were skipped and which, the first of many."""
    for reason in sorted(set(skipped.values())):
        names = [name for name, why in skipped.items() if why == reason]
        rest = len(names) - SKIPPED_SHOWN
        more = f" and {rest} more" if rest > 0 else ""
        yield f"skipped, {reason}: {len(names)} ({', '.join(names[:SKIPPED_SHOWN])}{more})"


class Stopped(Unavailable):
    """Ctrl-C ended it."""

    code = "stopped"


async def _publish(
    batch: Batch, items: Sequence[Item], known: dict[str, Resource] | None
) -> Unavailable | None:
    """Publish all items; return why that was cut off, if so."""
    lost: list[Unavailable] = []
    try:
        await batch.publish(items, known)
    except* ServerLost as group:
        lost.append(_first_of(group))
    except* asyncio.CancelledError:
        message = "stopped; the same command goes on"
        lost.append(Stopped(message))
    return lost[0] if lost else None


def _first_of(group: ExceptionGroup[ServerLost]) -> ServerLost:
    first = group.exceptions[0]
    return _first_of(first) if isinstance(first, ExceptionGroup) else first


@dataclass(slots=True)
class Batch:
    """Publishes files into one workspace: documents of a folder together, others a few at a time.

    `outcomes` are there as soon as a file has ended.
    """

    workspace: Workspace
    wanted: Wanted
    bytes_max: int
    counter: Counter
    as_json: bool = field(kw_only=True)
    outcomes: dict[Item, Published] = field(default_factory=dict[Item, Published])
    _absence: Absence = field(init=False)

    def __post_init__(self) -> None:
        """Share one patience among everything that is on its way."""
        self._absence = Absence(self._tell_absence)

    async def publish(self, items: Sequence[Item], known: dict[str, Resource] | None) -> None:
        """Publish every item; `known` are the sources that are there, None for a single file."""
        together = [] if known is None else [item for item in items if _is_small(item)]
        others = [item for item in items if item not in set(together)]
        slots = asyncio.Semaphore(AT_ONCE_MAX)
        async with asyncio.TaskGroup() as group:
            if together:
                bulk = Bulk(
                    self.workspace,
                    self.wanted,
                    known or {},
                    self.bytes_max,
                    self._hear,
                    self._absence,
                )
                group.create_task(bulk.publish(together))
            for item in others:
                group.create_task(self._one(item, slots, is_alone=known is None))

    def _tell_absence(self, line: str) -> None:
        with self.counter.hidden():
            tell_progress(line)

    def _hear(self, outcome: Published) -> None:
        self.outcomes[outcome.item] = outcome
        self.counter.count(is_failed=outcome.error is not None)
        if not self.as_json:
            with self.counter.hidden():
                _tell(outcome)

    async def _one(self, item: Item, slots: asyncio.Semaphore, *, is_alone: bool) -> None:
        told: dict[str, Json] = {}
        async with slots:
            try:
                await (self._publish if is_alone else self._patiently)(item, told)
                outcome = Published(item, told)
            except ServerLost:
                raise
            except ChanceryError as error:
                outcome = Published(item, told, error)
            except OSError as error:
                outcome = Published(item, told, unreadable(error))
        self._hear(outcome)

    async def _patiently(self, item: Item, told: dict[str, Json]) -> None:
        """Publish one of many; while the server is away, again: what arrived is recognised."""
        while True:
            try:
                await self._publish(item, told)
            except ChanceryError as error:
                if not is_away(error):
                    raise
                await self._absence.wait("sending", error)
            else:
                self._absence.ended("sending")
                return

    async def _publish(self, item: Item, told: dict[str, Json]) -> None:
        data = await asyncio.to_thread(read_file, item.path, bytes_max=self.bytes_max)
        await asyncio.to_thread(check_item, item, data)
        declare = declare_dataset if item.is_table else declare_source
        declared = await declare(self.workspace, item, self.wanted)
        told["dataset" if item.is_table else "source"] = item.id
        told["visibility"] = declared.visibility
        if declared.before not in {None, declared.visibility}:
            told["visibility_before"] = declared.before
        await (self._table if item.is_table else self._document)(item, data, told)

    async def _document(self, item: Item, data: bytes, told: dict[str, Json]) -> None:
        revision = await self.workspace.publish(
            item.id, data, item.media_type, restore=self.wanted.restore
        )
        told["revision"], told["changed"] = revision.revision, revision.changed
        told["state"] = revision.state
        status = await self.workspace.wait_until_ready(item.id, revision.revision)
        told["state"] = status.state
        failure = not_indexed(item.id, status)
        if failure is not None:
            raise failure

    async def _table(self, item: Item, data: bytes, told: dict[str, Json]) -> None:
        snapshot = await self.workspace.publish_snapshot(item.id, data, restore=self.wanted.restore)
        told["snapshot"], told["changed"] = snapshot.snapshot, snapshot.changed
        told["state"] = snapshot.state


def _is_small(item: Item) -> bool:
    """Tell whether a file travels with others; one that cannot be looked at fails there."""
    if item.is_table:
        return False
    try:
        return item.path.stat().st_size <= SINGLE_BYTES
    except OSError:
        return True


def _tell(outcome: Published) -> None:
    told = outcome.told
    if outcome.error is not None:
        tell_error(outcome.error, as_json=False, about=readable(outcome.item.path))
        return
    kind, number = ("dataset", "snapshot") if "dataset" in told else ("source", "revision")
    access = str(told["visibility"])
    if "visibility_before" in told:
        access = f"{told['visibility_before']} -> {access}"
    tell(f"{told[kind]}  {number} {told[number]}  {told['state']}  {access}")
