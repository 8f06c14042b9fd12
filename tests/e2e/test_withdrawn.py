"""What was withdrawn or hidden stays so, whatever is published or declared again without a word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chancery.client.errors import ProblemError
from chancery.client.knowledge import Draft
from chancery.client.workspace import Document, Table
from chancery.testkit.waiting import eventually
from tests.e2e.payroll import HIDDEN, WHOLE, WHOLE_CSV, ask_sql, publish_payroll
from tests.e2e.running import System, command
from tests.e2e.world import World, send

PAGE = "The spare kiln stands in hall seven.\n"
CSV = b"id,hall\n1,7\n"


async def _published(world: World) -> None:
    """Publish a source, a dataset and an item."""
    await world.document("kilns", PAGE)
    await world.desk.declare_dataset("halls", Table(title="Halls"))
    await world.desk.publish_snapshot("halls", CSV)
    draft = await world.desk.items.save_draft("guide", Draft(title="Guide", text=PAGE))
    await world.desk.items.publish("guide", draft)
    await world.desk.items.wait_until_ready("guide")


async def _withdraw(world: World) -> None:
    await world.desk.withdraw("sources", "kilns")
    await world.desk.withdraw("datasets", "halls")
    await world.desk.items.withdraw("guide")


async def _serving(world: World) -> tuple[bool, bool, bool]:
    """Tell of source, dataset and item whether they serve."""
    items = {each.id: each for each in await world.desk.items.all()}
    return (
        not (await world.desk.source("kilns")).withdrawn,
        not (await world.desk.dataset("halls")).withdrawn,
        not items["guide"].withdrawn,
    )


@pytest.mark.req("CR-6", "CR-27", "EV-6")
async def test_publishing_over_http_lets_nothing_withdrawn_serve_unless_it_is_asked_to(
    world: World,
) -> None:
    await _published(world)
    base = f"/v1/workspaces/{world.id}"
    csv = {"Content-Type": "text/csv", "Idempotency-Key": "rows"}
    rows = f"{base}/datasets/halls/snapshots?mode=append"
    appended = await send(world.publisher, "POST", rows, content=b"id,hall\n2,8\n", headers=csv)
    await _withdraw(world)
    draft = await world.desk.items.save_draft("guide", Draft(title="Guide", text=PAGE))
    body = {"content_sha256": draft.content_sha256}
    publish = f"{base}/items/guide/drafts/{draft.draft_id}/publish"
    text = {"content": PAGE, "headers": {"Content-Type": "text/markdown"}}
    table = {"content": CSV, "headers": {"Content-Type": "text/csv"}}
    calls = (
        (f"{base}/sources/kilns/revisions?", text),
        (f"{base}/datasets/halls/snapshots?", table),
        (f"{rows}&", table),
        (f"{publish}?", {"json": body}),
    )

    refused = [await send(world.publisher, "POST", path, **sent) for path, sent in calls]
    together = await world.desk.publish_all([
        Document(source_id="kilns", data=PAGE.encode(), media_type="text/markdown"),
        Document(source_id="other", data=PAGE.encode(), media_type="text/markdown"),
    ])  # fmt: skip
    again = await send(world.publisher, "POST", rows, content=b"id,hall\n2,8\n", headers=csv)
    before = await _serving(world)
    asked = [
        await send(world.publisher, "POST", f"{path}restore=true", **sent) for path, sent in calls
    ]

    told = [(each.status_code, each.json()["code"], each.json()["field"]) for each in refused]
    assert told == [(409, "withdrawn", "restore")] * 4
    assert [each.error and each.error.code for each in together] == ["withdrawn", None]
    # What was withdrawn cannot be queried, whatever became of the first request.
    assert (again.status_code, again.json()["snapshot"]) == (202, appended.json()["snapshot"])
    assert before == (False, False, False)
    assert [each.status_code for each in asked] == [202, 201, 201, 202], [e.text for e in asked]
    assert await _serving(world) == (True, True, True)


@pytest.mark.req("CR-27", "CL-1")
async def test_publishing_a_folder_again_undoes_no_withdrawal(
    system: System, world: World, tmp_path: Path
) -> None:
    (tmp_path / "kilns.md").write_text(PAGE, "utf-8")
    (tmp_path / "open.md").write_text("The kiln is cleaned on Mondays.\n", "utf-8")
    (tmp_path / "halls.csv").write_bytes(CSV)
    token = world.publisher.transport.token
    assert token is not None
    environment = {**system.environment, "CHANCERY_TOKEN": token}
    words = ["publish", str(tmp_path), "-w", world.id]
    first = command([*words, "--json"], environment)
    await world.desk.withdraw("sources", "kilns")
    await world.desk.withdraw("datasets", "halls")

    nightly = command([*words, "--json"], environment)
    shown = command(words, environment)
    withdrawn = [each.withdrawn for each in (await world.desk.source("kilns"),
                                             await world.desk.dataset("halls"))]  # fmt: skip
    asked = command([*words, "--restore", "--json"], environment)

    assert first.returncode == 0, first.stdout
    told = json.loads(nightly.stdout)
    codes = {Path(each["path"]).name: each.get("error", {}).get("code")
             for each in told["published"]}  # fmt: skip
    assert codes == {"kilns.md": "withdrawn", "open.md": None, "halls.csv": "withdrawn"}
    assert (nightly.returncode, told["summary"]["withdrawn"]) == (1, 2)
    assert "(2 withdrawn; with --restore they serve again)" in shown.stderr
    assert withdrawn == [True, True]
    assert asked.returncode == 0, asked.stdout
    assert not (await world.desk.source("kilns")).withdrawn


@pytest.mark.req("CR-27")
async def test_a_title_alone_opens_nothing_of_a_dataset_or_source(world: World) -> None:
    await publish_payroll(world, WHOLE, WHOLE_CSV)
    await world.document("secret", PAGE, access="restricted")
    hidden = f"SELECT {HIDDEN} FROM payroll"

    for name in ("datasets/payroll", "sources/secret"):
        path = f"/v1/workspaces/{world.id}/{name}"
        told = await send(world.publisher, "PUT", path, json={"title": "Renamed"})
        assert told.status_code == 200
    after = await ask_sql(world.reader, world, hidden)
    rows = await ask_sql(world.reader, world, "SELECT id FROM payroll")
    with pytest.raises(ProblemError) as unseen:
        await world.reader.workspace(world.id).source("secret")
    await world.desk.declare_dataset("payroll", Table(title="Open", columns={}, row_filters=()))

    async def is_open() -> bool:
        return (await ask_sql(world.reader, world, hidden))[0] == 200

    assert (await world.desk.dataset("payroll")).title == "Open"
    assert after[0] == 422
    assert json.loads(rows[1])["rows"] == [["1"], ["3"]]
    assert unseen.value.status == 404
    assert await eventually(is_open)
