"""`search`: the passages that match, as they stand in their sources."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from chancery.client.command.arguments import check_ids, check_words, given_id
from chancery.client.command.cells import cell_span
from chancery.client.command.coverage import tell_coverage
from chancery.client.command.output import tell, tell_json, tell_progress
from chancery.client.command.server import entering, server_client
from chancery.client.command.settings import load_settings
from chancery.client.found import Found, Hit


@dataclass(frozen=True, slots=True)
class Selected:
    """What is to be searched, nothing else; empty selects every source and item."""

    sources: Sequence[str] = ()
    items: Sequence[str] = ()
    files: Sequence[str] = ()

    def __bool__(self) -> bool:
        """Tell whether anything is selected."""
        return bool(self.sources or self.items or self.files)


async def run_search(
    query: str, workspace_id: str, selected: Selected, *, k: int, as_json: bool
) -> None:
    """Search and print what is found, best first."""
    given_id(workspace_id, field="--workspace")
    check_words(query, field="words")
    for option, ids in (
        ("--source", selected.sources),
        ("--item", selected.items),
        ("--file", selected.files),
    ):
        check_ids(ids, field=option)
    async with server_client(load_settings()) as client:
        # What is selected may be what is not found: then the workspace is not to blame.
        with nullcontext() if selected else entering(workspace_id):
            found = await client.workspace(workspace_id).search(
                query,
                k=k,
                sources=selected.sources,
                items=selected.items,
                files=selected.files,
            )
    _print(found, as_json=as_json)


def _print(found: Found, *, as_json: bool) -> None:
    if as_json:
        tell_json(found.model_dump(mode="json"))
        return
    for number, hit in enumerate(found.hits, start=1):
        tell(f"[{number}] {_place(hit)}\n\n{hit.excerpt.strip()}\n")
    if not found.hits:
        tell_progress("nothing found")
    tell_coverage(found.coverage)


def _place(hit: Hit) -> str:
    page = "" if hit.page is None else f", page {hit.page}"
    span = cell_span(hit.cells or ())
    cells = f", {span}" if span else ""
    return f"{hit.title} ({_name(hit)}{page}{cells}, {hit.start}–{hit.end})"


def _name(hit: Hit) -> str:
    if hit.item_id is not None:
        return f"item {hit.item_id}, version {hit.version}"
    if hit.file_id is not None:
        return f"file {hit.file_id}"
    return f"{hit.source_id}, revision {hit.revision}"
