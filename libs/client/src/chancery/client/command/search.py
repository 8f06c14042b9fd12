"""`search`: the passages that match, as they stand in their sources."""

from __future__ import annotations

from collections.abc import Sequence

from chancery.client.command.output import tell, tell_json, tell_progress
from chancery.client.command.server import entering, server_client
from chancery.client.command.settings import load_settings
from chancery.client.found import Coverage, Found, Hit
from chancery.kernel.ids import parse_id


async def run_search(
    query: str, workspace_id: str, *, k: int, sources: Sequence[str], as_json: bool
) -> None:
    """Search and print what is found, best first."""
    parse_id(workspace_id, field="--workspace")
    async with server_client(load_settings()) as client:
        workspace = client.workspace(workspace_id)
        if sources:
            found = await workspace.search(query, k=k, sources=sources)
        else:
            with entering(workspace_id):
                found = await workspace.search(query, k=k)
    _print(found, as_json=as_json)


def _print(found: Found, *, as_json: bool) -> None:
    if as_json:
        tell_json(found.model_dump(mode="json"))
        return
    for number, hit in enumerate(found.hits, start=1):
        tell(f"[{number}] {_place(hit)}\n\n{hit.excerpt.strip()}\n")
    if not found.hits:
        tell_progress("nothing found")
    if found.coverage.state != "complete":
        tell_progress(_missing(found.coverage))


def _place(hit: Hit) -> str:
    page = "" if hit.page is None else f", page {hit.page}"
    place = f"{hit.source_id}, revision {hit.revision}{page}, {hit.start}–{hit.end}"
    return f"{hit.title} ({place})"


def _missing(coverage: Coverage) -> str:
    missing = {
        "pending": coverage.pending,
        "failed": coverage.failed,
        "unavailable": coverage.unavailable,
    }
    told = ", ".join(f"{count} {what}" for what, count in missing.items() if count)
    return f"{coverage.ready} of {coverage.eligible} sources searched; {told}"
