"""`projections`: how far they are, rebuilding one beside the live one, and switching to it.

The work is done by a process of release beside the running one, so that a rebuild takes nothing
from the process that answers. It tells one JSON document per line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from chancery.client.command.output import (
    EXIT_DONE,
    EXIT_UNAVAILABLE,
    tell,
    tell_error,
    tell_json,
    tell_progress,
)
from chancery.client.command.release_process import run_release
from chancery.client.command.settings import load_settings
from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError, Unavailable


async def run_projections(verb: str, name: str, data_dir: Path | None, *, as_json: bool) -> int:
    """Run `status`, `rebuild` or `switch` and return the exit code of the process that did.

    Raises:
        NotRunning: no system runs on the data folder.
    """
    settings = load_settings()
    events: list[Json] = []

    def take(line: Mapping[str, Json]) -> None:
        events.append(line["event"])
        _show(line, as_json=as_json)

    arguments = ("projections", verb, name)
    ended = await run_release(settings, data_dir or settings.data_dir, arguments, take)
    if ended.code != EXIT_DONE and "failed" not in events:
        failure = Unavailable(ended.complaint or "the process of release ended before its work")
        tell_error(failure, as_json=as_json)
    return ended.code if ended.code >= EXIT_DONE else EXIT_UNAVAILABLE


def _show(line: Mapping[str, Json], *, as_json: bool) -> None:
    if line["event"] == "failed":
        error = ChanceryError(str(line["detail"]))
        error.code = str(line["code"])
        tell_error(error, as_json=as_json)
    elif as_json:
        tell_json(dict(line))
    elif line["event"] == "progress":
        tell_progress(_progress(line))
    else:
        tell(_sentence(line))


def _progress(line: Mapping[str, Json]) -> str:
    left = "" if line["left_s"] is None else f", {line['left_s']} s left"
    place = f"{line['sequence']} of {line['last']}"
    return f"{line['projection']}: {place}, {line['per_s']} events/s{left}"


def _sentence(line: Mapping[str, Json]) -> str:
    name = line.get("projection")
    match line["event"]:
        case "status":
            state = "live" if line["live"] else "rebuilt beside it"
            place = f"{line['sequence']} of {line['last']}"
            return f"{name}: set {line['table_set']} ({state}) at {place}, digest {line['digest']}"
        case "rebuilt":
            return f"{name}: set {line['table_set']} is rebuilt up to {line['sequence']}"
        case "switched":
            sets = f"set {line['table_set']} is live in place of set {line['before']}"
            return f"{name}: {sets}, with the same digest at {line['sequence']}"
        case _:
            waiting = f"{line.get('quarantined')} events wait in quarantine"
            return f"{waiting}, {line.get('frozen')} aggregates are frozen"
