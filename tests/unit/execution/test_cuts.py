"""Cuts are made once and kept within a bound; who waits for one never suffers from another's."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from chancery.execution.errors import InputTooLarge
from chancery.execution.handlers.cuts import Cuts, cut_key
from chancery.kernel.errors import ChanceryError, Corrupt, Rejected, TooLarge, Unavailable
from chancery.tabular.jobs import RowFilter, Table, Uncut
from chancery.tabular.schema import TableSchema, column_of
from chancery.testkit.waiting import eventually

SCHEMA = TableSchema("t", (column_of("a", "BIGINT"),))
HASH = "a" * 64
ROOM = 1_000


@dataclass(slots=True)
class Scissors:
    """Cuts as large as told; waits at `gate` while that is closed, and fails for `failures`."""

    size_bytes: int = 10
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    failures: list[ChanceryError] = field(default_factory=list[ChanceryError])
    begun: int = 0
    made: int = 0
    rooms: list[int] = field(default_factory=list[int])

    async def cut(self, uncut: Uncut, *, bytes_max: int) -> Table:
        """Return that many bytes, which tell how often this was done."""
        self.begun += 1
        self.rooms.append(bytes_max)
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop()
        self.made += 1
        return Table(uncut.schema, bytes([self.made]) * self.size_bytes)


@pytest.fixture
def scissors() -> Scissors:
    made = Scissors()
    made.gate.set()
    return made


def uncut(*values: str, schema: TableSchema = SCHEMA) -> Uncut:
    """Return a snapshot whose policy shows the rows with these values."""
    return Uncut(schema, b"parquet", (RowFilter("a", values),))


async def of(cuts: Cuts, *values: str, tenant: str = "acme", bytes_max: int = ROOM) -> bytes:
    """Return the cut of the policy of `values`."""
    wanted = uncut(*values)

    async def stored() -> Uncut:
        return wanted

    key = cut_key(tenant, HASH, wanted)
    return (await cuts.of(key, SCHEMA, stored, bytes_max=bytes_max)).parquet


async def at_once(count: int, cuts: Cuts, scissors: Scissors) -> list[bytes | BaseException]:
    """Return what so many get who ask for the same cut before the first one is made."""
    scissors.gate.clear()
    asked = asyncio.gather(*(of(cuts, "1") for _ in range(count)), return_exceptions=True)
    await eventually(lambda: scissors.begun == 1)
    scissors.gate.set()
    return await asked


@pytest.mark.req("CR-27")
async def test_a_cut_is_made_once_for_a_tenant_and_a_policy(scissors: Scissors) -> None:
    cuts = Cuts(scissors)

    first, again = await of(cuts, "1"), await of(cuts, "1")
    other, elsewhere = await of(cuts, "2"), await of(cuts, "1", tenant="other")

    assert first == again
    assert len({first, other, elsewhere}) == scissors.made == 3


@pytest.mark.req("CR-27")
def test_each_difference_of_a_policy_is_another_key() -> None:
    wider = TableSchema("t", (*SCHEMA.columns, column_of("b", "BIGINT")))
    both = Uncut(SCHEMA, b"", (RowFilter("a", ("1",)), RowFilter("b", ("1",))))
    policies = [
        uncut("1"), uncut("1", "2"), uncut("12"), uncut(), uncut("1", schema=wider), both,
        Uncut(SCHEMA, b""), Uncut(SCHEMA, b"", (RowFilter("b", ("1",)),)),
    ]  # fmt: skip

    keys = {cut_key("acme", HASH, each) for each in policies}

    assert len(keys) == len(policies)
    assert cut_key("acme", HASH, uncut("1")) == cut_key("acme", HASH, uncut("1"))
    assert cut_key("acme", "b" * 64, uncut("1")) not in keys


@pytest.mark.req("KO-3")
async def test_kept_cuts_stay_within_the_bound_and_the_oldest_goes_first(
    scissors: Scissors,
) -> None:
    cuts = Cuts(scissors, bytes_max=25)
    await of(cuts, "1")
    await of(cuts, "2")
    await of(cuts, "1")
    await of(cuts, "3")
    assert (cuts.size_bytes, scissors.made) == (20, 3)

    await of(cuts, "1")
    assert scissors.made == 3
    await of(cuts, "2")
    assert (cuts.size_bytes, scissors.made) == (20, 4)


@pytest.mark.req("KO-3")
async def test_a_cut_beyond_the_bound_is_not_kept_but_shared_by_those_who_wait(
    scissors: Scissors,
) -> None:
    scissors.gate.clear()
    cuts = Cuts(scissors, bytes_max=9)
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(of(cuts, "1")) for _ in range(16)]
        await eventually(lambda: scissors.begun == 1)
        scissors.gate.set()

    assert len({task.result() for task in waiting}) == scissors.made == 1
    assert cuts.size_bytes == 0
    await of(cuts, "1")
    assert scissors.made == 2


@pytest.mark.req("KO-3")
@pytest.mark.parametrize(
    "error",
    [Rejected("too long", code="sql_timeout"), Corrupt("no column", code="dataset_unreadable")],
)
async def test_a_cut_that_fails_is_refused_to_those_who_wait_and_made_for_the_next(
    scissors: Scissors, error: ChanceryError
) -> None:
    scissors.failures.append(error)
    cuts = Cuts(scissors)

    found = await at_once(3, cuts, scissors)

    assert found == [error] * 3
    assert scissors.begun == 1
    assert await of(cuts, "1") == bytes([1]) * 10


@pytest.mark.req("KO-3")
@pytest.mark.parametrize("deaths", [1, 2, 3])
async def test_a_process_that_dies_fails_its_statement_and_twice_all_who_wait(
    scissors: Scissors, deaths: int
) -> None:
    died = Rejected("it died", code="sql_resources")
    scissors.failures.extend([died] * deaths)

    found = await at_once(4, Cuts(scissors), scissors)

    made = bytes([1]) * 10
    assert found == ([died, made, made, made] if deaths == 1 else [died] * 4)
    assert scissors.begun == 2


@pytest.mark.parametrize(
    "error", [Unavailable("busy", code="sql_busy"), InputTooLarge("too large", field="sql")]
)
async def test_what_one_caller_lacks_the_next_who_waits_may_have(
    scissors: Scissors, error: ChanceryError
) -> None:
    scissors.failures.append(error)
    cuts = Cuts(scissors)

    found = await at_once(3, cuts, scissors)

    assert found == [error, bytes([1]) * 10, bytes([1]) * 10]


async def test_when_a_cut_is_given_up_the_next_who_waits_makes_it(scissors: Scissors) -> None:
    scissors.gate.clear()
    cuts = Cuts(scissors)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(of(cuts, "1"))
        await eventually(lambda: scissors.begun == 1)
        second = group.create_task(of(cuts, "1"))
        first.cancel()
        await eventually(lambda: scissors.begun == 2)
        scissors.gate.set()

    assert first.cancelled()
    assert (second.result(), scissors.made) == (bytes([1]) * 10, 1)


@pytest.mark.req("KO-3")
async def test_the_snapshot_and_its_cut_share_the_room_of_a_statement(scissors: Scissors) -> None:
    cuts = Cuts(scissors)
    await of(cuts, "1", bytes_max=100)
    assert scissors.rooms == [100 - len(b"parquet")]

    with pytest.raises(TooLarge) as refused:
        await of(cuts, "1", bytes_max=9)

    assert isinstance(refused.value, InputTooLarge)
    assert refused.value.code == "sql_input_too_large"
    assert len(await of(cuts, "1", bytes_max=10)) == 10


async def test_a_cut_leaves_the_memory_after_its_time(scissors: Scissors) -> None:
    cuts = Cuts(scissors, kept_s=0)
    await of(cuts, "1")

    await eventually(lambda: cuts.size_bytes == 0)

    kept = Cuts(scissors)
    await of(kept, "1")
    assert kept.size_bytes == 10
