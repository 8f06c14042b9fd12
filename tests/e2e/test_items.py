"""Curated items over HTTP: exact versions, the evidence that they rest on, complete views."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chancery.client.errors import ProblemError
from chancery.client.http import Ask, Chancery
from chancery.client.knowledge import Draft, Evidence
from chancery.client.replies import WithheldAnswer
from chancery.kernel.canonical import sha256_hex
from tests.e2e.curating import (
    ABOUT_GUIDE,
    ABOUT_LAW,
    GUIDE,
    LAW,
    asking,
    cited,
    item,
    problem,
    refused,
    sealed,
    source,
    whole,
)
from tests.e2e.running import System, command
from tests.e2e.world import World, send

ASK = Ask(question=ABOUT_GUIDE)
BYTES_MAX = 256 * 1024


def place(world: World, path: str) -> str:
    """Return a path below the items of the workspace."""
    return f"/v1/workspaces/{world.id}/items/{path}"


async def known(client: Chancery, world: World, name: str) -> set[int]:
    """Return the status of every read of an item's first version."""
    paths = (name, *(f"{name}/versions/1{end}" for end in ("", "/text", "/manifest")))
    return {(await send(client, "GET", place(world, path))).status_code for path in paths}


@pytest.mark.req("CR-2", "CR-3", "CR-8", "CR-13", "CR-17")
async def test_an_item_is_quoted_as_its_exact_version_and_the_bundle_verifies(
    world: World, tmp_path: Path
) -> None:
    root = await source(world, "law")
    guide = await item(world, "guide", evidence=[root])

    answer = await sealed(world.reader, world, ASK)
    audit = json.loads(json.dumps(await world.reader.audit(answer.run_id)))
    manifest = json.loads(json.dumps(await world.desk.items.manifest("guide", 1)))
    bundle = tmp_path / "bundle.json"
    bundle.write_bytes(await world.reader.bundle(answer.run_id))
    checked = command(["verify", str(bundle), "--json"])

    (citation,) = answer.citations
    assert citation.item_id == "guide"
    assert (citation.version, citation.version_id) == (1, guide.published.version_id)
    assert (citation.source_id, citation.revision, citation.page) == (None, None, None)
    (part,) = [each for each in manifest["parts"] if each["part_id"] == citation.part]
    text = await send(world.reader, "GET", place(world, f"guide/versions/1/parts/{citation.part}"))
    assert sha256_hex(text.content) == part["sha256"]
    assert sha256_hex(answer.statements[0].text.encode()) == citation.sha256
    assert answer.statements[0].text in text.text
    (used,) = audit["items"]
    assert used["pin"]["operation_id"] == guide.published.operation_id
    assert used["pin"]["content_sha256"] == guide.saved.content_sha256
    assert used["pin"] == manifest["pin"]
    assert [each["id"] for each in used["pin"]["roots"]] == ["law"]
    assert used["now"] == {"serving_revision": 1, "available": True}
    assert (audit["sources"], audit["native_reads"]) == ([], [])
    assert checked.returncode == 0, checked.stdout


@pytest.mark.req("CR-2", "CR-3", "KO-10", "CL-13")
async def test_a_newer_draft_changes_no_answer_until_exactly_it_is_published(world: World) -> None:
    await item(world, "guide")
    before = await sealed(world.reader, world, ASK)
    first = await send(world.publisher, "GET", place(world, "guide/versions/1/manifest"))
    newer = Draft(title="Item guide", text="The reading room opens at noon on every weekday.\n")
    saved = await world.desk.items.save_draft("guide", newer)

    meanwhile = await sealed(world.reader, world, ASK)
    still = await whole(world.reader, before.run_id)
    shown = await send(world.reader, "GET", place(world, "guide"))
    publish = place(world, f"guide/drafts/{saved.draft_id}/publish")
    other = await problem(world.publisher, "POST", publish, {"content_sha256": "0" * 64})
    unproven = await problem(
        world.publisher,
        "POST",
        publish,
        {
            "content_sha256": saved.content_sha256,
            "evidence": [{"kind": "source", "id": "nothing", "revision": 1}],
        },
    )
    by_reader = await problem(
        world.reader, "POST", publish, {"content_sha256": saved.content_sha256}
    )
    published = await world.desk.items.publish("guide", saved)
    await world.desk.items.wait_until_ready("guide")
    after = await sealed(world.reader, world, ASK)

    assert meanwhile.citations[0].version == 1
    assert meanwhile.text == before.text
    assert still["status"] == "sealed"
    assert shown.json()["drafts"] == []
    assert (other[0], other[2]) == (409, "content_sha256")
    assert (unproven[0], unproven[2]) == (409, "evidence")
    assert by_reader[:2] == (403, "not_permitted")
    assert published.version == 2
    assert after.citations[0].version == 2
    assert "noon" in after.text
    assert (await whole(world.reader, before.run_id))["status"] == "withheld"
    again = await send(world.publisher, "GET", place(world, "guide/versions/1/manifest"))
    assert again.content == first.content
    assert await world.desk.items.text("guide", 1) == GUIDE


