"""`blobs sweep`: removes uploads that were stored, and of which no command ever came.

1. The log is read whole. 2. The blobs are listed. 3. What was appended meanwhile is read, and what
the named manifests name in turn. 4. An unnamed blob is removed if it is older than the limit then;
storing it again made it new. Whatever cannot be read ends it before anything is removed. What runs
derived is left alone: the sealed record may need it longer than the log of runs is kept.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from chancery.client.command.named import (
    BusStreams,
    LogIncomplete,
    Named,
    Streams,
    Tell,
    hashes_in,
    read_on,
)
from chancery.client.command.operator import operator_bus
from chancery.client.command.output import EXIT_DONE, WrongUsage, tell, tell_json
from chancery.client.command.progress import showing_line
from chancery.client.command.settings import CommandSettings, load_settings
from chancery.events.topology import AUTHORITY
from chancery.kernel.canonical import Json
from chancery.kernel.clock import Clock, SystemClock
from chancery.store.blobs import BlobNotFound, BlobTooLarge, Held, Stock, open_blobs

OLDER_THAN_MIN: Final = timedelta(hours=1)
"""An upload and its command are minutes apart; what is stored again is new within half an hour."""

MANIFEST_BYTES_MAX: Final = 64 * 1024 * 1024
_SHOWN_MAX: Final = 20
_AGE: Final = re.compile(r"([0-9]{1,5})([mhd])")
_UNITS: Final[Mapping[str, timedelta]] = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a blob is: a tenant's own, or below the id of a run or an upload place."""

    tenant: str
    run: str | None
    held: Held

    def to_json(self) -> dict[str, Json]:
        """Return it as a JSON object."""
        return {
            "tenant": self.tenant,
            "place": "own" if self.run is None else "uploads",
            "sha256": self.held.sha256,
            "size_bytes": self.held.size,
            "stored_at": self.held.stored_at.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class Swept:
    """What the sweep removed, or would; `seen` blobs were looked at."""

    seen: int
    removed: tuple[Place, ...]

    @property
    def size(self) -> int:
        """Return how many bytes they had."""
        return sum(place.held.size for place in self.removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One sweep over a log and the blobs of the same installation."""

    streams: Streams
    stock: Stock
    clock: Clock
    tell: Tell
    named: Named = field(default_factory=Named)

    async def run(self, older_than: timedelta, *, dry_run: bool) -> Swept:
        """Remove what no event names and was stored longer ago than this.

        Raises:
            LogIncomplete: the log does not account for what is stored; nothing was removed.
            Unavailable: log or blobs are away; nothing more is removed.
        """
        before = self.clock.now() - older_than
        await read_on(self.streams, self.named, self.tell)
        places = [place async for place in self._places()]
        self._check_tenants(places)
        await read_on(self.streams, self.named, self.tell)
        await self._follow_manifests(places, before)
        await read_on(self.streams, self.named, self.tell)
        unnamed = self._unnamed(places, before)
        if dry_run:
            return Swept(len(places), tuple(unnamed))
        return Swept(len(places), tuple([each async for each in self._removed(unnamed, before)]))

    async def _places(self) -> AsyncIterator[Place]:
        for tenant in await self.stock.tenants():
            uploads = sorted(run for owner, run in self.named.places if owner == tenant)
            for run in (None, *uploads):
                for held in await self.stock.held(tenant, run=run):
                    yield Place(tenant, run, held)

    def _check_tenants(self, places: Iterable[Place]) -> None:
        if unknown := {place.tenant for place in places} - self.named.tenants:
            message = (
                f"the log does not know the tenant {min(unknown)!r}, of which there are blobs; "
                "are NATS and the blobs of one installation?"
            )
            raise LogIncomplete(message)

    def _unnamed(self, places: Iterable[Place], before: datetime) -> list[Place]:
        """Return what may go; what is older than the log itself cannot be judged by it."""
        begun = self.named.upto[AUTHORITY].created
        return [
            place
            for place in places
            if begun <= place.held.stored_at < before and place.held.sha256 not in self.named.hashes
        ]

    async def _follow_manifests(self, places: list[Place], before: datetime) -> None:
        """Take in what named blobs name, such as the layout of a document, until nothing is new."""
        waiting = list(places)
        while self._unnamed(places, before):
            named = [place for place in waiting if place.held.sha256 in self.named.hashes]
            if not named:
                return
            waiting = [place for place in waiting if place.held.sha256 not in self.named.hashes]
            for number, place in enumerate(named, start=1):
                self.named.hashes.update(await self._inside(place))
                self.tell("named blobs", number, len(named))

    async def _inside(self, place: Place) -> set[str]:
        tenant, sha256, limit = place.tenant, place.held.sha256, MANIFEST_BYTES_MAX
        try:
            if place.run is None:
                data = await self.stock.get(tenant, sha256, limit=limit)
            else:
                data = await self.stock.get_run(tenant, place.run, sha256, limit=limit)
        except (BlobNotFound, BlobTooLarge):
            return set()
        return set(hashes_in(data)) if data.startswith(b"{") else set()

    async def _removed(self, unnamed: list[Place], before: datetime) -> AsyncIterator[Place]:
        for number, place in enumerate(unnamed, start=1):
            sha256 = place.held.sha256
            if await self.stock.remove_older(place.tenant, sha256, before=before, run=place.run):
                yield place
            self.tell("removed", number, len(unnamed))


def parse_age(written: str) -> timedelta:
    """Return the span that is written like 90m, 24h or 7d.

    Raises:
        WrongUsage: it is written in another way, or below an hour.
    """
    found = _AGE.fullmatch(written)
    if found is None:
        message = "--older-than is a whole number with m, h or d behind it, like 24h"
        raise WrongUsage(message, field="--older-than")
    age = int(found[1]) * _UNITS[found[2]]
    if age < OLDER_THAN_MIN:
        message = "--older-than must be at least 1h; an upload under way needs its blob"
        raise WrongUsage(message, field="--older-than")
    return age


async def run_sweep(
    data_dir: Path | None, *, older_than: timedelta, dry_run: bool, as_json: bool
) -> int:
    """Sweep the installation of the data folder, or the one that is configured.

    Raises:
        WrongUsage: only one of NATS and blobs is configured.
    """
    assert older_than >= OLDER_THAN_MIN
    settings = load_settings()
    folder = data_dir or settings.data_dir
    with showing_line(is_shown=not as_json) as show:
        async with operator_bus(settings, folder) as bus:
            stock = open_blobs(_blobs_url(settings, folder))
            sweep = Sweep(streams=BusStreams(bus), stock=stock, clock=SystemClock(), tell=show)
            swept = await sweep.run(older_than, dry_run=dry_run)
    if as_json:
        tell_json(_report(swept, is_dry_run=dry_run))
    else:
        _tell(swept, is_dry_run=dry_run)
    return EXIT_DONE


def _blobs_url(settings: CommandSettings, folder: Path) -> str:
    """Return the blobs that belong to the log: both as configured, or both of the data folder."""
    is_own_bus = "nats_url" not in settings.model_fields_set
    if is_own_bus != (settings.blobs_url is None):
        message = "set CHANCERY_NATS_URL and CHANCERY_BLOBS_URL of one installation, or neither"
        raise WrongUsage(message, field="CHANCERY_BLOBS_URL")
    return settings.blobs_url or f"file://{(folder / 'blobs').resolve()}"


def _report(swept: Swept, *, is_dry_run: bool) -> Mapping[str, Json]:
    return {
        "dry_run": is_dry_run,
        "seen": swept.seen,
        "removed": len(swept.removed),
        "size_bytes": swept.size,
        "blobs": [place.to_json() for place in swept.removed],
    }


def _tell(swept: Swept, *, is_dry_run: bool) -> None:
    for place in swept.removed[:_SHOWN_MAX]:
        stored = f"{place.held.stored_at:%Y-%m-%d %H:%M}"
        tell(f"{place.tenant} {place.held.sha256} {place.held.size} bytes, stored {stored}")
    if len(swept.removed) > _SHOWN_MAX:
        tell(f"and {len(swept.removed) - _SHOWN_MAX} more (--json lists all)")
    verb = "would be removed" if is_dry_run else "removed"
    tell(f"{len(swept.removed)} of {swept.seen} blobs {verb}, {swept.size} bytes")
