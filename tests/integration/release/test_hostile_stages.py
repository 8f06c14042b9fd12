"""Retrieval and selectors that lie: they make an answer worse or refused, never leak or lie."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from chancery.authority.names import source_ref
from chancery.bus.publish import Outgoing, publish_message
from chancery.events.codec import encode
from chancery.events.envelope import EventData
from chancery.events.run import (
    ActivityRecorded,
    GatheredPassage,
    ProposedQuote,
    RunAdmitted,
    RunGathered,
    RunProposed,
)
from chancery.events.topology import run_subject
from chancery.kernel.canonical import SAFE_INTEGER_MAX
from chancery.kernel.ids import random_id
from chancery.runtime.delivery import Delivery
from chancery.store.pool import connect as connect_database
from chancery.testkit.waiting import eventually
from tests.integration.release.published import Published
from tests.integration.release.world import TENANT, WORKSPACE, World, event_of, parse

pytestmark = pytest.mark.integration

TEXT = "Reviews are owned by Mara Lindt. The amounts a =\u0338 b are in euro.\n"
QUOTE = "Reviews are owned by Mara Lindt."
SECRET = "Bert is to be dismissed in May.\n"
DELIVERY = Delivery(
    stream="RUNS",
    sequence=1,
    consumer="release-proposed",
    subject="run.acme.r1.proposed",
    attempt=1,
    time=datetime.now(UTC),
    pending=0,
    message_id=None,
)


async def gathered(world: World, source: Published, **changes: object) -> RunAdmitted:
    """Ask, and gather the first part of `source` with these changes to the event."""
    admitted = await world.admitted(await world.ask())
    data = RunGathered(
        run_id=admitted.run_id,
        generation=admitted.generation,
        lease=admitted.lease,
        passages=(source.passage(),),
        index_position=admitted.index_sequence,
    )
    await world.tell(admitted.run_id, "gathered", data.model_copy(update=changes))
    return admitted


def proposal(admitted: RunAdmitted, *selections: ProposedQuote) -> RunProposed:
    return RunProposed(
        run_id=admitted.run_id,
        generation=admitted.generation,
        lease=admitted.lease,
        selector="extractive",
        selections=selections,
    )


async def answer_of(world: World, run_id: str) -> dict[str, JsonValue]:
    return parse((await world.ended(run_id)).json_text)


async def tell_altered(world: World, name: str, data: EventData, **fields: JsonValue) -> None:
    """Publish an event whose data holds what its model refuses."""
    document = json.loads(encode(event_of(data, subject=TENANT)))
    document["data"].update(fields)
    subject = run_subject(TENANT, document["data"]["run_id"], name)
    payload = json.dumps(document).encode()
    await publish_message(
        world.bus, Outgoing(subject=subject, payload=payload, message_id=document["id"])
    )


@pytest.mark.req("KO-2")
@pytest.mark.parametrize(
    "forged",
    ["another source's extraction", "another revision", "a private source", "a foreign tenant's"],
)
async def test_a_gathering_that_names_what_was_not_admitted_refuses_everything(
    world: World, forged: str
) -> None:
    old = await world.publish_source("handbook", "Reviews were owned by Bert.\n")
    source = await world.publish_source("handbook", TEXT)
    private = await world.publish_source("secret", SECRET, visibility="private", declarer="bert")
    honest = source.passage()
    passages: dict[str, GatheredPassage] = {
        "another source's extraction": honest.model_copy(
            update={"extraction_sha256": private.manifest.extraction_sha256}
        ),
        "another revision": old.passage(),
        "a private source": private.passage(),
        "a foreign tenant's": honest.model_copy(update={"key": random_id()}),
    }

    admitted = await gathered(world, source, passages=(honest, passages[forged]))
    await world.propose(admitted, source.quote(QUOTE))

    assert (await answer_of(world, admitted.run_id))["outcome"] == "insufficient_evidence"
    document = await world.document("audit", admitted.run_id)
    assert "Bert" not in document.json_text
    assert private.ref.id not in document.json_text
    control = await gathered(world, source, passages=(honest, honest))
    await world.propose(control, source.quote(QUOTE))
    assert (await world.ended(control.run_id)).status == "sealed"


@pytest.mark.req("KO-2", "KO-3", "CR-18")
async def test_a_selection_that_does_not_stand_up_refuses_the_valid_half_too(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    valid, start = source.quote(QUOTE), TEXT.index("=")
    second = source.quote("euro")
    for code, wrong in (
        ("duplicate_selection", valid),
        ("quote_splits_character", second.model_copy(update={"start": start, "end": start + 1})),
        ("quote_outside_part", second.model_copy(update={"end": 10**9})),
        ("not_admitted", second.model_copy(update={"revision": 2})),
        ("not_admitted", second.model_copy(update={"part_id": random_id()})),
    ):
        admitted = await gathered(world, source)
        await world.propose(admitted, valid, wrong)
        answer = await answer_of(world, admitted.run_id)
        assert answer["outcome"] == "insufficient_evidence"
        assert "Mara" not in str(answer)
        view = parse((await world.document("run", admitted.run_id)).json_text)
        assert view["detail"] == code
    empty = await gathered(world, source)
    await world.propose(empty)
    assert (await answer_of(world, empty.run_id))["outcome"] == "insufficient_evidence"
    control = await gathered(world, source)
    await world.propose(control, valid, second)
    assert (await world.ended(control.run_id)).status == "sealed"


@pytest.mark.req("KO-13")
async def test_leases_and_proposals_of_other_runs_and_generations_are_void(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    admitted, other = await gathered(world, source), await gathered(world, source)
    await world.propose(other, source.quote("euro"))
    await world.ended(other.run_id)
    forged = proposal(admitted, source.quote("euro"))

    for changes in ({"lease": other.lease}, {"generation": 2}, {"run_id": other.run_id}):
        await world.tell(admitted.run_id, "proposed", forged.model_copy(update=changes))
    await world.tell(admitted.run_id, "proposed", proposal(admitted, source.quote(QUOTE)))

    assert QUOTE in str((await answer_of(world, admitted.run_id))["text"])
    assert await world.count("release", admitted.run_id) == 1
    assert await world.count("release", other.run_id) == 1


@pytest.mark.req("KO-13")
async def test_the_first_of_two_different_proposals_is_the_only_one(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    admitted = await gathered(world, source)
    first = event_of(proposal(admitted, source.quote(QUOTE)), subject=admitted.run_id)
    second = event_of(proposal(admitted, source.quote("euro")), subject=admitted.run_id)
    runs = world.parts.seal.runs

    async def kept() -> bool:
        run = await runs.read(TENANT, admitted.run_id)
        assert run is not None
        return await runs.keep_proposed(run, 1, admitted.lease, encode(first))

    assert await eventually(kept)
    await world.parts.seal(second, DELIVERY)
    assert await world.count("release", admitted.run_id) == 0
    await world.parts.seal(first, DELIVERY)

    assert QUOTE in str((await answer_of(world, admitted.run_id))["text"])


@pytest.mark.req("KO-6", "KO-7")
async def test_a_selected_source_decides_even_when_nothing_was_found_in_it(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    await world.publish_source("other", "Nothing of note.\n")
    outcomes: list[JsonValue] = []
    for withdrawn in (False, True):
        run_id = await world.ask(sources=["handbook", "other"])
        admitted = await world.admitted(run_id)
        await world.gather(admitted, source)
        if withdrawn:
            await world.withdraw("other")
        await world.propose(admitted, source.quote(QUOTE))
        document = await world.ended(run_id)
        outcomes.append(parse(document.json_text).get("outcome", document.status))
        if not withdrawn:
            audit = parse((await world.document("audit", run_id)).json_text)
            retrieved = audit["retrieved"]
            assert isinstance(retrieved, list)
            assert source_ref(WORKSPACE, "other").id not in str(retrieved)
            assert len(retrieved) == 1

    assert outcomes == ["sealed", "access_changing"]


@pytest.mark.req("CL-2")
async def test_a_search_position_beyond_the_index_is_not_recorded(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    admitted = await gathered(world, source, index_position=SAFE_INTEGER_MAX)

    await world.propose(admitted, source.quote(QUOTE))

    assert (await world.ended(admitted.run_id)).status == "sealed"
    bundle = parse((await world.document("bundle", admitted.run_id)).json_text)
    receipt = bundle["receipt"]
    assert isinstance(receipt, dict)
    core = receipt["core"]
    assert isinstance(core, dict)
    assert core["index_position"] == await world.folded("index")


async def test_a_number_that_no_json_carries_exactly_ends_the_run(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    admitted = await world.admitted(await world.ask())
    data = RunGathered(
        run_id=admitted.run_id,
        generation=admitted.generation,
        lease=admitted.lease,
        passages=(source.passage(),),
        index_position=0,
    )

    await tell_altered(world, "gathered", data, index_position=2**60)

    assert (await answer_of(world, admitted.run_id))["outcome"] == "unavailable"


async def test_a_selectors_name_carries_no_text_into_the_receipt(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    admitted = await gathered(world, source)

    forged = proposal(admitted, source.quote(QUOTE)).model_copy(update={"selector": SECRET.strip()})
    await world.tell(admitted.run_id, "proposed", forged)

    answer = await answer_of(world, admitted.run_id)
    assert answer["outcome"] == "insufficient_evidence"
    assert "dismissed" not in (await world.document("audit", admitted.run_id)).json_text


async def test_an_activity_carries_neither_text_nor_great_numbers(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    admitted = await gathered(world, source)
    honest = activity(admitted)
    for fields in ({"tool": "bert.dismissed.in.may"}, {"count": 2**52}, {"duration_ms": 2**52}):
        await world.tell(admitted.run_id, "activity", honest.model_copy(update=fields))
    await world.tell(admitted.run_id, "activity", honest)

    async def told() -> list[str]:
        rows = (await world.rows(admitted.run_id)).rows
        return [row.data for row in rows if row.event == "activity"]

    (row,) = await eventually(told)
    assert parse(row)["tool"] == "extractive"
    await world.propose(admitted, source.quote(QUOTE))
    assert (await world.ended(admitted.run_id)).status == "sealed"
    assert len(await told()) == 1


async def test_activity_beyond_a_thousand_rows_is_not_told(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    admitted = await gathered(world, source)
    runs, told = world.parts.seal.runs, list[bool]()
    async with connect_database(world.database.superuser_dsn, name="test") as db:
        await db.execute("UPDATE release.run SET events = 998 WHERE run_id = $1", admitted.run_id)

    for _ in range(3):
        recorded = await runs.record_activity(
            TENANT,
            admitted.run_id,
            generation=1,
            lease=admitted.lease,
            body={},
            event_id=random_id(),
        )
        told.append(recorded)

    assert told == [True, True, False]


def activity(admitted: RunAdmitted) -> ActivityRecorded:
    return ActivityRecorded(
        run_id=admitted.run_id,
        generation=admitted.generation,
        lease=admitted.lease,
        stage="select",
        tool="extractive",
        count=1,
        duration_ms=1,
    )
