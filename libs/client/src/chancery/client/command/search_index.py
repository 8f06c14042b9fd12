"""`projections rebuild search`: another search index, built beside the one that is in use.

The running retrieval does it; this only asks, by a file in its data folder, and waits.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from chancery.client.command.output import tell, tell_json
from chancery.client.command.settings import load_settings
from chancery.kernel.errors import Rejected

POLL_S = 0.2


class NoSearchIndex(Rejected):
    """There is no search index in this data folder."""

    code = "no_search_index"


async def rebuild_search(data_dir: Path | None, *, as_json: bool) -> None:
    """Ask for a rebuild and wait for its end when retrieval runs here; interrupted, it goes on.

    Raises:
        NoSearchIndex: nothing was indexed in the data folder.
    """
    folder = data_dir or load_settings().data_dir
    wish = folder / "index-rebuild"
    if not (folder / "index").is_dir():
        message = f"{folder} has no search index; name the data folder of retrieval"
        raise NoSearchIndex(message, field="--data-dir")
    wish.touch(mode=0o600)
    if not (folder / "run" / "retrieval.pid").exists():
        _tell(
            "asked",
            "the retrieval that uses this folder builds another search index",
            as_json=as_json,
        )
        return
    while wish.exists():  # noqa: ASYNC110 - only a file
        await asyncio.sleep(POLL_S)
    _tell("switched", "the new search index is in use", as_json=as_json)


def _tell(event: str, sentence: str, *, as_json: bool) -> None:
    if as_json:
        tell_json({"event": event, "projection": "search"})
    else:
        tell(f"search: {sentence}")
