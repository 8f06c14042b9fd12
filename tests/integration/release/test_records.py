"""What is recorded stays, implies nothing else, and is never made again from what is there now."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from nats.js.errors import APIError
from pydantic import JsonValue

from chancery.authority.names import policy_ref
from chancery.bus.load import last_sequence, read_subject
from chancery.events.authority import PolicyRevised, RevisionPublished
from chancery.events.topology import AUTHORITY, RELEASES, RUNS, STREAMS
from chancery.release.domain.audits import LIMITS
from chancery.store.pool import connect as connect_database
from chancery.verify.verify import verify_bundle
from tests.integration.release.stage import KEY
from tests.integration.release.test_retry import receipts
from tests.integration.release.test_seal import QUOTE, TEXT
from tests.integration.release.world import TENANT, WORKSPACE, World, parse

pytestmark = pytest.mark.integration

OPEN = {
    "status": "open",
    "sources": [],
    "items": [],
    "files": [],
    "native_reads": [],
    "rlm_tools": [],
    "retrieved": [],
    "limits": list(LIMITS),
}
IMPLIED = ("sealed", "receipt", "signature", "checkpoint", "as_of", "outcome", "cut")


async def audit_of(world: World, run_id: str) -> Mapping[str, JsonValue]:
    return parse((await world.document("audit", run_id)).json_text)


def words_in(audit: Mapping[str, JsonValue]) -> set[str]:
    """Return every name of a field, however deep."""
    found: set[str] = set()
    waiting: list[JsonValue] = [dict(audit)]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            found |= set(each)
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return found


@pytest.mark.req("KO-11", "CR-26")
async def test_without_a_recorded_release_an_audit_implies_none(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.ask()
    admitted = await world.admitted(run_id)
    asked = await audit_of(world, run_id)
    await world.gather(admitted, source)
    await world.propose(admitted, source.quote(QUOTE))
    assert (await world.ended(run_id)).status == "sealed"
    sealed = await audit_of(world, run_id)
    await world.retry(run_id)
    again = await audit_of(world, run_id)

    assert "output_release" in sealed
    for generation, audit in ((1, asked), (2, again)):
        assert audit == {"run_id": run_id, "generation": generation, **OPEN}
        assert not words_in(audit) & set(IMPLIED)
    # The control: with a release these are told.
    assert words_in(sealed) >= {"receipt", "signature", "outcome", "cut"}


async def superuse(world: World, query: str, run_id: str) -> None:
    async with connect_database(world.database.superuser_dsn, name="test") as db:
        await db.execute(query, run_id)


@pytest.mark.req("CR-16", "KO-12")
async def test_an_audit_holds_hashes_and_makes_no_missing_proof_from_what_is_there_now(
    world: World,
) -> None:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.answer_with((source, QUOTE))
    assert (await world.ended(run_id)).status == "sealed"
    first = (await world.document("audit", run_id)).json_text
    used, retrieved = parse(first)["sources"], parse(first)["retrieved"]

    await superuse(world, "UPDATE release.run SET gathered = NULL WHERE run_id = $1", run_id)
    later = await audit_of(world, run_id)

    # Neither the quotation nor the question: only their hashes.
    assert "Mara" not in first
    assert "Who owns" not in first
    assert source.manifest.extraction_sha256 in first
    assert retrieved
    assert later["retrieved"] == []
    assert later["sources"] == used
    assert later["output_release"] == parse(first)["output_release"]


@pytest.mark.req("CR-16")
async def test_an_audit_reads_no_evidence_that_is_there_now(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.answer_with((source, QUOTE))
    assert (await world.ended(run_id)).status == "sealed"
    first = await world.document("audit", run_id)
    reader = type(world.parts.disclosures.bundles.evidence)

    async def gone(*_: object, **__: object) -> None:
        message = "the evidence is gone"
        raise AssertionError(message)

    for name in ("document", "run_blob", "scope", "load"):
        monkeypatch.setattr(reader, name, gone)

    assert await world.document("audit", run_id) == first
    # The control: the bundle does read it.
    with pytest.raises(AssertionError):
        await world.parts.disclosures.bundles.evidence.run_blob(TENANT, run_id, "0" * 64)


async def ends_of(world: World) -> dict[str, int]:
    return {each.name: (await last_sequence(world.bus, each.name)).last for each in STREAMS}


async def subjects_on(world: World, stream: str, after: int) -> set[str]:
    return {
        each.subject async for each in read_subject(world.bus, stream, ">") if each.sequence > after
    }


@pytest.mark.req("CL-16", "KO-10", "CR-24")
async def test_a_sealed_answer_records_no_fact_of_its_own(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    before = await ends_of(world)

    run_id = await world.answer_with((source, QUOTE))
    assert (await world.ended(run_id)).status == "sealed"

    after = await ends_of(world)
    moved = {name for name, last in after.items() if last > before[name]}
    assert {AUTHORITY} <= moved <= {AUTHORITY, RELEASES, RUNS}
    assert await subjects_on(world, AUTHORITY, before[AUTHORITY]) == {f"cut.{TENANT}"}
    # The control: what its owner records does stand on the log.
    await world.publish_source("answer", f"{QUOTE}\n")
    recorded = await subjects_on(world, AUTHORITY, before[AUTHORITY])
    assert world.sources["answer"].ref.subject(TENANT) in recorded


async def history_of(world: World, subject: str) -> list[tuple[int, bytes]]:
    return [
        (each.sequence, each.payload) async for each in read_subject(world.bus, AUTHORITY, subject)
    ]


@pytest.mark.req("KO-19", "KO-14", "KO-12")
async def test_no_policy_rewrites_what_was_published_or_sealed(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.answer_with((source, QUOTE))
    answer = await world.ended(run_id)
    kept, history = (
        await receipts(world, run_id),
        await history_of(world, source.ref.subject(TENANT)),
    )

    for revision in ("2", "3"):
        last = await world.append(
            policy_ref(WORKSPACE),
            PolicyRevised(policy_revision=revision, modes=("rag",), language="de"),
        )
    await world.parts.authority.position.wait(last, timeout_s=30)

    assert await history_of(world, source.ref.subject(TENANT)) == history
    assert await world.document("answer", run_id) == answer
    assert await receipts(world, run_id) == kept
    bundle = (await world.document("bundle", run_id)).json_text.encode()
    assert verify_bundle(bundle, public_key=KEY.public_key).exit_code == 0
    # The control: what is asked from now on is under the new policy.
    requested = await world.post(mode="rag")
    await world.tell(requested.run_id, "requested", requested)
    asked = await world.admitted(requested.run_id)
    assert asked.policy_revision == "3"


@pytest.mark.req("KO-19", "EV-10")
async def test_the_server_removes_nothing_of_the_log(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    subject = source.ref.subject(TENANT)
    history = await history_of(world, subject)
    jetstream = world.bus.jetstream

    with pytest.raises(APIError):
        await jetstream.purge_stream(AUTHORITY, subject=subject)
    with pytest.raises(APIError):
        await jetstream.delete_msg(AUTHORITY, history[0][0])

    assert await history_of(world, subject) == history
    # The control: a stream that is no record of history can be emptied.
    await world.ask()
    assert await jetstream.purge_stream(RUNS)
    assert (await last_sequence(world.bus, RUNS)).first > 1
    assert RevisionPublished.TYPE.encode() in history[-1][1]
