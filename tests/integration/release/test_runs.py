"""Whole runs against the real service: the test plays retrieval and execution over the bus."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import JsonValue

from chancery.authority.names import principal_ref, workspace_ref
from chancery.bus.load import last_message
from chancery.bus.publish import Outgoing, publish_message
from chancery.events.authority import MemberAdded, WorkspaceCreated
from chancery.events.codec import decode
from chancery.events.commands import ConversationCreated, CreateConversation
from chancery.events.envelope import EventData
from chancery.events.release import ReleaseSealed
from chancery.events.run import Bounds, RunCancelled
from chancery.events.topology import RELEASES, RUNS, command_subject, release_subject, run_subject
from chancery.evidence.texts import explanation
from chancery.kernel.errors import Conflict
from chancery.kernel.ids import random_id
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from chancery.verify.verify import verify_bundle
from tests.integration.release.stage import KEY, playing
from tests.integration.release.world import TENANT, WORKSPACE, World, parse

pytestmark = pytest.mark.integration

REVIEWS = "Service reviews are owned by Mara Lindt. The invoices are kept in euro.\n"
QUOTE = "Service reviews are owned by Mara Lindt."


@pytest.mark.req("KO-7")
async def test_a_proposed_quotation_is_sealed_with_its_rows(world: World) -> None:
    source = await world.publish_source("handbook", REVIEWS)

    run_id = await world.answer_with((source, QUOTE))

    document = await world.ended(run_id)
    answer = parse(document.json_text)
    assert document.status == "sealed", answer
    assert f"“{QUOTE}”" in str(answer["text"])
    rows = await world.rows(run_id)
    assert [row.event for row in rows.rows] == [
        "state",
        "state",
        "state",
        "state",
        "sealed",
        "end",
    ]
    assert rows.ended
    frame = parse(rows.rows[4].data)
    assert {**answer, "sequence": 5} == frame


@pytest.mark.req("KO-12")
async def test_the_bundle_of_a_sealed_answer_verifies_offline(world: World) -> None:
    source = await world.publish_source("handbook", REVIEWS)
    run_id = await world.answer_with((source, QUOTE))
    await world.ended(run_id)

    bundle = await world.document("bundle", run_id)

    report = verify_bundle(bundle.json_text.encode(), public_key=KEY.public_key)
    changed = bundle.json_text.replace("Mara Lindt", "Mira Lindt")
    assert (report.exit_code, report.mismatches) == (0, ())
    assert verify_bundle(changed.encode(), public_key=KEY.public_key).exit_code == 1


@pytest.mark.req("KO-2")
async def test_one_altered_quotation_refuses_the_whole_answer(world: World) -> None:
    source = await world.publish_source("handbook", REVIEWS)
    run_id = await world.ask()
    admitted = await world.admitted(run_id)
    await world.gather(admitted, source)
    beyond = source.quote(QUOTE).model_copy(update={"end": len(REVIEWS) + 1})

    await world.propose(admitted, source.quote("in euro"), beyond)

    answer = parse((await world.ended(run_id)).json_text)
    assert answer["outcome"] == "insufficient_evidence"
    assert "euro" not in str(answer)


@pytest.mark.req("KO-2")
async def test_a_quotation_of_a_part_that_was_not_gathered_is_refused(world: World) -> None:
    source = await world.publish_source("handbook", REVIEWS)
    other = await world.publish_source("other", "Nothing of note stands here.\n")
    run_id = await world.ask()
    admitted = await world.admitted(run_id)
    await world.gather(admitted, other)

    await world.propose(admitted, source.quote(QUOTE))

    assert parse((await world.ended(run_id)).json_text)["outcome"] == "insufficient_evidence"


@pytest.mark.req("KO-9", "CL-10", "CL-2")
async def test_an_empty_selection_gets_the_fixed_refusal_with_coverage(world: World) -> None:
    source = await world.publish_source("handbook", REVIEWS)
    run_id = await world.ask()
    admitted = await world.admitted(run_id)
    await world.gather(admitted, source)

    await world.propose(admitted)

    answer = parse((await world.ended(run_id)).json_text)
    assert answer["outcome"] == "insufficient_evidence"
    assert answer["explanation"] == explanation("insufficient_evidence", "en")
    assert answer["coverage"] == {
        "state": "complete",
        "eligible": 1,
        "ready": 1,
        "pending": 0,
        "failed": 0,
        "unavailable": 0,
    }


@pytest.mark.req("KO-9")
async def test_an_unreadable_and_an_unknown_selection_get_the_same_bytes(world: World) -> None:
    await world.publish_source("secret", REVIEWS, visibility="private")
    told: list[dict[str, JsonValue]] = []
    for selected in ("secret", "nowhere"):
        run_id = await world.ask(who="bert", sources=[selected])
        document = await world.ended(run_id, who="bert")
        fields = parse(document.json_text)
        assert fields.pop("run_id") == run_id
        assert fields.pop("reset_context"), "an id of its own, as the run's"
        fields.pop("receipt")
        told.append(fields)

    readable = await world.ask(who="anna", sources=["secret"])

    assert told[0] == told[1]
    assert told[0]["outcome"] == "source_access"
    assert (await world.admitted(readable)).principal == "anna"


async def test_rlm_without_its_prerequisites_has_its_own_refusal(world: World) -> None:
    await world.publish_source("handbook", REVIEWS)
    requested = await world.post(mode="rlm")

    await world.tell(requested.run_id, "requested", requested)

    answer = parse((await world.ended(requested.run_id)).json_text)
    assert answer["outcome"] == "rlm_unsupported"


async def test_a_run_past_its_deadline_ends_refused_and_says_so_on_the_stream(
    world: World,
) -> None:
    await world.publish_source("handbook", REVIEWS)

    run_id = await world.ask(bounds=Bounds(max_duration_s=1))

    answer = parse((await world.ended(run_id)).json_text)
    assert answer["outcome"] == "unavailable"
    stored = await last_message(world.bus, RUNS, run_subject(TENANT, run_id, "expired"))
    assert stored is not None
    view = parse((await world.document("run", run_id)).json_text)
    assert (view["state"], view["detail"]) == ("refused", "deadline")


async def test_a_stage_that_gave_up_ends_the_run_before_its_deadline(world: World) -> None:
    source = await world.publish_source("handbook", REVIEWS)
    run_id = await world.ask()
    admitted = await world.admitted(run_id)
    await world.gather(admitted, source)
    outgoing = Outgoing(
        subject=run_subject(TENANT, run_id, "proposed"), payload=b"{}", message_id=random_id()
    )

    await publish_message(world.bus, outgoing)

    answer = parse((await world.ended(run_id)).json_text)
    assert answer["outcome"] == "unavailable"
    assert parse((await world.document("run", run_id)).json_text)["detail"] == "parked"


async def test_a_cancelled_run_ends_refused_and_later_stages_are_void(world: World) -> None:
    source = await world.publish_source("handbook", REVIEWS)
    run_id = await world.ask()
    admitted = await world.admitted(run_id)
    await world.gather(admitted, source)
    cancelled = RunCancelled(run_id=run_id, credential_id="c-anna")

    await world.tell(run_id, "cancelled", cancelled)
    await world.ended(run_id)
    await world.propose(admitted, source.quote(QUOTE))

    marker = await world.answer_with((source, QUOTE))
    assert (await world.ended(marker)).status == "sealed"
    assert (await world.ended(run_id)).status == "refused"
    assert await world.count("release", run_id) == 1


async def test_nobody_else_can_cancel_a_run(world: World) -> None:
    source = await world.publish_source("handbook", REVIEWS)
    run_id = await world.ask()
    admitted = await world.admitted(run_id)
    cancelled = RunCancelled(run_id=run_id, credential_id="c-bert")

    await world.tell(run_id, "cancelled", cancelled, actor="bert")

    await world.gather(admitted, source)
    await world.propose(admitted, source.quote(QUOTE))
    assert (await world.ended(run_id)).status == "sealed"


@pytest.mark.req("EV-6", "KO-13")
async def test_a_repeated_proposal_seals_nothing_twice(world: World) -> None:
    source = await world.publish_source("handbook", REVIEWS)
    run_id = await world.answer_with((source, QUOTE))
    first = await world.ended(run_id)
    admitted = await world.admitted(run_id)

    await world.gather(admitted, source)
    await world.propose(admitted, source.quote("in euro"))

    marker = await world.answer_with((source, QUOTE))
    await world.ended(marker)
    assert await world.ended(run_id) == first
    assert await world.count("release", run_id) == 1


async def test_a_repeated_request_publishes_the_same_admission(world: World) -> None:
    await world.publish_source("handbook", REVIEWS)
    requested = await world.post()
    await world.tell(requested.run_id, "requested", requested)
    first = await world.admitted(requested.run_id)

    await world.tell(requested.run_id, "requested", requested)

    marker = await world.ask()
    await world.admitted(marker)
    assert await world.admitted(requested.run_id) == first


async def test_a_request_that_differs_from_its_message_is_not_admitted(world: World) -> None:
    await world.publish_source("handbook", REVIEWS)
    requested = await world.post()
    forged = requested.model_copy(update={"credential_id": "c-bert"})

    await world.tell(requested.run_id, "requested", forged)

    answer = parse((await world.ended(requested.run_id)).json_text)
    assert answer["outcome"] == "unavailable"


async def test_runs_asked_at_once_are_each_sealed_once(world: World) -> None:
    source = await world.publish_source("handbook", REVIEWS)

    runs = await asyncio.gather(*(world.answer_with((source, QUOTE)) for _ in range(8)))

    documents = await asyncio.gather(*(world.ended(run_id) for run_id in runs))
    assert [document.status for document in documents] == ["sealed"] * 8
    assert [await world.count("release", run_id) for run_id in runs] == [1] * 8


@pytest.mark.req("KO-7")
async def test_a_sealed_run_is_told_on_the_release_stream(world: World) -> None:
    source = await world.publish_source("handbook", REVIEWS)
    run_id = await world.answer_with((source, QUOTE))
    answer = parse((await world.ended(run_id)).json_text)

    async def told() -> EventData | None:
        subject = release_subject(TENANT, run_id, "sealed")
        stored = await last_message(world.bus, RELEASES, subject)
        return None if stored is None else decode(stored.payload).data

    data = await eventually(told)
    assert isinstance(data, ReleaseSealed)
    receipt = answer["receipt"]
    assert isinstance(receipt, dict)
    assert data.receipt_sha256 == receipt["receipt_sha256"]


@pytest.mark.req("EV-14")
async def test_the_same_key_with_another_body_is_refused_after_a_restart(
    nats_url: str, database: Database, tmp_path: Path
) -> None:
    subject = command_subject("release", "create-conversation")
    body = CreateConversation(workspace_id=WORKSPACE)
    async with playing(nats_url, database, tmp_path) as world:
        first = await world.request(subject, body, ConversationCreated, key="k1")
    async with playing(nats_url, database, tmp_path, provision=False) as world:
        await world.append(workspace_ref("sales"), WorkspaceCreated(title="Sales", creator="anna"))
        await world.append(principal_ref("anna"), MemberAdded(workspace_id="sales", role="reader"))

        again = await world.request(subject, body, ConversationCreated, key="k1")
        with pytest.raises(Conflict) as refused:
            await world.request(
                subject,
                CreateConversation(workspace_id="sales"),
                ConversationCreated,
                key="k1",
            )

        assert again == first
        assert refused.value.code == "idempotency_key_reused"


async def test_a_restarted_service_seals_a_run_that_was_admitted_before(
    nats_url: str, database: Database, tmp_path: Path
) -> None:
    async with playing(nats_url, database, tmp_path) as world:
        source = await world.publish_source("handbook", REVIEWS)
        run_id = await world.ask()
        admitted = await world.admitted(run_id)
    async with playing(nats_url, database, tmp_path, provision=False) as world:
        await world.gather(admitted, source)
        await world.propose(admitted, source.quote(QUOTE))

        assert (await world.ended(run_id)).status == "sealed"
