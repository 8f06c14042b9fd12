"""An admitted run: what is searched, what is gathered, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tantivy import Index, SchemaBuilder

from chancery.events.authority import Mode
from chancery.events.envelope import Envelope, Event
from chancery.events.run import Bounds, RunAdmitted, RunGathered
from chancery.evidence.context import CONTEXT_PARTS_MAX, is_too_much
from chancery.evidence.manifest import MeasureCard
from chancery.evidence.parts import PART_CHARACTERS, part_id
from chancery.evidence.scope import ScopeEntry, build_scope
from chancery.kernel.errors import Corrupt, NotFound
from chancery.retrieval.domain.entries import Pin, RevisionRef
from chancery.retrieval.domain.gathering import (
    PASSAGES_MAX,
    Hit,
    gather_measures,
    gather_passages,
)
from chancery.retrieval.errors import IndexBroken
from chancery.testkit.waiting import eventually
from tests.unit.retrieval.world import NOW, TENANT, Service, World

_TOTAL = MeasureCard(
    name="total",
    description="total revenue of all orders",
    label="SUM(orders.amount)",
    sql="SELECT 1",
    aggregate="sum",
    column="amount",
)


@dataclass(frozen=True, slots=True)
class _Ask:
    question: str
    mode: Mode = "auto"
    sources_max: int = 8
    index_sequence: int = 0
    generation: int = 1


def _entry(pin: Pin, *, state: str = "ready") -> ScopeEntry:
    return ScopeEntry.model_validate(
        {
            "kind": pin.ref.kind,
            "key": pin.ref.key,
            "id": pin.ref.key,
            "title": "Title",
            "revision": pin.ref.revision,
            "content_sha256": "1" * 64,
            "media_type": "text/plain",
            "extraction_sha256": pin.extraction_sha256,
            "manifest_sha256": pin.manifest_sha256,
            "state": state,
        }
    )


async def _admit(world: World, ask: _Ask, *entries: ScopeEntry) -> Event:
    scope = build_scope(entries)
    data = RunAdmitted(
        run_id="run-1",
        generation=ask.generation,
        lease="lease-1",
        workspace_id="w",
        principal="ada",
        question_sha256=await world.blobs.put_run(TENANT, "run-1", ask.question.encode()),
        scope_sha256=await world.blobs.put_run(TENANT, "run-1", scope.to_bytes()),
        policy_revision="0",
        language="en",
        mode=ask.mode,
        bounds=Bounds(max_sources=ask.sources_max),
        deadline=NOW,
        barrier=1,
        index_sequence=ask.index_sequence,
    )
    envelope = Envelope(
        id="admitted-1",
        source="chancery/release",
        type=data.TYPE,
        subject="run-1",
        time=NOW,
        tenant=TENANT,
        actor="ada",
    )
    return Event(envelope=envelope, data=data)


@asynccontextmanager
async def _running(world: World) -> AsyncGenerator[Service]:
    service = world.start()
    async with service.following_along():
        await eventually(lambda: service.following.position >= len(world.stored))
        yield service


def _only(world: World) -> RunGathered:
    (event,) = world.gathered
    assert isinstance(event.data, RunGathered)
    return event.data


@pytest.mark.req("KO-3")
async def test_passages_are_gathered_by_part_offsets_and_pinned_extraction(tmp_path: Path) -> None:
    world = World(tmp_path)
    text = "Filler. " * 600 + "Team Alpha owns the quarterly service reviews. " + "Filler. " * 9
    pin = await world.document("handbook", text)
    async with _running(world) as service:
        event = await _admit(world, _Ask("Who owns the service reviews?"), _entry(pin))
        await service.gathering.handle(event, attempt=1)

    best = _only(world).passages[0]
    assert "owns the quarterly service reviews" in text[best.start : best.end]
    assert best.part_id == part_id("handbook", 1, pin.extraction_sha256, best.start // 4800 + 1)
    assert best.extraction_sha256 == pin.extraction_sha256
    assert (_only(world).index_position, _only(world).unconfirmed) == (1, ())


@pytest.mark.req("CL-12")
async def test_only_admitted_pins_are_gathered_from(tmp_path: Path) -> None:
    world = World(tmp_path)
    mine = await world.document("mine", "service reviews are weekly")
    other = await world.document("other", "service reviews are weekly")
    async with _running(world) as service:
        narrow = await _admit(world, _Ask("service reviews"), _entry(mine))
        await service.gathering.handle(narrow, attempt=1)
        wide = await _admit(
            world, _Ask("service reviews", generation=2), _entry(mine), _entry(other)
        )
        await service.gathering.handle(wide, attempt=1)

    first, second = (event.data for event in world.gathered)
    assert isinstance(first, RunGathered)
    assert isinstance(second, RunGathered)
    assert {one.key for one in first.passages} == {"mine"}
    assert {one.key for one in second.passages} == {"mine", "other"}


@pytest.mark.parametrize("state", ["pending", "failed", "excluded", "unavailable"])
async def test_a_revision_that_is_not_ready_is_not_searched(tmp_path: Path, state: str) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "service reviews")
    async with _running(world) as service:
        event = await _admit(world, _Ask("service reviews"), _entry(pin, state=state))
        await service.gathering.handle(event, attempt=1)

    assert _only(world).passages == ()


@pytest.mark.parametrize(
    ("mode", "passages", "measures"), [("auto", 1, 1), ("rag", 1, 0), ("data", 0, 1)]
)
async def test_the_mode_says_what_is_searched(
    tmp_path: Path, mode: Mode, passages: int, measures: int
) -> None:
    world = World(tmp_path)
    document = await world.document("a", "total revenue is discussed here")
    dataset = await world.dataset("orders", _TOTAL)
    async with _running(world) as service:
        event = await _admit(
            world, _Ask("What is the total revenue?", mode), _entry(document), _entry(dataset)
        )
        await service.gathering.handle(event, attempt=1)

    found = _only(world)
    assert (len(found.passages), len(found.measures)) == (passages, measures)
    assert [one.name for one in found.measures] == ["total"] * measures


@pytest.mark.req("CL-2")
async def test_a_pin_that_the_index_does_not_hold_is_unconfirmed(tmp_path: Path) -> None:
    world = World(tmp_path)
    held = await world.document("held", "service reviews")
    newer = Pin(RevisionRef("source", "newer", 2), "3" * 64, "4" * 64)
    async with _running(world) as service:
        event = await _admit(
            world, _Ask("service reviews", index_sequence=0), _entry(held), _entry(newer)
        )
        await service.gathering.handle(event, attempt=1)

    assert _only(world).unconfirmed == ("newer",)
    assert {one.key for one in _only(world).passages} == {"held"}


@pytest.mark.req("CL-2")
async def test_a_run_waits_for_the_index_that_release_has_seen(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with _running(world) as service:
        pin = await world.document("a", "service reviews")
        event = await _admit(world, _Ask("service reviews", index_sequence=1), _entry(pin))
        await service.gathering.handle(event, attempt=1)

    assert (_only(world).index_position, len(_only(world).passages)) == (1, 1)


@pytest.mark.req("EV-6")
async def test_a_second_delivery_says_the_same_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "service reviews")
    async with _running(world) as service:
        event = await _admit(world, _Ask("service reviews"), _entry(pin))
        await service.gathering.handle(event, attempt=1)
        await service.gathering.handle(event, attempt=2)
        await service.gathering.handle(event, attempt=1)

    assert len(world.gathered) == 1
    assert world.gathered[0].envelope.causationid == "admitted-1"


@pytest.mark.req("EV-7")
@pytest.mark.parametrize(
    ("damage", "error"), [("missing", NotFound), ("altered", Corrupt), ("not a scope", Corrupt)]
)
async def test_altered_inputs_are_refused(
    tmp_path: Path, damage: str, error: type[Exception]
) -> None:
    world = World(tmp_path)
    async with _running(world) as service:
        event = await _admit(world, _Ask("service reviews"))
        data = event.data
        assert isinstance(data, RunAdmitted)
        key = f"{TENANT}/runs/run-1/{data.scope_sha256}"
        match damage:
            case "missing":
                del world.blobs.stored[key]
            case "altered":
                world.blobs.stored[key] += b" "
            case _:
                wrong = await world.blobs.put_run(TENANT, "run-1", b'{"entries":[]}')
                data = data.model_copy(update={"scope_sha256": wrong})
        with pytest.raises(error):
            await service.gathering.handle(replace(event, data=data), attempt=1)

    assert world.gathered == []


async def test_a_search_that_finds_the_index_broken_has_it_built_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "service reviews")
    async with _running(world) as service:
        event = await _admit(world, _Ask("service reviews"), _entry(pin))
        broken = service.indexes.opened[TENANT]
        broken.searcher = Index(SchemaBuilder().build()).searcher()
        with pytest.raises(IndexBroken):
            await service.gathering.handle(event, attempt=1)
        await eventually(lambda: service.indexes.opened.get(TENANT, broken) is not broken)
        await eventually(lambda: service.found("service", pin))
        await service.gathering.handle(event, attempt=2)

    assert len(_only(world).passages) == 1


_PINS = {
    Pin(RevisionRef("source", key, 1), "a" * 64, "b" * 64).number: Pin(
        RevisionRef("source", key, 1), "a" * 64, "b" * 64
    )
    for key in "abcdef"
}
_HITS = st.lists(
    st.builds(
        Hit, st.sampled_from([*_PINS, 7]), st.integers(1, 3), st.just(0), st.integers(1, 900)
    ),
    max_size=60,
)


_WIDE_PINS = {
    Pin(RevisionRef("source", f"s{number}", 1), "a" * 64, "b" * 64).number: Pin(
        RevisionRef("source", f"s{number}", 1), "a" * 64, "b" * 64
    )
    for number in range(16)
}


def _hit(pin: int, ordinal: int, begin: int = 0) -> Hit:
    """Return the hit of a passage that stands in the part of this number."""
    start = (ordinal - 1) * PART_CHARACTERS + begin
    return Hit(pin, ordinal, start, start + 1000)


_WIDE_HITS = st.lists(
    st.builds(
        _hit, st.sampled_from([*_WIDE_PINS]), st.integers(1, 9), st.sampled_from([0, 1000, 3800])
    ),
    max_size=60,
)


@given(hits=_HITS, sources_max=st.integers(1, 12))
def test_the_bound_on_sources_holds_and_the_order_stays(hits: list[Hit], sources_max: int) -> None:
    found = gather_passages(hits, _PINS, sources_max)

    keys = list(dict.fromkeys(one.key for one in found))
    ranked = list(dict.fromkeys(_PINS[hit.pin].ref.key for hit in hits if hit.pin in _PINS))
    assert keys == ranked[:sources_max][: len(keys)]
    assert len(found) <= PASSAGES_MAX
    assert len(keys) <= sources_max


@pytest.mark.req("CL-9")
@given(hits=_WIDE_HITS, sources_max=st.integers(1, 12))
def test_what_is_gathered_never_exceeds_the_bounds_of_a_context(
    hits: list[Hit], sources_max: int
) -> None:
    found = gather_passages(hits, _WIDE_PINS, sources_max)

    assert not is_too_much([(one.key, (one.start, one.end)) for one in found])
    assert bool(found) == bool(hits)


@pytest.mark.req("CL-9")
def test_the_widest_context_is_made_of_the_best_parts() -> None:
    (pin,) = list(_WIDE_PINS)[:1]
    hits = [_hit(pin, ordinal) for ordinal in range(1, CONTEXT_PARTS_MAX + 3)]
    again = [_hit(pin, ordinal, 1000) for ordinal in range(1, 4)]

    found = gather_passages([*hits, *again], _WIDE_PINS, 12)

    starts = [one.start for one in found]
    assert starts == [hit.start for hit in [*hits[:CONTEXT_PARTS_MAX], *again]]


def test_a_long_document_does_not_crowd_out_the_others() -> None:
    long, other = list(_PINS)[:2]
    hits = [Hit(long, 1, n, n + 1) for n in range(40)] + [Hit(other, 1, 0, 1)]

    found = gather_passages(hits, _PINS, 8)
    alone = gather_passages(hits[:40], _PINS, 8)

    assert found[-1].key == _PINS[other].ref.key
    assert len(found) == len(alone) == PASSAGES_MAX


def test_a_hit_that_no_pin_names_is_dropped_even_if_the_engine_returns_it() -> None:
    assert gather_passages([Hit(7, 1, 0, 5)], _PINS, 8) == ()
    assert gather_measures([Hit(7, 1, 0, 0, "total")], _PINS) == ()
    assert len(gather_passages([Hit(next(iter(_PINS)), 1, 0, 5)], _PINS, 8)) == 1


@pytest.mark.req("CR-27")
async def test_a_measure_that_its_asker_may_not_know_of_is_not_found(tmp_path: Path) -> None:
    world = World(tmp_path)
    hiding = await world.dataset("orders", _TOTAL, _TOTAL.model_copy(update={"name": "margin"}))
    entry = _entry(hiding)
    async with _running(world) as service:
        for generation, names in ((1, ("total",)), (2, ())):
            event = await _admit(
                world,
                _Ask("total revenue", "data", generation=generation),
                entry.model_copy(update={"hidden_measures": names}),
            )
            await service.gathering.handle(event, attempt=1)

    found = [event.data for event in world.gathered if isinstance(event.data, RunGathered)]
    assert [sorted(one.name for one in each.measures) for each in found] == [
        ["margin"],
        ["margin", "total"],
    ]


@pytest.mark.req("CR-27")
async def test_measures_out_of_sight_do_not_move_the_others(tmp_path: Path) -> None:
    world = World(tmp_path)
    names = ("revenue", "margin", *(f"revenue {number}" for number in range(4)))
    cards = [_TOTAL.model_copy(update={"name": name, "description": name}) for name in names]
    entry = _entry(await world.dataset("orders", *cards))
    async with _running(world) as service:
        for generation, hidden in ((1, names[2:]), (2, ())):
            event = await _admit(
                world,
                _Ask("revenue margin", "data", generation=generation),
                entry.model_copy(update={"hidden_measures": hidden}),
            )
            await service.gathering.handle(event, attempt=1)

    found = [event.data for event in world.gathered if isinstance(event.data, RunGathered)]
    assert [one.name for one in found[0].measures] == ["revenue", "margin"]
    # Where all are in sight, revenue is no rare word and the card of margin leads.
    assert found[1].measures[0].name == "margin"
