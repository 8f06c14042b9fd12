"""The examination of an installation: clean when it is, and exact about what was damaged."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
from pydantic import SecretStr

from chancery.attest.sealing import Place, ReleaseKey, seal
from chancery.bus.load import Stored, StreamState
from chancery.bus.publish import Outgoing, publish_message
from chancery.events.topology import RELEASES
from chancery.kernel.canonical import Json, sha256_hex
from chancery.kernel.errors import Unavailable
from chancery.release.adapters.fsck_logs import StreamLogs
from chancery.release.adapters.fsck_rows import FsckRows
from chancery.release.app import Depth, examine
from chancery.release.domain.findings import REMEDIES, Report
from chancery.release.handlers.fsck_releases import CheckReleases
from chancery.release.ports.fsck import Logs
from chancery.release.settings import ReleaseSettings
from chancery.store.pool import connect as connect_database
from chancery.testkit.waiting import eventually
from tests.integration.release.lab import Lab
from tests.integration.release.world import TENANT, World

pytestmark = pytest.mark.integration

TEXT = "Service reviews are owned by Mara Lindt.\n"
QUOTE = "Service reviews are owned by Mara Lindt."

FLIP = "set_byte({0}, 0, get_byte({0}, 0) # 1)"
RECORD: Final[tuple[tuple[str, str, str], ...]] = (
    ("receipt_missing", "receipt", "DELETE FROM release.receipt"),
    ("receipt_damaged", "receipt", "UPDATE release.receipt SET body = body || ' '::bytea"),
    (
        "signature_invalid",
        "receipt",
        f"UPDATE release.receipt SET signature = {FLIP.format('signature')}",
    ),
    (
        "receipt_foreign",
        "release",
        "UPDATE release.release SET cut_sequence = cut_sequence + 1",
    ),
    ("release_differs", "release", "UPDATE release.release SET principal = 'bert'"),
    ("run_missing", "run", "DELETE FROM release.run"),
    ("run_differs", "run", "UPDATE release.run SET generation = 2"),
    ("event_row_differs", "run_event", "UPDATE release.run_event SET generation = 2"),
    ("citations_differ", "citation", "DELETE FROM release.citation"),
    ("cards_differ", "card", "DELETE FROM release.card"),
    (
        "read_set_differs",
        "release_read",
        "UPDATE release.release_read SET sequence = sequence + 1 WHERE kind = 'source'",
    ),
    ("content_missing", "content", "DELETE FROM release.content WHERE kind = 'text'"),
    (
        "content_damaged",
        "content",
        f"UPDATE release.content SET ciphertext = {FLIP.format('ciphertext')} WHERE kind = 'cards'",
    ),
    ("key_missing", "release_key", "DELETE FROM release.release_key"),
    (
        "event_row_missing",
        "run_event",
        "DELETE FROM release.run_event WHERE release_id IS NOT NULL",
    ),
)
PROJECTIONS: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "log_recreated",
        "checkpoint",
        "UPDATE release.checkpoint SET stream_created = '2020' WHERE projection = 'index'",
    ),
    (
        "log_regressed",
        "checkpoint",
        "UPDATE release.checkpoint SET sequence = sequence + 9 WHERE projection = 'authority'",
    ),
    (
        "log_different",
        "checkpoint",
        "UPDATE release.checkpoint SET anchor_sha256 = repeat('0', 64) WHERE projection = 'index'",
    ),
    (
        "projection_missing",
        "checkpoint",
        "DELETE FROM release.checkpoint WHERE projection = 'index'",
    ),
    (
        "projection_behind",
        "checkpoint",
        """UPDATE release.checkpoint SET sequence = 1, anchor_sequence = 0, anchor_sha256 = NULL
        WHERE projection = 'index'""",
    ),
    (
        "index_pending_too_long",
        "index_state",
        """UPDATE release.index_state SET entry = entry || '{"state": "pending", "ready": null}'""",
    ),
    (
        "index_unavailable",
        "index_state",
        """UPDATE release.index_state
        SET entry = entry || '{"state": "unavailable", "ready": null}'""",
    ),
    ("index_damaged", "index_state", "UPDATE release.index_state SET entry = '{}'"),
    ("index_missing", "index_state", "DELETE FROM release.index_state"),
    (
        "outbox_stuck",
        "outbox",
        "INSERT INTO release.outbox (event_id, subject, body) VALUES ('e', 'nowhere.x', '{}')",
    ),
)
DEEP: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "digest_differs",
        "checkpoint",
        f"""UPDATE release.checkpoint SET digest = {FLIP.format("digest")}
        WHERE projection = 'authority'""",
    ),
    (
        "row_differs",
        "aggregate",
        "UPDATE release.aggregate SET published = 1 WHERE kind = 'source'",
    ),
    ("row_differs", "aggregate", "UPDATE release.aggregate SET state = '{}' WHERE kind = 'source'"),
    ("row_differs", "aggregate", "DELETE FROM release.aggregate WHERE kind = 'workspace'"),
    (
        "row_differs",
        "index_state",
        """UPDATE release.index_state SET entry = entry || '{"sequence": 1}'""",
    ),
)


@pytest.fixture
async def lab(world: World, nats_url: str, tmp_path: Path) -> Lab:
    """Return an installation with a sealed answer, and everything published."""
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.answer_with((source, QUOTE))
    assert (await world.ended(run_id)).status == "sealed"
    settings = ReleaseSettings(
        nats_url=nats_url,
        postgres_dsn=SecretStr(world.database.dsn("release")),
        blobs_url=f"file://{tmp_path}",
    )
    made = Lab(world, settings, source, run_id)

    async def is_quiet() -> bool:
        async with made.superuser() as db:
            waiting = "SELECT count(*) FROM release.outbox WHERE published_at IS NULL"
            return await db.fetchval(waiting) == 0

    await eventually(is_quiet)
    return made


async def test_a_sound_installation_is_clean(lab: Lab) -> None:
    shallow = await lab.examine()
    deep = await lab.examine(deep=True)

    assert (shallow.codes, deep.codes) == ((), ())
    assert shallow.counts["releases"] == 1
    assert (shallow.counts["serving"], shallow.counts["index_ready"]) == (1, 1)
    assert shallow.counts["blobs"] == deep.counts["blobs_read"] == 3
    assert shallow.counts["cuts_without_release"] == 0
    assert deep.progress > shallow.progress > 0


async def test_each_damage_of_the_record_is_named_and_nothing_else(lab: Lab) -> None:
    for code, table, statement in RECORD:
        found = await lab.damaged(table, statement)
        assert found.codes == (code,), table
        where = found.findings[0]["where"]
        assert isinstance(where, Mapping)
        assert (where["tenant"], where["run_id"]) == (TENANT, lab.run_id)
    assert (await lab.examine()).codes == ()


async def test_each_damage_of_the_projections_is_named_and_nothing_else(lab: Lab) -> None:
    for code, table, statement in PROJECTIONS:
        assert (await lab.damaged(table, statement)).codes == (code,), statement
    assert (await lab.examine()).codes == ()


async def test_only_a_deep_examination_finds_what_the_log_does_not_give(lab: Lab) -> None:
    for code, table, statement in DEEP:
        assert (await lab.damaged(table, statement)).codes == (), statement
        assert (await lab.damaged(table, statement, deep=True)).codes == (code,), statement
    assert (await lab.examine(deep=True)).codes == ()


async def test_content_that_was_sealed_again_does_not_have_its_hash(lab: Lab) -> None:
    async with lab.superuser() as db:
        row = await db.fetchrow("SELECT release_id, key, seed FROM release.release_key")
    assert row is not None
    forged = seal(
        ReleaseKey(row["key"], row["seed"]),
        Place(TENANT, row["release_id"], "text", 0),
        b"Somebody else owns them.",
    )
    statement = f"UPDATE release.content SET ciphertext = '\\x{forged.hex()}' WHERE kind = 'text'"

    assert (await lab.damaged("content", statement)).codes == ("content_differs",)


async def test_a_key_may_be_gone_when_a_source_of_it_was_erased(lab: Lab) -> None:
    statement = "DELETE FROM release.release_key"
    assert (await lab.damaged("release_key", statement)).codes == ("key_missing",)

    erased = b'{"specversion":"1.0","id":"x1","type":"chancery.source.erased.v1","data":{}}'
    outgoing = Outgoing(subject=lab.source.ref.subject(TENANT), payload=erased, message_id="x1")
    sequence = (await publish_message(lab.world.bus, outgoing)).sequence
    await lab.world.parts.authority.position.wait(sequence, timeout_s=30)
    found = await lab.damaged("release_key", statement)

    assert "key_missing" not in found.codes
    assert found.counts["releases_erased"] == 1


def path_of(folder: Path, sha256: str) -> Path:
    """Return the file that holds a blob."""
    (path,) = [each for each in folder.rglob("*") if sha256 in each.name]
    return path


def altered(path: Path) -> bytes:
    """Change a file and return what it held."""
    kept = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(kept + b" ")
    return kept


async def test_a_blob_is_missed_when_it_is_gone_and_found_when_it_was_changed(
    lab: Lab, tmp_path: Path
) -> None:
    sha256 = sha256_hex(lab.source.manifest.to_bytes())
    path = path_of(tmp_path, sha256)
    kept = altered(path)
    changed = await lab.examine(deep=True)
    path.unlink()
    gone = await lab.examine()
    path.write_bytes(kept)

    assert changed.codes == ("blob_damaged",)
    assert gone.codes == ("blob_missing",)
    where = gone.findings[0]["where"]
    assert isinstance(where, Mapping)
    assert (where["blob"], where["sha256"]) == ("manifest", sha256)
    assert (await lab.examine(deep=True)).codes == ()


async def test_a_cut_without_a_release_is_only_counted(lab: Lab) -> None:
    statement = (
        "INSERT INTO release.cut SELECT tenant, table_set, 1, 'another', 1, 1, digest "
        "FROM release.cut"
    )
    found = await lab.damaged("cut", statement)

    assert found.codes == ()
    assert found.counts["cuts_without_release"] == 1


async def test_a_release_that_only_the_log_knows_is_a_finding_and_its_cut_not_harmless(
    lab: Lab,
) -> None:
    found = await lab.damaged("release", "DELETE FROM release.release")

    assert found.codes == ("release_missing",)
    where = found.findings[0]["where"]
    assert isinstance(where, Mapping)
    assert (where["tenant"], where["run_id"]) == (TENANT, lab.run_id)
    assert (found.counts["releases"], found.counts["cuts_without_release"]) == (0, 0)
    assert (await lab.examine()).codes == ()


async def test_what_is_away_is_no_finding(lab: Lab) -> None:
    away = lab.settings.model_copy(update={"nats_url": "nats://127.0.0.1:1"})

    with pytest.raises(Unavailable):
        await examine(away, Depth(), lambda _: None)


@dataclass(frozen=True, slots=True)
class AlteredLog:
    """A log that holds something else, or nothing, in the places that are asked for."""

    inner: Logs
    payload: bytes | None
    stream: str

    async def state(self, stream: str) -> StreamState:
        """Return the true state."""
        return await self.inner.state(stream)

    async def at(self, stream: str, sequence: int) -> Stored | None:
        """Return the altered message, None when there is none."""
        stored = await self.inner.at(stream, sequence)
        if stored is None or stream != self.stream:
            return stored
        return None if self.payload is None else replace(stored, payload=self.payload)

    async def subject(self, stream: str, subject: str, after: int = 0) -> AsyncGenerator[Stored]:
        """Yield the altered messages."""
        async for stored in self.inner.subject(stream, subject, after):
            if stream != self.stream:
                yield stored
            elif self.payload is not None:
                yield replace(stored, payload=self.payload)


@dataclass(frozen=True, slots=True)
class OfAnother:
    """A log whose release events name another receipt."""

    inner: Logs

    async def state(self, stream: str) -> StreamState:
        """Return the true state."""
        return await self.inner.state(stream)

    async def at(self, stream: str, sequence: int) -> Stored | None:
        """Return the true message."""
        return await self.inner.at(stream, sequence)

    async def subject(self, stream: str, subject: str, after: int = 0) -> AsyncIterator[Stored]:
        """Yield messages with another hash of the receipt."""
        async for stored in self.inner.subject(stream, subject, after):
            head, _, tail = stored.payload.partition(b'"receipt_sha256":"')
            changed = head + b'"receipt_sha256":"' + b"0" * 64 + tail[64:]
            yield replace(stored, payload=changed) if tail else stored


async def codes_with(lab: Lab, logs: Logs) -> Sequence[str]:
    """Return what the check of the releases finds on such a log."""
    report = Report()
    async with connect_database(lab.world.database.dsn("release"), name="test") as db:
        await CheckReleases(FsckRows(db), logs).run(report, _silent)
    return [finding.code for finding in report.findings]


async def test_a_log_that_lost_or_changed_what_a_receipt_names_is_found(lab: Lab) -> None:
    logs = StreamLogs(lab.world.bus)

    assert await codes_with(lab, logs) == []
    assert await codes_with(lab, AlteredLog(logs, None, "AUTHORITY")) == ["cut_missing"]
    assert await codes_with(lab, AlteredLog(logs, b"{}", "AUTHORITY")) == ["cut_differs"]
    assert await codes_with(lab, AlteredLog(logs, None, RELEASES)) == ["release_event_missing"]
    assert await codes_with(lab, OfAnother(logs)) == ["release_event_differs"]


def _silent(check: str, done: int, total: int) -> None:
    assert check
    assert 0 <= done <= total


def test_every_code_has_a_positive_control() -> None:
    here = {code for code, _, _ in (*RECORD, *PROJECTIONS, *DEEP)}
    elsewhere = {
        "content_differs",
        "message_differs",
        "blob_missing",
        "blob_damaged",
        "cut_missing",
        "cut_differs",
        "release_event_missing",
        "release_event_differs",
        "release_missing",
        # test_fsck_values.py
        "result_differs",
        "result_blob_missing",
        "result_blob_damaged",
    }

    assert here | elsewhere == set(REMEDIES)


async def test_what_was_found_is_told_when_something_goes_away_meanwhile(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_: CheckReleases, report: Report, *__: object) -> None:
        report.find("receipt_missing", release_id="r1")
        message = "the log is away"
        raise Unavailable(message)

    monkeypatch.setattr(CheckReleases, "run", away)
    lines: list[Mapping[str, Json]] = []

    with pytest.raises(Unavailable, match="the log is away"):
        await examine(lab.settings, Depth(pending_s=600.0), lines.append)

    told = [line for line in lines if line["event"] != "progress"]
    assert [(line["event"], line.get("code")) for line in told] == [("finding", "receipt_missing")]
