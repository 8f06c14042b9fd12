"""What the commands about items and files call, and what they tell of it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from chancery.client.command.arguments import check_given, check_words, given_id
from chancery.client.command.file_ids import readable
from chancery.client.command.items import CSV, MEDIA_TYPES, check_there
from chancery.client.command.output import (
    EXIT_DONE,
    EXIT_REFUSED,
    WrongUsage,
    tell,
    tell_json,
    tell_progress,
)
from chancery.client.command.reading import read_text
from chancery.client.command.recognising import LOOKED_AT_BYTES, WRONG_MEDIA_TYPE, misnamed
from chancery.client.command.server import entering, server_client
from chancery.client.command.settings import load_settings
from chancery.client.command.versions import KnownItem
from chancery.client.errors import ProblemError
from chancery.client.knowledge import Evidence, ItemSummary
from chancery.events.authority_knowledge import ITEM_BYTES_MAX, EvidenceKind
from chancery.kernel.errors import Rejected


def parse_evidence(written: str) -> Evidence:
    """Return the evidence that `source:ID:REVISION` or `dataset:ID:SNAPSHOT` names.

    Raises:
        WrongUsage: with the form that it should have.
    """
    kind, _, rest = written.partition(":")
    name, _, number = rest.rpartition(":")
    kinds: tuple[EvidenceKind, ...] = ("source", "dataset")
    found: EvidenceKind | None = next((each for each in kinds if each == kind), None)
    if found is None or not name or not number.isdecimal() or int(number) < 1:
        message = "write evidence as source:ID:REVISION or dataset:ID:SNAPSHOT"
        raise WrongUsage(message, field="--evidence", code="invalid_evidence")
    return Evidence(found, given_id(name, field="--evidence"), int(number))


def text_of(path: Path | None) -> str:
    """Return the text of the file that has to be named.

    Raises:
        WrongUsage: none is.
        Rejected: it is no text, or longer than that of an item may be.
    """
    if path is None:
        message = "name the file with its text, or a draft that is there with --from-draft"
        raise WrongUsage(message, field="path")
    return read_text(path, bytes_max=ITEM_BYTES_MAX)


def check_draft_alone(*, is_said: bool) -> None:
    """Refuse a draft that is to be published as it is, and something else beside it.

    Raises:
        WrongUsage: something is said of the draft.
    """
    if is_said:
        message = "a draft is published exactly as it is; use --from-draft with --restore only"
        raise WrongUsage(message, field="--from-draft")


def chosen_evidence(written: Sequence[str] | None, *, is_none: bool) -> list[Evidence] | None:
    """Return the evidence that the command line asks for, or None to keep what there is.

    Raises:
        WrongUsage: for evidence that is named and wanted at none.
    """
    if written and is_none:
        message = "use either --evidence or --no-evidence"
        raise WrongUsage(message, field="--no-evidence", code="invalid_evidence")
    return [] if is_none else [parse_evidence(each) for each in written] if written else None


def chosen_tags(written: Sequence[str] | None, *, is_none: bool) -> Sequence[str] | None:
    """Return the tags that the command line asks for, or None to keep what there is.

    Raises:
        WrongUsage: for tags that are named and wanted at none, and for an empty one.
    """
    if written and is_none:
        message = "use either --tag or --no-tags"
        raise WrongUsage(message, field="--no-tags")
    for each in written or ():
        check_words(each, field="--tag")
    return () if is_none else written or None


async def list_items(workspace_id: str, *, as_json: bool) -> None:
    """Print the items of a workspace."""
    given_id(workspace_id, field="--workspace")
    async with server_client(load_settings()) as client:
        with entering(workspace_id):
            found = await client.workspace(workspace_id).items.all()
    if as_json:
        tell_json({"items": [each.model_dump(mode="json") for each in found]})
        return
    for each in found:
        tell(f"{each.id}\t{each.version}\t{_state_of(each)}\t{each.title}")


async def show_item(workspace_id: str, item_id: str, version: int | None, *, as_json: bool) -> None:
    """Print an item, or the text of one of its versions."""
    given_id(workspace_id, field="--workspace")
    given_id(item_id, field="item")
    async with server_client(load_settings()) as client:
        items = client.workspace(workspace_id).items
        if version is None:
            found = await items.read(item_id)
            if as_json:
                tell_json(found)
            else:
                _tell_item(KnownItem.model_validate(found))
            return
        text = await items.text(item_id, version)
    if as_json:
        tell_json({"item": item_id, "version": version, "text": text})
    else:
        tell(text)


def _tell_item(found: KnownItem) -> None:
    item = found.item
    tell(f"{item.id}  version {item.version}  {_state_of(item)}  {item.title}")
    for number, each in enumerate(found.versions, start=1):
        tell(f"version {each.version or number}  {each.sentence()}")
    for each in found.drafts:
        tell(f"draft {each.draft_id}  {each.sentence()}")


def _state_of(item: ItemSummary) -> str:
    """Return in a word whether the item can be asked about, and why not."""
    if item.withdrawn:
        return "withdrawn"
    if item.reason == "evidence_withdrawn":
        return "evidence withdrawn"
    return item.state or "draft"


async def withdraw_item(workspace_id: str, item_id: str, *, as_json: bool) -> None:
    """Withdraw an item and say so."""
    given_id(workspace_id, field="--workspace")
    given_id(item_id, field="item")
    async with server_client(load_settings()) as client:
        done = await client.workspace(workspace_id).items.withdraw(item_id)
    if as_json:
        tell_json(done.model_dump(mode="json"))
    else:
        tell(f"{item_id} does not serve any more")


async def add_file(path: Path, title: str | None, *, as_json: bool) -> int:
    """Upload a file, wait for its text, and print its id; return 1 when it has none."""
    check_given({"--title": title})
    media_type = _document_type(path)
    async with server_client(load_settings()) as client:
        with _naming(path, media_type):
            uploaded = await client.files.upload(path, media_type, title=title or path.name)
        kept = await client.files.wait_until_ready(uploaded.file_id)
    if as_json:
        tell_json(kept.model_dump(mode="json"))
    else:
        tell(kept.id)
        tell_progress(f"{path}: {kept.state}" + (f" ({kept.reason})" if kept.reason else ""))
    return EXIT_DONE if kept.state == "ready" else EXIT_REFUSED


@contextmanager
def _naming(path: Path, media_type: str) -> Generator[None]:
    """Say of a file that is not what its name says which one it is, and what it looks like."""
    try:
        yield
    except ProblemError as error:
        if error.code != WRONG_MEDIA_TYPE:
            raise
        with path.open("rb") as file:
            refused = misnamed(path, media_type, file.read(LOOKED_AT_BYTES))
        message = f"{readable(path)}: {refused.detail}"
        raise Rejected(message, field="path", code=refused.code) from error


def _document_type(path: Path) -> str:
    """Return the media type of a document by its name; a table belongs in a workspace.

    Raises:
        Rejected: for a folder, what is no file, or a file that is no document.
    """
    check_there(path)
    if path.is_dir():
        message = f"{readable(path)} is a folder; add its files one by one"
        raise Rejected(message, field="path", code="unsupported_media_type")
    kinds = {ending: each for ending, each in MEDIA_TYPES.items() if each != CSV}
    media_type = kinds.get(path.suffix.lower())
    if media_type is None:
        message = f"{readable(path)} is no {', '.join(kinds)} file"
        raise Rejected(message, field="path", code="unsupported_media_type")
    return media_type


async def list_files(*, as_json: bool) -> None:
    """Print the caller's files."""
    async with server_client(load_settings()) as client:
        found = await client.files.all()
    if as_json:
        tell_json({"files": [each.model_dump(mode="json") for each in found]})
        return
    for each in found:
        tell(f"{each.id}\t{each.state}\t{each.size_bytes}\t{each.title}")


async def remove_file(file_id: str, *, as_json: bool) -> None:
    """Delete a file and say so."""
    given_id(file_id, field="file")
    async with server_client(load_settings()) as client:
        done = await client.files.delete(file_id)
    if as_json:
        tell_json(done.model_dump(mode="json"))
    else:
        tell(f"file {file_id} is deleted")
