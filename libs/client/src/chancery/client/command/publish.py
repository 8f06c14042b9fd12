"""`publish`: files become sources and datasets, named after themselves."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from chancery.client.command.output import tell, tell_json
from chancery.client.command.server import server_client
from chancery.client.command.settings import load_settings
from chancery.client.errors import ProblemError
from chancery.client.workspace import Table, Workspace
from chancery.events.authority import Visibility
from chancery.extract.media import DOCX, HTML, MARKDOWN, PDF, PLAIN, XLSX
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Rejected

MEDIA_TYPES = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".txt": PLAIN,
    ".html": HTML,
    ".htm": HTML,
    ".pdf": PDF,
    ".docx": DOCX,
    ".xlsx": XLSX,
    ".csv": "text/csv",
}
_ID_CHARACTERS = 64
_TITLE_CHARACTERS = 300


class NothingToPublish(Rejected):
    """The path holds no file that can be published."""

    code = "nothing_to_publish"


@dataclass(frozen=True, slots=True)
class Item:
    """A file with the id and title it gets."""

    path: Path
    id: str
    title: str

    @property
    def media_type(self) -> str:
        """Return its media type, by its name."""
        return MEDIA_TYPES[self.path.suffix.lower()]


async def run_publish(
    path: Path, workspace_id: str, *, title: str | None, restricted: bool, as_json: bool
) -> None:
    """Publish the file or every file of the folder, and say what became of each."""
    items = list(find_items(path, title))
    settings = load_settings()
    visibility: Visibility = "restricted" if restricted else "workspace"
    published: list[Json] = []
    async with server_client(settings) as client:
        workspace = client.workspace(workspace_id)
        for item in items:
            told = await _publish(workspace, item, visibility)
            published.append(told)
            if not as_json:
                tell("  ".join(str(value) for value in told.values()))
    if as_json:
        tell_json({"published": published})


def find_items(path: Path, title: str | None = None) -> Iterator[Item]:
    """Yield what can be published at `path`, in the order of the names.

    Raises:
        NothingToPublish: when nothing can, or two files would get the same id.
    """
    folder = path if path.is_dir() else path.parent
    found = sorted(each for each in path.rglob("*") if _fits(each)) if path.is_dir() else [path]
    if not found or not all(map(_fits, found)):
        message = f"{path} is no {', '.join(MEDIA_TYPES)} file and no folder with any"
        raise NothingToPublish(message, field="path")
    seen: dict[str, Path] = {}
    for each in found:
        identity = source_id(each.relative_to(folder).with_suffix("").as_posix())
        if identity in seen:
            message = f"{seen[identity]} and {each} would both become {identity}; rename one"
            raise NothingToPublish(message, field="path")
        seen[identity] = each
        yield Item(each, identity, (title or each.stem)[:_TITLE_CHARACTERS])


def source_id(name: str) -> str:
    """Return the id that a name becomes: letters, digits, dashes and underscores."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")[:_ID_CHARACTERS] or "document"


def _fits(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in MEDIA_TYPES


async def _publish(workspace: Workspace, item: Item, access: Visibility) -> dict[str, Json]:
    data = await asyncio.to_thread(item.path.read_bytes)
    if item.media_type == "text/csv":
        return await _publish_table(workspace, item, access, data)
    await workspace.declare_source(item.id, item.title, visibility=access)
    revision = await workspace.publish(item.id, data, item.media_type)
    status = await workspace.wait_until_ready(item.id, revision.revision)
    return {"source": item.id, "revision": revision.revision, "state": status.state}


async def _publish_table(
    workspace: Workspace, item: Item, access: Visibility, data: bytes
) -> dict[str, Json]:
    # Declaring it again would drop the measures that somebody declared.
    if not await _is_declared(workspace, item.id):
        await workspace.declare_dataset(item.id, Table(title=item.title, visibility=access))
    snapshot = await workspace.publish_snapshot(item.id, data)
    return {"dataset": item.id, "snapshot": snapshot.snapshot, "state": snapshot.state}


async def _is_declared(workspace: Workspace, dataset_id: str) -> bool:
    try:
        await workspace.dataset(dataset_id)
    except ProblemError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return False
        raise
    return True
