"""`fsck --run` on the running system: sealed values against the snapshots that they are of."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chancery.client.http import Ask
from chancery.client.replies import SealedAnswer
from chancery.client.workspace import Table
from chancery.events.authority import ColumnPolicy, RowFilter
from chancery.evidence.bundle import Bundle
from chancery.kernel.canonical import sha256_hex
from tests.e2e.running import System, command
from tests.e2e.test_datasets import TOTAL
from tests.e2e.test_operating import told
from tests.e2e.world import World, send

FIRST = b"id,region,amount,margin\n1,north,1250,5\n2,south,9999,6\n"
APPENDED = b"id,region,amount,margin\n3,north,2750,7\n"
TABLE = Table(
    title="Invoices",
    measures=(TOTAL,),
    columns={"margin": ColumnPolicy(roles=("publisher",))},
    row_filters=(RowFilter(column="region", roles=("reader",), allowed=("north",)),),
)


async def sealed_value(world: World) -> tuple[str, str, str]:
    """Ask for the total; return the run, the value and the hash of the pinned snapshot."""
    question = Ask(question="What is the total invoiced amount?", mode="data")
    handle = await world.reader.ask(world.id, question)
    answer = await world.reader.answer(handle)
    assert isinstance(answer, SealedAnswer)
    bundle = Bundle.from_json_text(await world.reader.bundle(handle.run_id))
    (source,) = bundle.receipt.core.sources
    snapshots = world.publisher.workspace(world.id)
    whole = (await snapshots.snapshot("invoices", source.revision)).extraction_sha256
    part = await world.reader.workspace(world.id).snapshot("invoices", source.revision)
    assert whole is not None
    # Who sees only some of the rows has no hash of the others, but the same name for the same.
    assert whole not in (source.extraction_sha256, part.extraction_sha256)
    return handle.run_id, str(answer.citations[0].value), whole


async def append(world: World, content: bytes) -> None:
    """Append rows as the next snapshot and wait until it serves."""
    path = f"/v1/workspaces/{world.id}/datasets/invoices/snapshots?mode=append"
    headers = {"Content-Type": "text/csv"}
    response = await send(world.publisher, "POST", path, content=content, headers=headers)
    assert (response.status_code, response.json()["snapshot"]) == (201, 2)


@pytest.mark.req("KO-3", "XB-2", "XB-4", "CR-27")
async def test_values_are_checked_on_their_own_snapshot_under_the_readers_policy(
    world: World, system: System
) -> None:
    await world.desk.declare_dataset("invoices", TABLE)
    published = await world.desk.publish_snapshot("invoices", FIRST, "text/csv")
    assert published.state == "ready"
    first = await sealed_value(world)
    await append(world, APPENDED)
    second = await sealed_value(world)

    for run_id, _, _ in (first, second):
        code, found = await asyncio.to_thread(told, ["fsck", "--run", run_id], system.folder)
        assert (code, found["findings"], found["unchecked"]) == (0, [], [])
        assert found["counts"]["results_run_again"] == found["counts"]["results"] == 1
    assert (first[1], second[1]) == ("1250", "4000")
    await asyncio.to_thread(_damage, system.folder, first, second)


def _damage(folder: Path, first: tuple[str, str, str], second: tuple[str, str, str]) -> None:
    """Alter the first snapshot: its run is named, the other passes; then mend it."""
    (path,) = (each for each in (folder / "blobs").rglob("*") if each.name == first[2])
    kept = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(kept.replace(b"north", b"south"))
    assert sha256_hex(path.read_bytes()) != first[2]
    try:
        code, found = told(["fsck", "--run", first[0]], folder)
        shown = command(["fsck", "--run", first[0], "--data-dir", str(folder)])
        other, _ = told(["fsck", "--run", second[0]], folder)
    finally:
        path.write_bytes(kept)
    (finding,) = found["findings"]
    assert (code, other, shown.returncode) == (1, 0, 1)
    assert (finding["code"], finding["where"]["blob"]) == ("result_blob_damaged", "snapshot")
    assert (finding["where"]["run_id"], finding["where"]["result"]) == (first[0], 0)
    assert f"PROBLEM result_blob_damaged: {finding['what']}" in shown.stdout
    assert told(["fsck", "--run", first[0]], folder)[0] == 0


def test_a_run_that_has_no_release_is_refused_as_not_found(system: System) -> None:
    code, found = told(["fsck", "--run", "nobody-asked"], system.folder)
    assert (code, found["error"]["code"]) == (1, "not_found")
