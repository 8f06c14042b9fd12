"""From gathered to proposed on real servers: what is selected, narrowed, repeated and parked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chancery.events.run import ProposedQuote, ProposedValue
from chancery.events.topology import run_subject
from chancery.kernel.canonical import sha256_hex
from chancery.tabular.engine import engine_name
from chancery.testkit.waiting import eventually
from tests.integration.execution.world import (
    HIGHEST,
    TENANT,
    TOTAL,
    Run,
    World,
    event_of,
    measure,
    passage,
)

pytestmark = pytest.mark.integration

TEXT = "# Handbook\n\nTeam Alpha owns the service reviews. The cafeteria opens at nine.\n"
OWNS = "Who owns the service reviews?"


async def asked(world: World, question: str = OWNS) -> Run:
    """Ask a question over the one handbook."""
    entry = await world.document("handbook", TEXT)
    run = await world.admitted(question, entry)
    await world.gathered(run, passage(entry, TEXT))
    return run


def subject(run: Run) -> str:
    """Return the subject of a run's gathering."""
    return run_subject(TENANT, run.data.run_id, "gathered")


@pytest.mark.req("KO-4")
async def test_a_gathered_run_is_proposed_by_ids_and_offsets(world: World) -> None:
    run = await asked(world)

    proposed = await world.proposed(run)

    (quote,) = proposed.selections
    assert isinstance(quote, ProposedQuote)
    assert TEXT[quote.start : quote.end] == "Team Alpha owns the service reviews."
    assert (proposed.selector, proposed.lease) == ("extractive", "lease-1")
    assert [(one.stage, one.count) for one in await world.activities(run)] == [("select", 1)]


@pytest.mark.req("KO-23")
async def test_a_question_about_something_else_proposes_nothing(world: World) -> None:
    run = await asked(world, "What is the capital of France?")

    assert (await world.proposed(run)).selections == ()


@pytest.mark.req("KO-8")
async def test_a_gathering_of_a_void_lease_is_left_alone(world: World) -> None:
    entry = await world.document("handbook", TEXT)
    run = await world.admitted(OWNS, entry)

    await world.gathered(run, passage(entry, TEXT), lease="lease-0")
    control = await asked(world)
    await world.proposed(control)

    assert await world.proposals(run) == []
    await world.gathered(run, passage(entry, TEXT))
    assert (await world.proposed(run)).selections


@pytest.mark.req("CL-12")
async def test_what_is_gathered_outside_the_scope_is_narrowed_away(world: World) -> None:
    mine, text = await world.document("handbook", TEXT), TEXT.replace("Alpha", "Omega")
    foreign = await world.document("foreign", text)
    orders = await world.dataset(TOTAL)
    run = await world.admitted(f"{OWNS} What is the total invoiced amount?", mine)

    await world.gathered(
        run,
        passage(foreign, text),
        passage(mine, TEXT).model_copy(update={"revision": 2}),
        passage(mine, TEXT).model_copy(update={"extraction_sha256": foreign.extraction_sha256}),
        measures=(measure(orders, "total_invoiced"),),
    )
    narrow = await world.proposed(run)
    wide = await world.admitted(f"{OWNS} What is the total invoiced amount?", mine, orders)
    await world.gathered(wide, passage(mine, TEXT), measures=(measure(orders, "total_invoiced"),))

    assert narrow.selections == ()
    assert len((await world.proposed(wide)).selections) == 2


@pytest.mark.req("KO-4", "CR-21")
async def test_two_measures_are_executed_and_their_blobs_stored(world: World) -> None:
    orders = await world.dataset(TOTAL, HIGHEST)
    run = await world.admitted(
        "What is the total invoiced amount, and what is the highest discount granted?", orders
    )

    measures = (measure(orders, "total_invoiced"), measure(orders, "highest_discount"))
    await world.gathered(run, measures=measures)
    values = (await world.proposed(run)).selections

    previews: list[bytes] = []
    for value in values:
        assert isinstance(value, ProposedValue)
        assert value.engine == engine_name()
        for sha256 in (value.query_sha256, value.preview_sha256, value.rows_sha256):
            assert sha256 is not None
            data = await world.blobs.get_run(TENANT, run.data.run_id, sha256, limit=10_000)
            assert sha256_hex(data) == sha256
        previews.append(
            await world.blobs.get_run(TENANT, run.data.run_id, value.preview_sha256, limit=10_000)
        )
    assert [b"4000" in preview for preview in previews] == [True, False]
    assert [b"20" in preview for preview in previews] == [False, True]


