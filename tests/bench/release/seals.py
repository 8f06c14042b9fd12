"""Seals per second beside the bare pair, with the log quiet, busy, and busy elsewhere.

Blocks of seals and of bare pairs take turns, so that whatever else the machine does slows both; the
share is the median over the pairs of blocks.
"""

from __future__ import annotations

from typing import Final, TypedDict

from chancery.store.pool import connect as connect_database
from chancery.store.queries import load_queries
from tests.bench.arithmetic import median_share, rate
from tests.bench.children import ended, running_beside, told_by
from tests.bench.crowd import at_once
from tests.bench.release import bare, changing
from tests.bench.release.ground import CONNECTIONS, Ground
from tests.integration.release.world import TENANT

AT_ONCE: Final = 32
CUT_BYTES: Final = 916
PAIRS_PER_SEAL: Final = 2
OTHER_TENANT: Final = "noisy"

_READ_BYTES = load_queries("tests.bench")["read_bytes_sealed"]


class Sealed(TypedDict):
    """One measurement of seals; `refused` have to be none. `changes_per_s` is what came beside."""

    seals: int
    refused: int
    seals_per_s: float
    bare_per_s: float
    share: float
    changes_per_s: float


class Kept(TypedDict):
    """What a tenant keeps of its rate while another one's sources change."""

    quiet_per_s: float
    beside_per_s: float
    share: float
    refused: int
    changes_per_s: float


async def quiet(ground: Ground, count: int, blocks: int) -> Sealed:
    """Seal while nothing else happens."""
    return await _measured(ground, count, blocks)


async def busy(ground: Ground, count: int, blocks: int, *, per_s: float) -> Sealed:
    """Seal while unrelated authority events of the same tenant come at this rate."""
    async with running_beside(
        changing.__name__, "members", TENANT, str(per_s), settings=_settings(ground)
    ) as process:
        found = await _measured(ground, count, blocks)
        changed = await ended(changing.Changed, process)
    found["changes_per_s"] = round(rate(changed.events, changed.seconds), 1)
    return found


async def elsewhere(ground: Ground, count: int, blocks: int, *, per_s: float) -> Kept:
    """Seal by turns while nothing else happens, and while another tenant's sources change."""
    _, refused_before = await ground.outcomes()
    alone: list[float] = []
    beside: list[float] = []
    events, seconds = 0, 0.0
    for _ in range(blocks):
        alone.append(await _block(ground, count))
        async with running_beside(
            changing.__name__, "sources", OTHER_TENANT, str(per_s), settings=_settings(ground)
        ) as process:
            beside.append(await _block(ground, count))
            changed = await ended(changing.Changed, process)
        events, seconds = events + changed.events, seconds + changed.seconds
    _, refused = await ground.outcomes()
    return Kept(
        quiet_per_s=round(rate(count * blocks, sum(alone)), 1),
        beside_per_s=round(rate(count * blocks, sum(beside)), 1),
        share=median_share([1 / each for each in beside], [1 / each for each in alone]),
        refused=refused - refused_before,
        changes_per_s=round(rate(events, seconds), 1),
    )


async def _measured(ground: Ground, count: int, blocks: int) -> Sealed:
    sealed_before, refused_before = await ground.outcomes()
    ours: list[float] = []
    pairs: list[float] = []
    for _ in range(blocks):
        ours.append(rate(count, await _block(ground, count)))
        took = await told_by(
            bare.Took, bare.__name__, *await _arguments(ground, count), settings=_settings(ground)
        )
        pairs.append(rate(took.count, took.seconds))
    sealed, refused = await ground.outcomes()
    return Sealed(
        seals=sealed - sealed_before,
        refused=refused - refused_before,
        seals_per_s=round(sum(ours) / blocks, 1),
        bare_per_s=round(sum(pairs) / blocks, 1),
        share=median_share(ours, pairs),
        changes_per_s=0.0,
    )


async def _block(ground: Ground, count: int) -> float:
    proposals = await ground.proposals(count)
    return await at_once(AT_ONCE, proposals, ground.seal)


async def _arguments(ground: Ground, count: int) -> tuple[str, ...]:
    """Return what the bare pair is told: as many bytes as a cut and a release have here."""
    async with connect_database(ground.servers.database.superuser_dsn, name="bench") as db:
        row_bytes: int = await db.fetchval(_READ_BYTES)
    numbers = (count * PAIRS_PER_SEAL, AT_ONCE, CONNECTIONS, CUT_BYTES, row_bytes)
    return tuple(map(str, numbers))


def _settings(ground: Ground) -> dict[str, str]:
    return {
        bare.NATS_VARIABLE: ground.servers.nats_url,
        bare.DSN_VARIABLE: ground.servers.dsn,
    }