@pytest.mark.req("CR-4", "CR-6", "CR-27")
async def test_an_item_is_there_for_those_only_who_may_read_all_that_it_rests_on(
    world: World,
) -> None:
    name = world.reader_name
    await world.document("plan", LAW, access="restricted")
    await world.desk.grant("sources", "plan", name)
    root = Evidence("source", "plan", 1)
    await item(world, "guide", evidence=[await source(world, "law"), root])

    before = await sealed(world.reader, world, ASK)
    read = await known(world.reader, world, "guide")
    await world.desk.revoke_grant("sources", "plan", name)
    after = await asking(world.reader, world, ASK)

    assert cited(before) == {("item", "guide")}
    assert read == {200}
    assert (await whole(world.reader, before.run_id))["status"] == "withheld"
    assert after.status == "refused"
    assert await refused(world.reader, world, Ask(question=ABOUT_GUIDE, items=["guide"])) == (
        "source_access"
    )
    assert await known(world.reader, world, "guide") == {404}
    assert await world.reader.workspace(world.id).items.all() == ()
    # Who may read all of it still does.
    assert await known(world.publisher, world, "guide") == {200}
    assert cited(await sealed(world.publisher, world, ASK)) == {("item", "guide")}


@pytest.mark.req("CR-4", "CR-27", "KO-9")
async def test_what_may_not_be_read_of_an_item_is_not_told_from_nothing(world: World) -> None:
    await world.document("plan", LAW, access="restricted")
    await item(world, "guide", evidence=[Evidence("source", "plan", 1)])
    await world.desk.items.save_draft("planned", Draft(title="Planned", text="Soon.\n"))
    await item(world, "open")
    ends = ("", *(f"/versions/{n}{end}" for n in (1, 2) for end in ("", "/text", "/manifest")))

    told = {
        name: [await problem(world.reader, "GET", place(world, f"{name}{end}")) for end in ends]
        for name in ("guide", "planned", "nothing")
    }
    beyond = await problem(world.reader, "GET", place(world, "open/versions/2"))

    assert set(told["nothing"]) == {(404, "item_not_found", None)}
    assert told["guide"] == told["planned"] == told["nothing"]
    assert beyond == (404, "revision_not_found", None)
    assert await known(world.reader, world, "open") == {200}
    assert [each.id for each in await world.reader.workspace(world.id).items.all()] == ["open"]


@pytest.mark.req("CR-6", "CL-13")
async def test_withdrawing_an_item_or_what_it_rests_on_withholds_its_answers(world: World) -> None:
    root = await source(world, "law")
    await item(world, "guide", evidence=[root])
    await item(world, "free", "The swimming pool opens at six in the evening.\n")
    guide = Ask(question=ABOUT_GUIDE, items=["guide"])
    on_root = await sealed(world.reader, world, guide)
    free = Ask(question="When does the swimming pool open?")
    on_item = await sealed(world.reader, world, free)

    newer = await world.desk.publish_text("law", "# Hours\n\nThe town hall opens at eight.\n")
    await world.desk.wait_until_ready("law", newer.revision)
    as_before = await whole(world.reader, on_root.run_id)
    usable = await world.reader.workspace(world.id).items.all()
    await world.desk.withdraw("sources", "law")
    await world.desk.withdraw("items", "free")
    unusable = await world.reader.workspace(world.id).items.all()

    assert [(each.usable, each.reason) for each in usable] == [(True, None)] * 2
    told = {each.id: (each.usable, each.reason) for each in unusable}
    assert told == {"free": (False, "withdrawn"), "guide": (False, "evidence_withdrawn")}
    # Who may still read the evidence is told so, and shown what stands: it is no answer.
    assert await known(world.reader, world, "guide") == {200}
    assert await world.desk.items.text("guide", 1)
    # A newer revision of the evidence does not matter: the version rests on an exact one.
    assert as_before["status"] == "sealed"
    cases = ((on_root, guide, "source_access"), (on_item, free, "insufficient_evidence"))
    for gone, ask, outcome in cases:
        answer = await whole(world.reader, gone.run_id)
        assert set(answer) == {"run_id", "generation", "status", "explanation"}
        assert answer["status"] == "withheld"
        assert await refused(world.reader, world, ask) == outcome
        for view in ("answer", "audit", "bundle", "events"):
            shown = await send(world.reader, "GET", f"/v1/runs/{gone.run_id}/{view}")
            assert shown.status_code == 200
            assert not {"guide", "free", "Item guide", "law"} & set(shown.text.split('"')), view


