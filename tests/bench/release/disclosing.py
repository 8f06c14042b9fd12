"""How long a disclosure takes inside release, beside the least that it could take.

The least is one read of the log's end from the stream's leader and one read by primary key. Both
take turns, one at a time.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final, TypedDict

from chancery.bus.load import last_sequence
from chancery.events.queries import OfRun
from chancery.events.topology import AUTHORITY
from chancery.release.domain.drafts import release_id_of
from chancery.store.queries import load_queries
from tests.bench.arithmetic import Summary, ratio, summary
from tests.bench.crowd import at_once
from tests.bench.release.ground import ASKER, Ground
from tests.integration.release.world import TENANT, request_of

RUNS: Final = 20
WARM_UPS: Final = 20

_READ_BY_KEY = load_queries("tests.bench")["read_by_key"]


class Disclosed(TypedDict):
    """A whole answer, the least, and how many times the least's median the answer takes."""

    answer: Summary
    least: Summary
    ratio: float


async def disclose(ground: Ground, rounds: int) -> Disclosed:
    """Disclose sealed answers by turns."""
    proposals = await ground.proposals(RUNS)
    await at_once(RUNS, proposals, ground.seal)
    runs = [each.envelope.subject for each in proposals]
    answers: list[float] = []
    leasts: list[float] = []
    for turn in range(WARM_UPS + rounds):
        run_id = runs[turn % RUNS]
        answers.append(await _timed(lambda run_id=run_id: _answer(ground, run_id)))
        leasts.append(await _timed(lambda run_id=run_id: _least(ground, run_id)))
    taken, least = summary(answers[WARM_UPS:]), summary(leasts[WARM_UPS:])
    return Disclosed(answer=taken, least=least, ratio=ratio(taken, least))


async def _answer(ground: Ground, run_id: str) -> None:
    request = request_of("answer", OfRun(run_id=run_id), who=ASKER)
    document = await ground.parts.disclosures.answer(request)
    assert document.status == "sealed"


async def _least(ground: Ground, run_id: str) -> None:
    await last_sequence(ground.world.bus, AUTHORITY)
    assert await ground.pool.fetchrow(_READ_BY_KEY, TENANT, release_id_of(TENANT, run_id, 1))


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    begun = time.perf_counter()
    await work()
    return time.perf_counter() - begun