@pytest.mark.req("CR-21", "KO-4")
async def test_a_measure_states_a_declared_text_that_no_row_has(world: World) -> None:
    orders = await world.dataset(TOTAL.model_copy(update={"where": {"region": "west"}}))
    run = await world.admitted("What is the total invoiced amount of all orders?", orders)

    await world.gathered(run, measures=(measure(orders, "total_invoiced"),))
    (value,) = (await world.proposed(run)).selections

    assert isinstance(value, ProposedValue)
    preview = await world.blobs.get_run(TENANT, run.data.run_id, value.preview_sha256, limit=9_000)
    assert b"SUM(orders.amount) WHERE orders.region = 'west'" in preview
    assert b'"basis":"declared"' in preview


@pytest.mark.req("CR-27")
async def test_a_measure_over_a_hidden_column_is_left_out(world: World) -> None:
    question = "What is the total invoiced amount, and what is the highest discount granted?"
    orders = await world.dataset(TOTAL, HIGHEST, hidden=("AMOUNT",))
    run = await world.admitted(question, orders)

    measures = (measure(orders, "total_invoiced"), measure(orders, "highest_discount"))
    await world.gathered(run, measures=measures)
    (value,) = (await world.proposed(run)).selections

    assert isinstance(value, ProposedValue)
    query = await world.blobs.get_run(TENANT, run.data.run_id, value.query_sha256, limit=10_000)
    assert b"discount" in query
    assert b"amount" not in query


@pytest.mark.req("CR-27")
async def test_a_value_is_computed_from_the_allowed_rows_alone(world: World) -> None:
    orders = await world.dataset(TOTAL, filters=(("region", ("north",)),))
    run = await world.admitted("What is the total invoiced amount?", orders)

    await world.gathered(run, measures=(measure(orders, "total_invoiced"),))
    (value,) = (await world.proposed(run)).selections

    assert isinstance(value, ProposedValue)
    assert value.rows_sha256 is not None
    for sha256 in (value.preview_sha256, value.rows_sha256):
        data = await world.blobs.get_run(TENANT, run.data.run_id, sha256, limit=10_000)
        assert b"1250" in data
        assert b"2750" not in data
        assert b"4000" not in data


@pytest.mark.req("EV-6")
async def test_a_gathering_delivered_twice_is_proposed_once(world: World) -> None:
    entry = await world.document("handbook", TEXT)
    run = await world.admitted(OWNS, entry)
    event = await world.gathered(run, passage(entry, TEXT))
    first = await world.proposed(run)

    again = event.envelope.model_copy(update={"time": run.event.envelope.time})
    await world.publish(replace(event, envelope=again), "gathered")
    await world.proposed(await asked(world))

    assert await world.proposals(run) == [first]


async def test_a_gathering_before_its_admission_waits_for_it(world: World) -> None:
    entry = await world.document("handbook", TEXT)
    run = await world.admitted(OWNS, entry, publish_it=False)
    await world.gathered(run, passage(entry, TEXT))
    await world.proposed(await asked(world))
    before = await world.proposals(run)

    await world.publish(run.event, "admitted")

    assert before == []
    assert (await world.proposed(run)).selections


@pytest.mark.req("EV-7")
@pytest.mark.parametrize("lost", ["question", "scope", "text"])
async def test_a_run_whose_blob_is_gone_is_parked_and_the_next_one_proposed(
    world: World, lost: str
) -> None:
    entry = await world.document("handbook", TEXT)
    other = await world.document("other", f"{TEXT}\nMore.\n")
    run = await world.admitted(OWNS, other)
    run_id = run.data.run_id
    match lost:
        case "question":
            await world.blobs.delete(TENANT, run.data.question_sha256, run=run_id)
        case "scope":
            await world.blobs.delete(TENANT, run.data.scope_sha256, run=run_id)
        case _:
            await world.blobs.delete(TENANT, other.content_sha256)

    await world.gathered(run, passage(other, f"{TEXT}\nMore.\n"))
    parked = await eventually(world.parked)
    next_run = await world.admitted(OWNS, entry)
    await world.gathered(next_run, passage(entry, TEXT))

    assert parked == {subject(run): "blob_not_found"}
    assert (await world.proposed(next_run)).selections
    assert await world.proposals(run) == []


@pytest.mark.req("EV-7")
async def test_a_scope_that_is_no_scope_is_parked_at_once(world: World) -> None:
    run = await world.admitted(OWNS, publish_it=False)
    poison = await world.blobs.put_run(TENANT, run.data.run_id, b'{"entries": "all"}')
    data = run.data.model_copy(update={"scope_sha256": poison})
    await world.publish(event_of(data, data.run_id), "admitted")

    await world.gathered(Run(data, run.event))
    parked = await eventually(world.parked)
    await world.proposed(await asked(world))

    assert list(parked) == [subject(run)]
    assert parked[subject(run)] not in {"retries_exhausted", "internal"}