@pytest.mark.req("CR-4", "CR-6", "CL-12")
async def test_without_membership_or_credential_nothing_of_an_item_is_told(world: World) -> None:
    await item(world, "guide", evidence=[await source(world, "law")])
    issued = await world.operator.issue_credential(world.reader_name)
    second = world.operator.acting_with(issued.token)
    answer = await sealed(second, world, ASK)

    await world.operator.revoke_credential(issued.credential_id)
    revoked = await problem(second, "GET", f"/v1/runs/{answer.run_id}/answer")
    other_credential = await whole(world.reader, answer.run_id)
    await world.operator.workspace(world.id).remove_member(world.reader_name)

    assert revoked[0] == 401
    assert other_credential["status"] == "sealed"
    assert (await whole(world.reader, answer.run_id))["status"] == "withheld"
    assert await known(world.reader, world, "guide") == {404}
    assert await known(world.stranger, world, "guide") == {404}
    assert await known(world.publisher, world, "guide") == {200}


@pytest.mark.req("CR-27")
async def test_a_restricted_item_is_read_with_a_grant_of_its_own(world: World) -> None:
    root = await source(world, "law")
    await item(world, "guide", evidence=[root], visibility="restricted")

    hidden = await known(world.reader, world, "guide")
    unanswered = await refused(world.reader, world, ASK)
    await world.desk.grant("items", "guide", world.reader_name)
    answer = await sealed(world.reader, world, ASK)
    shown = await known(world.reader, world, "guide")
    await world.desk.revoke_grant("items", "guide", world.reader_name)

    assert (hidden, unanswered) == ({404}, "insufficient_evidence")
    assert (shown, cited(answer)) == ({200}, {("item", "guide")})
    assert (await whole(world.reader, answer.run_id))["status"] == "withheld"
    assert await known(world.reader, world, "guide") == {404}
    draft = {"title": "x", "kind": "a", "domain": "b", "text": "x"}
    kept = await send(world.publisher, "POST", place(world, "guide/drafts"), json=draft)
    wider = await problem(
        world.publisher, "POST", place(world, "guide/drafts"), draft | {"visibility": "workspace"}
    )
    assert kept.status_code == 201
    assert wider[1:] == ("item_keeps", "visibility")


