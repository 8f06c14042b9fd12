"""`fsck`: whether log, projections, sealed record, index and blobs of an installation fit together.

A process of release does the work beside the running one; it reads and changes nothing. What the
other services parked is asked of them, when they run.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from chancery.bus.connection import Connection
from chancery.client.command.arguments import given_id
from chancery.client.command.operator import ask_owner, operator_bus
from chancery.client.command.output import (
    EXIT_DONE,
    EXIT_REFUSED,
    EXIT_UNCHECKABLE,
    WrongUsage,
    error_document,
    exit_code,
    tell,
    tell_error,
    tell_json,
    visible,
)
from chancery.client.command.release_process import SERVICE, run_release
from chancery.client.command.settings import CommandSettings, load_settings
from chancery.events.parked import FindParked, ParkedEntries
from chancery.events.topology import PARKING, Service, query_subject
from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError, NotFound, Unavailable

_CLEARED: Final = "\r\x1b[K"


@dataclass(slots=True)
class Examined:
    """What the examining process told; `failure` is why it could not finish."""

    findings: list[Mapping[str, Json]] = field(default_factory=list[Mapping[str, Json]])
    unchecked: list[Mapping[str, Json]] = field(default_factory=list[Mapping[str, Json]])
    counts: dict[str, Json] | None = None
    failure: ChanceryError | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is examined: everything, deep or not, or the releases of one run with their values."""

    deep: bool
    pending_s: int
    run: str | None = None

    def arguments(self) -> tuple[str, ...]:
        """Return what the examining process is called with."""
        if self.run is not None:
            return ("fsck", "run", self.run)
        return ("fsck", str(self.pending_s), *(["deep"] if self.deep else []))


async def run_fsck(data_dir: Path | None, wanted: Wanted, *, as_json: bool) -> int:
    """Examine the installation: 0 clean, 1 findings, 3 something is away, 4 something unchecked."""
    if wanted.run is not None:
        if wanted.deep:
            message = "use either --run, which runs its queries again by itself, or --deep"
            raise WrongUsage(message, field="--deep")
        given_id(wanted.run, field="--run")
    settings = load_settings()
    folder = data_dir or settings.data_dir
    with _showing(is_shown=not as_json) as show:
        examined = await _examine(settings, folder, wanted.arguments(), show)
    if examined.counts is None:
        failure = examined.failure or Unavailable("the examination did not finish")
        _tell_unfinished(examined, failure, as_json=as_json)
        return exit_code(failure)
    if wanted.run is None:
        examined.counts["parked"] = await _parked(settings, folder, examined.counts)
    if as_json:
        tell_json(_document(examined, examined.counts))
    else:
        _tell(examined, examined.counts)
    if examined.findings:
        return EXIT_REFUSED
    return EXIT_UNCHECKABLE if examined.unchecked else EXIT_DONE


def _tell_unfinished(examined: Examined, failure: ChanceryError, *, as_json: bool) -> None:
    """Tell what was found before the examination could not go on, and why it could not."""
    if as_json and (examined.findings or examined.unchecked):
        tell_json({"error": error_document(failure), **_document(examined, {})})
        return
    _tell_found(examined)
    tell_error(failure, as_json=as_json)


def _document(examined: Examined, counts: Mapping[str, Json]) -> Mapping[str, Json]:
    return {
        "findings": [dict(each) for each in examined.findings],
        "unchecked": [dict(each) for each in examined.unchecked],
        "counts": counts,
    }


async def _examine(
    settings: CommandSettings, folder: Path, arguments: tuple[str, ...], show: _Show
) -> Examined:
    examined = Examined()
    ended = await run_release(settings, folder, arguments, lambda line: _take(examined, line, show))
    if examined.failure is None and ended.complaint:
        examined.failure = Unavailable(ended.complaint)
    return examined


def _take(examined: Examined, line: Mapping[str, Json], show: _Show) -> None:
    match line["event"]:
        case "progress":
            show(f"{line['check']}: {line['done']} of {line['total']}")
        case "finding":
            examined.findings.append({name: line[name] for name in line if name != "event"})
        case "unchecked":
            examined.unchecked.append({name: line[name] for name in line if name != "event"})
        case "examined":
            counts = line["counts"]
            examined.counts = dict(counts) if isinstance(counts, Mapping) else {}
        case "failed":
            examined.failure = _failure(line)
        case _:
            return


async def _parked(
    settings: CommandSettings, folder: Path, counts: Mapping[str, Json]
) -> dict[str, Json]:
    """Return how many messages each service parked; None for one that does not answer."""
    parked: dict[str, Json] = {**dict.fromkeys(PARKING), SERVICE: counts.get("parked")}
    with suppress(ChanceryError):
        async with operator_bus(settings, folder) as bus:
            others: list[Service] = [each for each in PARKING if each != SERVICE]
            parked |= {service: await _waiting(bus, service) for service in others}
    return parked


async def _waiting(bus: Connection, service: Service) -> int | None:
    subject = query_subject(service, "parked")
    try:
        return (await ask_owner(bus, subject, FindParked(limit=1), ParkedEntries)).waiting
    except Unavailable:
        return None


def _failure(line: Mapping[str, Json]) -> ChanceryError:
    is_absent = line["code"] == NotFound.code
    error = (NotFound if is_absent else Unavailable)(str(line["detail"]))
    error.code = str(line["code"])
    return error


def _tell(examined: Examined, counts: Mapping[str, Json]) -> None:
    _tell_found(examined)
    for name, amount in counts.items():
        tell(f"{name.replace('_', ' ')}: {_amount(amount)}")
    found, left = len(examined.findings), len(examined.unchecked)
    if found:
        tell(f"{found} findings")
    elif not left:
        tell("everything fits together")
    if left:
        tell(f"{left} results not checked" + ("" if found else "; everything else fits together"))


def _tell_found(examined: Examined) -> None:
    for each in examined.findings:
        tell(f"PROBLEM {each['code']}: {each['what']} ({_place(each)})")
        tell(f"        {each['remedy']}")
    for each in examined.unchecked:
        tell(f"NOT CHECKED {each['reason']}: {each['what']} ({_place(each)})")


def _place(told: Mapping[str, Json]) -> str:
    where = told["where"]
    assert isinstance(where, Mapping)
    return " ".join(f"{name}={value}" for name, value in where.items())


def _amount(amount: Json) -> str:
    if not isinstance(amount, Mapping):
        return str(amount)
    told = [f"{name} {'not asked' if value is None else value}" for name, value in amount.items()]
    return ", ".join(told)


class _Show:
    """Shows one line of progress on a terminal, and nothing elsewhere."""

    def __init__(self, *, is_shown: bool) -> None:
        """Show only when somebody sees it."""
        self._is_shown = is_shown and sys.stderr.isatty()

    def __call__(self, line: str) -> None:
        """Replace the line."""
        if self._is_shown:
            print(f"{_CLEARED}{visible(line)}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown:
            print(_CLEARED, end="", file=sys.stderr, flush=True)


@contextmanager
def _showing(*, is_shown: bool) -> Generator[_Show]:
    show = _Show(is_shown=is_shown)
    try:
        yield show
    finally:
        show.clear()
