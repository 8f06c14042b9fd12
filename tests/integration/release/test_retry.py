"""A retry is a generation of its own; what was sealed before stays, and is not the answer now."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import asyncpg
import pytest

from chancery.authority.names import principal_ref
from chancery.bus.load import last_message
from chancery.events.authority import CredentialRevoked, MemberRemoved
from chancery.events.codec import decode
from chancery.events.run import RunCancelled
from chancery.events.topology import RUNS, run_subject
from chancery.kernel.errors import Conflict, Denied, NotFound
from chancery.store.pool import connect as connect_database
from chancery.testkit.waiting import eventually
from tests.integration.release.published import Published
from tests.integration.release.test_seal import DELIVERY
from tests.integration.release.world import TENANT, WORKSPACE, World, event_of, parse

pytestmark = pytest.mark.integration

TEXT = "Service reviews are owned by Mara Lindt. The invoices are kept in euro.\n"
QUOTE = "Service reviews are owned by Mara Lindt."
OTHER = "The invoices are kept in euro."


async def sealed(world: World) -> tuple[Published, str]:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.answer_with((source, QUOTE))
    assert (await world.ended(run_id)).status == "sealed"
    return source, run_id


async def receipts(world: World, run_id: str) -> list[tuple[int, str]]:
    async with connect_database(world.database.superuser_dsn, name="test") as db:
        rows = await db.fetch(
            "SELECT r.generation, p.receipt_sha256 FROM release.release AS r"
            " JOIN release.receipt AS p USING (tenant, release_id)"
            " WHERE r.run_id = $1 ORDER BY r.generation",
            run_id,
        )
    return [(row["generation"], row["receipt_sha256"]) for row in rows]


async def answer_again(world: World, run_id: str, source: Published, quote: str) -> None:
    admitted = await world.admitted(run_id, generation=2)
    await world.gather(admitted, source)
    await world.propose(admitted, source.quote(quote))


@pytest.mark.req("KO-14", "KO-8")
async def test_a_retry_seals_a_generation_of_its_own_and_keeps_the_receipt_before(
    world: World,
) -> None:
    source, run_id = await sealed(world)
    first = await receipts(world, run_id)
    told = await world.rows(run_id)

    retried = await world.retry(run_id)
    open_again = await world.document("answer", run_id)
    await answer_again(world, run_id, source, OTHER)
    answer = await world.ended(run_id)

    both = await receipts(world, run_id)
    assert retried.generation == 2
    assert open_again.status == "open"
    assert both[:1] == first
    assert [generation for generation, _ in both] == [1, 2]
    assert parse(answer.json_text)["generation"] == 2
    assert OTHER in answer.json_text
    assert QUOTE not in answer.json_text
    stale = await world.rows(run_id, after=told.rows[1].number)
    assert all(parse(row.data)["generation"] == 2 for row in stale.rows)
    assert [row.event for row in stale.rows][-2:] == ["sealed", "end"]
    assert stale.rows == (await world.rows(run_id)).rows
    assert stale.ended


@pytest.mark.req("KO-14", "KO-9")
async def test_a_refused_run_can_be_retried(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.ask()
    await world.gather(await world.admitted(run_id), source)
    await world.propose(await world.admitted(run_id))
    assert (await world.ended(run_id)).status == "refused"

    await world.retry(run_id)
    await answer_again(world, run_id, source, QUOTE)

    assert (await world.ended(run_id)).status == "sealed"
    assert [generation for generation, _ in await receipts(world, run_id)] == [1, 2]


@pytest.mark.req("KO-14")
async def test_a_repeated_retry_is_the_same_generation_and_an_open_run_has_none(
    world: World,
) -> None:
    _, run_id = await sealed(world)

    first = await world.retry(run_id, key="again")
    again = await world.retry(run_id, key="again")
    with pytest.raises(Conflict) as caught:
        await world.retry(run_id, key="another")

    assert first == again
    assert caught.value.code == "run_open"


async def test_retries_at_once_begin_one_generation(world: World) -> None:
    _, run_id = await sealed(world)

    outcomes = await asyncio.gather(
        *(world.retry(run_id, key=f"key-{number}") for number in range(5)),
        return_exceptions=True,
    )

    begun = [each for each in outcomes if not isinstance(each, BaseException)]
    assert [each.generation for each in begun] == [2]
    assert sum(isinstance(each, Conflict) for each in outcomes) == 4


@pytest.mark.req("KO-8")
async def test_what_an_earlier_generation_still_says_changes_nothing(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.ask()
    old = await world.admitted(run_id)
    await world.gather(old, source)
    await world.propose(old)
    assert (await world.ended(run_id)).status == "refused"
    await world.retry(run_id)
    new = await world.admitted(run_id, generation=2)

    await world.gather(old, source)
    await world.propose(old, source.quote(QUOTE))
    await world.gather(new, source)
    await world.propose(new, source.quote(OTHER))
    answer = await world.ended(run_id)

    assert OTHER in answer.json_text
    assert QUOTE not in answer.json_text
    assert new.lease != old.lease
    assert new.deadline > old.deadline


@pytest.mark.req("KO-14")
async def test_a_stage_given_up_ends_its_own_generation_only(world: World) -> None:
    source, run_id = await sealed(world)
    subject = run_subject(TENANT, run_id, "gathered")
    old = await last_message(world.bus, RUNS, subject)
    await world.retry(run_id)
    await world.gather(await world.admitted(run_id, generation=2), source)

    async def gathered_again() -> bool:
        found = await last_message(world.bus, RUNS, subject)
        return found is not None and old is not None and found.sequence > old.sequence

    await eventually(gathered_again)
    new = await last_message(world.bus, RUNS, subject)
    assert old is not None
    assert new is not None

    await world.parts.run_clock.give_up(subject, old.payload)
    before = (await world.document("answer", run_id)).status
    await world.parts.run_clock.give_up(subject, new.payload)

    assert before == "open"
    assert (await world.document("answer", run_id)).status == "refused"


@pytest.mark.req("KO-14", "EV-6")
@pytest.mark.parametrize("named", [1, None])
async def test_a_cancellation_of_an_earlier_generation_ends_no_later_one(
    world: World, named: int | None
) -> None:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.ask()
    await world.admitted(run_id)
    data = RunCancelled(run_id=run_id, credential_id="c-anna", generation=named)
    await world.tell(run_id, "cancelled", data)
    assert (await world.ended(run_id)).status == "refused"
    subject = run_subject(TENANT, run_id, "cancelled")
    told = await last_message(world.bus, RUNS, subject)
    assert told is not None
    await world.retry(run_id)
    await world.admitted(run_id, generation=2)
    cancelled = world.parts.stages.cancelled

    await cancelled(decode(told.payload), replace(DELIVERY, sequence=told.sequence))
    before = (await world.document("answer", run_id)).status
    # The control: told of the generation that is open, or behind its request, it does end it.
    meant = event_of(data.model_copy(update={"generation": named and 2}), subject=run_id)
    actor = meant.envelope.model_copy(update={"actor": "anna"})
    later = replace(DELIVERY, sequence=told.sequence + 1_000)
    await cancelled(replace(meant, envelope=actor), later)

    assert before == "open"
    assert (await world.ended(run_id)).status == "refused"
    assert [generation for generation, _ in await receipts(world, run_id)] == [1, 2]
    assert source.revision == 1


@pytest.mark.req("KO-14")
async def test_a_deadline_that_passed_ends_no_generation_begun_since(world: World) -> None:
    await world.publish_source("handbook", TEXT)
    run_id = await world.ask()
    await world.admitted(run_id)
    clock = world.parts.run_clock
    await clock.expire(TENANT, run_id, "deadline", generation=1)
    assert (await world.ended(run_id)).status == "refused"
    await world.retry(run_id)
    await world.admitted(run_id, generation=2)

    # What was read as overdue before the retry is expired after it.
    await clock.expire(TENANT, run_id, "deadline", generation=1)
    before = (await world.document("answer", run_id)).status
    await clock.expire(TENANT, run_id, "deadline", generation=2)

    assert before == "open"
    assert (await world.document("answer", run_id)).status == "refused"


@pytest.mark.req("CL-12", "KO-14")
async def test_only_the_one_who_asked_may_ask_again_and_only_with_access(world: World) -> None:
    _, run_id = await sealed(world)
    with pytest.raises(NotFound):
        await world.retry(run_id, who="bert")
    with pytest.raises(NotFound):
        await world.retry("unknown")

    await world.append(principal_ref("anna"), MemberRemoved(workspace_id=WORKSPACE))
    with pytest.raises(NotFound):
        await world.retry(run_id)
    await world.append(principal_ref("anna"), CredentialRevoked(credential_id="c-anna"))
    with pytest.raises(Denied):
        await world.retry(run_id)

    stored = await last_message(world.bus, RUNS, run_subject(TENANT, run_id, "admitted"))
    assert stored is not None
    assert [generation for generation, _ in await receipts(world, run_id)] == [1]


async def reset_contexts(world: World, run_id: str) -> list[str | None]:
    async with connect_database(world.database.superuser_dsn, name="test") as db:
        rows = await db.fetch(
            "SELECT reset_context FROM release.release WHERE run_id = $1 ORDER BY generation",
            run_id,
        )
    return [row["reset_context"] for row in rows]


@pytest.mark.req("KO-13", "KO-14")
async def test_a_refusal_without_a_model_generation_is_unique_in_its_reset_context(
    world: World,
) -> None:
    source = await world.publish_source("handbook", TEXT)
    requested = await world.post(mode="rlm")
    run_id = requested.run_id
    await world.tell(run_id, "requested", requested)
    first = await world.ended(run_id)
    await world.retry(run_id)

    async def refused_again() -> bool:
        return parse((await world.document("answer", run_id)).json_text)["generation"] == 2

    await eventually(refused_again)
    await world.ended(run_id)
    second = await world.document("answer", run_id)
    contexts = await reset_contexts(world, run_id)

    assert len(set(contexts)) == 2
    assert [parse(each.json_text)["reset_context"] for each in (first, second)] == contexts
    copy = (
        "INSERT INTO release.release (tenant, release_id, run_id, generation, kind, outcome,"
        " workspace_id, principal, cut_sequence, decided_at, language, request, citations, cards,"
        " reset_context) SELECT tenant, $2, run_id, 9, kind, outcome, workspace_id, principal,"
        " cut_sequence, decided_at, language, request, citations, cards, $3"
        " FROM release.release WHERE run_id = $1 AND generation = 1"
    )
    async with connect_database(world.database.dsn("release"), name="test") as db:
        with pytest.raises(asyncpg.UniqueViolationError):
            await db.execute(copy, run_id, "another", contexts[0])
        # The control: in a context of its own it is taken.
        assert await db.execute(copy, run_id, "another", "a-context-of-its-own") == "INSERT 0 1"
    # A refusal of what a selector proposed has a model generation and needs no context.
    proposed = await world.ask()
    await world.gather(await world.admitted(proposed), source)
    await world.propose(await world.admitted(proposed))
    assert "reset_context" not in parse((await world.ended(proposed)).json_text)
    assert await reset_contexts(world, proposed) == [None]