@pytest.mark.req("CR-8")
async def test_a_body_of_256_kib_is_whole_in_its_parts_and_one_byte_more_is_refused(
    world: World,
) -> None:
    line = "Über Fußböden steht alles in diesem langen Text, Zeile für Zeile.\n"
    body = line * (BYTES_MAX // len(line.encode()))
    body += "." * (BYTES_MAX - len(body.encode()))
    long = await item(world, "long", body)
    draft = {"title": "Long", "kind": "a", "domain": "b", "text": body + "."}

    manifest = json.loads(json.dumps(await world.desk.items.manifest("long", 1)))
    answer = await problem(world.publisher, "POST", place(world, "long/drafts"), draft)
    parts = [
        (await send(world.reader, "GET", place(world, f"long/versions/1/parts/{each['part_id']}")))
        for each in manifest["parts"]
    ]

    assert answer == (413, "body_too_large", "text")
    assert (manifest["body_bytes"], manifest["length"]) == (BYTES_MAX, len(body))
    assert manifest["body_sha256"] == long.saved.content_sha256 == sha256_hex(body.encode())
    assert "".join(each.text for each in parts) == body == await world.desk.items.text("long", 1)
    assert {len(each.text) for each in parts[:-1]} == {4800}
    assert [sha256_hex(each.content) for each in parts] == [
        each["sha256"] for each in manifest["parts"]
    ]
    ends = [(each["ordinal"], each["start"], each["end"]) for each in manifest["parts"]]
    assert ends == [
        (number, 4800 * (number - 1), min(4800 * number, len(body)))
        for number in range(1, len(parts) + 1)
    ]
    assert "page" not in json.dumps(manifest)
    missing = await problem(world.reader, "GET", place(world, "long/versions/1/parts/nothing"))
    assert missing[:2] == (404, "part_not_found")


@pytest.mark.req("CR-10", "CR-17", "CR-11")
async def test_a_source_and_an_item_of_one_id_stay_two_things(world: World) -> None:
    await source(world, "guide")
    await item(world, "guide")
    both = Ask(question="What opens in the morning, the town hall and the reading room?")

    by_source = await sealed(world.reader, world, Ask(question=ABOUT_LAW, sources=["guide"]))
    by_item = await sealed(world.reader, world, Ask(question=ABOUT_GUIDE, items=["guide"]))
    crossed = Ask(question=ABOUT_GUIDE, sources=["guide"])
    outside = await refused(world.reader, world, crossed)
    mixed = await sealed(world.reader, world, both)
    await world.desk.withdraw("sources", "guide")

    assert cited(by_source) == {("source", "guide")}
    assert cited(by_item) == {("item", "guide")}
    assert outside == "insufficient_evidence"
    assert cited(mixed) == {("source", "guide"), ("item", "guide")}
    assert (await whole(world.reader, by_source.run_id))["status"] == "withheld"
    assert (await whole(world.reader, by_item.run_id))["status"] == "sealed"
    assert cited(await sealed(world.reader, world, ASK)) == {("item", "guide")}
    only = Ask(question=ABOUT_GUIDE, sources=["guide"])
    assert await refused(world.reader, world, only) == "source_access"


@pytest.mark.req("CR-14", "CR-6")
@pytest.mark.parametrize("gone", ["items", "sources"])
async def test_what_is_valid_of_a_mixed_answer_hides_nothing_that_is_not(
    world: World, gone: str
) -> None:
    await source(world, "law")
    await item(world, "guide")
    ask = Ask(question="What opens in the morning, the town hall and the reading room?")
    answer = await sealed(world.reader, world, ask)

    kind, name = ("items", "guide") if gone == "items" else ("sources", "law")
    await send(world.publisher, "POST", f"/v1/workspaces/{world.id}/{kind}/{name}/withdraw")
    after = await world.reader.answer(await world.reader.wait(answer.run_id))
    selected = Ask(question=ask.question, sources=["law"], items=["guide"])

    assert cited(answer) == {("source", "law"), ("item", "guide")}
    assert isinstance(after, WithheldAnswer)
    assert await refused(world.reader, world, selected) == "source_access"


@pytest.mark.req("CR-4", "CR-7")
async def test_evidence_has_to_be_a_published_revision_that_the_curator_reads(
    world: World,
) -> None:
    await world.document("law", LAW)
    draft = Draft(title="x", text="x")
    good = Evidence("source", "law", 1)
    await world.document("other", LAW)
    wrong = (
        Evidence("source", "other", 2),
        Evidence("source", "nothing", 1),
        Evidence("dataset", "law", 1),
    )
    found: list[tuple[int, str | None]] = []
    for each in wrong:
        body = draft.body() | {"evidence": [good.body(), each.body()]}
        status, _, field = await problem(
            world.publisher, "POST", place(world, "guide/drafts"), body
        )
        found.append((status, field))

    assert found == [(404, "evidence.1")] * 3
    with pytest.raises(ProblemError):
        await world.reader.workspace(world.id).items.save_draft("guide", draft)
    assert (await world.desk.items.save_draft("guide", draft)).changed


@pytest.mark.req("CR-2", "KO-10")
def test_the_command_line_publishes_an_item_and_shows_it(system: System, tmp_path: Path) -> None:
    text = tmp_path / "guide.md"
    text.write_text(GUIDE, "utf-8")
    name = f"cli-{tmp_path.name}"[:40].replace("_", "-")
    env = system.environment
    made = command(["workspace", "create", name], env)
    draft = command(["item", "publish", "guide", str(text), "-w", name, "--draft"], env)
    nothing = command(["ask", ABOUT_GUIDE, "-w", name], env)
    published = command(
        ["item", "publish", "guide", str(text), "-w", name, "--title", "A guide", "--json"], env
    )
    listed = command(["item", "list", "-w", name], env)
    shown = command(["item", "show", "guide", "-w", name, "--version", "1"], env)
    about = command(["item", "show", "guide", "-w", name], env)
    answered = command(["ask", ABOUT_GUIDE, "-w", name], env)
    again = command(["item", "publish", "guide", str(text), "-w", name, "--tag", "hours"], env)
    grant = command(["grant", "guide", "bruno", "-w", name], env)
    wrong = command(
        ["item", "publish", "guide", str(text), "-w", name, "--evidence", "source:none:1"], env
    )
    withdrawn = command(["item", "withdraw", "guide", "-w", name], env)
    after = command(["item", "list", "-w", name], env)

    assert (made.returncode, draft.returncode) == (0, 0), made.stderr + draft.stderr
    assert nothing.returncode == 1
    assert json.loads(published.stdout)["state"] == "ready", published.stderr
    assert listed.stdout == "guide\t1\tready\tA guide\n"
    assert shown.stdout.rstrip("\n") == GUIDE.rstrip("\n")
    assert "ten in the morning" in answered.stdout
    assert withdrawn.returncode == 0
    assert after.stdout == "guide\t2\twithdrawn\tA guide\n"
    assert about.stdout.startswith("guide  version 1  ready  A guide\nversion 1  by ")
    assert again.stderr == "kept as it was: title; kind article; domain general\n"
    assert "evidence.0" in wrong.stderr
    assert (grant.returncode, "--item a curated item" in grant.stderr) == (1, True)
    assert "--workspace" not in wrong.stderr
