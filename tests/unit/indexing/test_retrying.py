"""A snapshot that failed for a reason that passes is tried again by itself, a few times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from chancery.events import authority
from chancery.events.index import RevisionFailed, RevisionPending
from chancery.indexing.domain.attempts import ATTEMPTS_MAX, PASSING
from chancery.indexing.domain.standing import Failed, awaits_attempt
from chancery.indexing.domain.wishes import SlowRevision
from chancery.indexing.handlers.retrying import Retrying
from chancery.kernel.errors import Rejected
from chancery.tabular.schema import ColumnDeclaration
from chancery.tabular.snapshot import Snapshot, convert_csv
from tests.unit.indexing import world as worlds
from tests.unit.indexing.test_slowly import work_slowly
from tests.unit.indexing.world import DATASET, SOURCE, World, declared_dataset

CSV = b"id,amount\n1,1250\n2,2750\n"


@dataclass(slots=True)
class Machine:
    """What converts CSV files: the first tries fail with these codes, the next ones do not."""

    codes: list[str] = field(default_factory=list[str])

    def convert(self, data: bytes, declared: Mapping[str, ColumnDeclaration]) -> Snapshot:
        if self.codes:
            message = "failed"
            raise Rejected(message, field="snapshot", code=self.codes.pop(0))
        return convert_csv(data, declared)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(worlds, "convert_csv", made.convert)
    return made


@dataclass(frozen=True, slots=True)
class MemoryRetries:
    """The `Retries` of a world, as if every wait were over."""

    world: World

    async def due(self, limit: int) -> Sequence[SlowRevision]:
        page = self.world.pages[DATASET]
        return [
            SlowRevision(DATASET, number)
            for number, one in page.revisions.items()
            if awaits_attempt(DATASET, page.history, one)
        ][:limit]


async def published_once() -> World:
    world = World(ref=DATASET)
    world.record(declared_dataset())
    await world.handle(await world.publish(CSV, media_type="text/csv"))
    return world


async def try_again(world: World) -> None:
    """Play a round once the wait is over."""
    retrying = Retrying(MemoryRetries(world), world.publications.slowly)
    await retrying.ask_for_due()
    await retrying.ask_for_due()
    await work_slowly(world)


def states(world: World) -> list[tuple[str, str | None, int | None]]:
    """Return what was said of the snapshot's state, with reason and attempt."""
    return [
        (type(data).TYPE.split(".")[2], data.reason, data.attempt)
        for _, event in world.index
        if isinstance(data := event.data, RevisionPending | RevisionFailed)
    ]


@pytest.mark.req("EV-6", "CL-1")
@pytest.mark.parametrize("code", sorted(PASSING))
async def test_a_failure_that_passes_is_mended_by_itself_and_says_which_attempt_comes(
    machine: Machine, code: str
) -> None:
    machine.codes = [code, code]
    world = await published_once()
    after_first = world.standings()
    await try_again(world)
    await try_again(world)
    await try_again(world)

    assert after_first == {1: "pending"}
    assert states(world) == [
        ("revision-pending", None, None),
        ("revision-pending", code, 2),
        ("revision-pending", code, 3),
    ]
    assert world.told()[-2:] == ["extracted 1", "ready 1"]
    assert world.conversions == 3


@pytest.mark.req("EV-6")
async def test_it_is_tried_a_few_times_and_then_failed_for_good(machine: Machine) -> None:
    machine.codes = ["sql_timeout"] * 99
    world = await published_once()
    for _ in range(ATTEMPTS_MAX + 2):
        await try_again(world)

    assert world.conversions == ATTEMPTS_MAX
    assert states(world)[-1] == ("revision-failed", "sql_timeout", ATTEMPTS_MAX)
    assert await MemoryRetries(world).due(9) == []


@pytest.mark.req("EV-6")
async def test_a_failure_of_the_content_stays_whenever_it_shows(machine: Machine) -> None:
    machine.codes = ["csv_ragged_row"]
    at_once = await published_once()
    await try_again(at_once)
    machine.codes = ["sql_resources", "csv_ragged_row"]
    later = await published_once()
    await try_again(later)
    await try_again(later)

    assert states(at_once)[1:] == [("revision-failed", "csv_ragged_row", None)]
    assert at_once.conversions == 1
    assert states(later)[-1] == ("revision-failed", "csv_ragged_row", None)
    assert later.conversions == 2


@pytest.mark.req("EV-6", "EV-7")
async def test_neither_a_second_delivery_nor_another_declaration_of_the_same_is_an_attempt(
    machine: Machine,
) -> None:
    machine.codes = ["sql_timeout"] * 99
    world = await published_once()
    before = world.told()
    await world.handle(world.event(1))
    await world.handle(world.record(declared_dataset()))

    assert (world.conversions, world.told()) == (1, before)


@pytest.mark.req("EV-6")
async def test_other_types_begin_with_the_first_attempt(machine: Machine) -> None:
    machine.codes = ["sql_timeout"] * 3
    world = await published_once()
    await try_again(world)
    await world.handle(world.record(declared_dataset(types={"id": "integer"})))
    last = states(world)[-1]
    await try_again(world)

    assert last == ("revision-pending", "sql_timeout", 2)
    assert world.told()[-1] == "ready 1"


@pytest.mark.req("EV-7")
@pytest.mark.parametrize("ending", ["withdrawn", "superseded"])
async def test_what_serves_no_more_is_not_tried_again(machine: Machine, ending: str) -> None:
    machine.codes = ["sql_timeout"]
    world = await published_once()
    asked = list(await MemoryRetries(world).due(9))
    if ending == "withdrawn":
        await world.handle(world.record(authority.DatasetWithdrawn()))
    else:
        await world.handle(await world.publish(CSV + b"3,1\n", media_type="text/csv"))
    before = world.conversions
    for each in asked:
        await world.publications.slowly.record(each)
    await work_slowly(world)

    assert asked == [SlowRevision(DATASET, 1)]
    assert world.conversions == before
    assert world.standings()[1] == "excluded"


@pytest.mark.req("EV-6")
async def test_what_an_earlier_build_gave_up_is_tried_again(machine: Machine) -> None:
    machine.codes = ["sql_resources", "sql_resources"]
    world = await published_once()
    page = world.pages[DATASET]
    outcome = page.revisions[1].outcome
    assert outcome is not None
    given_up = replace(outcome, result=Failed("sql_resources"))
    page.revisions[1] = replace(page.revisions[1], outcome=given_up)
    await try_again(world)
    await try_again(world)

    assert world.told()[-1] == "ready 1"


async def test_a_document_is_not_tried_again() -> None:
    world = await published_once()
    page = world.pages[DATASET]
    known = page.revisions[1].outcome
    assert known is not None
    failed = replace(page.revisions[1], outcome=replace(known, result=Failed("sql_timeout")))

    assert awaits_attempt(DATASET, page.history, failed)
    assert not awaits_attempt(SOURCE, page.history, failed)
