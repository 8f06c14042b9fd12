"""An item, its evidence or a file that moves between the cut and the read is never sealed over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from chancery.authority.names import item_ref, principal_ref, source_ref
from chancery.events.authority import (
    GroupJoined,
    GroupLeft,
    RevisionPublished,
    RevisionWithdrawn,
    SourceGranted,
    SourceGrantRevoked,
    VisibilityChanged,
)
from chancery.events.authority_knowledge import (
    FileDeleted,
    ItemGranted,
    ItemGrantRevoked,
    ItemWithdrawn,
)
from chancery.events.run import RunAdmitted
from chancery.kernel.canonical import sha256_hex
from tests.integration.release.curated import (
    ask_about,
    draft_of,
    publish_item,
    upload_file,
    version_of,
)
from tests.integration.release.published import Published
from tests.integration.release.test_moves import GROUP, propose_early
from tests.integration.release.test_seal import TEXT, Latch, outcome_of, propose_with
from tests.integration.release.world import WORKSPACE, World

pytestmark = pytest.mark.integration

ITEM, ROOT = item_ref(WORKSPACE, "glossary"), source_ref(WORKSPACE, "handbook")
BASIS = "The handbook says who owns what.\n"
LATER = f"{TEXT}And more.\n"
REFUSED, SEALED = ("refused", "access_changing"), ("sealed", None)
Move = Callable[[World, Published], Awaitable[int]]


async def gathered(world: World) -> tuple[RunAdmitted, Published, Published]:
    """Play a run of anna, whose group reads an item and its evidence, up to gathered."""
    root = await world.publish_source("handbook", BASIS, visibility="restricted", declarer="bert")
    await world.append(ROOT, SourceGranted(grantee=GROUP))
    await world.append(principal_ref("anna"), GroupJoined(group="staff"))
    item = await publish_item(world, draft_of("glossary", TEXT, root), TEXT)
    await world.append(ITEM, ItemGranted(grantee=GROUP))
    await world.append(ITEM, draft_of("glossary", LATER, root))
    admitted = await world.admitted(await ask_about(world, items=("glossary",)))
    await world.gather(admitted, item)
    return admitted, item, root


async def _superseded(world: World, root: Published) -> int:
    return await world.append(ITEM, version_of(draft_of("glossary", LATER, root), 2))


async def _newer_root(world: World, _: Published) -> int:
    newer = RevisionPublished(
        revision=2, content_sha256=sha256_hex(b"x"), media_type="text/plain", size_bytes=1
    )
    return await world.append(ROOT, newer)


async def _another_draft(world: World, root: Published) -> int:
    return await world.append(ITEM, draft_of("glossary", f"{LATER}Once more.\n", root))


MOVES: dict[str, Move] = {
    "item grant": lambda world, _: world.append(ITEM, ItemGrantRevoked(grantee=GROUP)),
    "item withdrawn": lambda world, _: world.append(ITEM, ItemWithdrawn()),
    "item superseded": _superseded,
    "root grant": lambda world, _: world.append(ROOT, SourceGrantRevoked(grantee=GROUP)),
    "root visibility": lambda world, _: world.append(ROOT, VisibilityChanged(visibility="private")),
    "root withdrawn": lambda world, _: world.append(ROOT, RevisionWithdrawn()),
    "group": lambda world, _: world.append(principal_ref("anna"), GroupLeft(group="staff")),
}
HARMLESS: dict[str, Move] = {"newer root": _newer_root, "another draft": _another_draft}


@pytest.mark.req("CR-4", "CR-5", "CR-6", "CR-15")
@pytest.mark.parametrize("name", sorted(MOVES))
async def test_a_move_between_cut_and_read_is_never_sealed_over(world: World, name: str) -> None:
    admitted, item, root = await gathered(world)
    latch = Latch(real=world.parts.authority.position, then=lambda: MOVES[name](world, root))

    await propose_with(world, latch, admitted, item)

    assert latch.moves == 0
    assert await outcome_of(world, admitted.run_id) == REFUSED
    assert await world.count("release", admitted.run_id) == 1


@pytest.mark.parametrize("name", sorted(MOVES))
async def test_read_before_the_move_the_same_run_would_be_sealed(world: World, name: str) -> None:
    admitted, item, root = await gathered(world)

    await propose_early(world, lambda: MOVES[name](world, root), admitted, item)

    assert await outcome_of(world, admitted.run_id) == SEALED


@pytest.mark.req("CR-2", "CR-4")
@pytest.mark.parametrize("name", sorted(HARMLESS))
async def test_a_newer_root_or_draft_is_cut_again_and_sealed(world: World, name: str) -> None:
    admitted, item, root = await gathered(world)
    latch = Latch(real=world.parts.authority.position, then=lambda: HARMLESS[name](world, root))

    await propose_with(world, latch, admitted, item)

    assert latch.moves == 0
    assert await outcome_of(world, admitted.run_id) == SEALED


@pytest.mark.req("CR-6", "CR-15")
@pytest.mark.parametrize("is_early", [False, True])
async def test_a_file_that_is_deleted_between_cut_and_read_is_never_sealed_over(
    world: World, is_early: bool
) -> None:
    file = await upload_file(world, "file-1", TEXT, owner="anna")
    admitted = await world.admitted(await ask_about(world, files=("file-1",)))
    await world.gather(admitted, file)

    async def delete() -> int:
        return await world.append(file.ref, FileDeleted())

    if is_early:
        await propose_early(world, delete, admitted, file)
    else:
        latch = Latch(real=world.parts.authority.position, then=delete)
        await propose_with(world, latch, admitted, file)

    assert await outcome_of(world, admitted.run_id) == (SEALED if is_early else REFUSED)


@pytest.mark.req("CR-4", "CL-13")
@pytest.mark.parametrize("name", sorted(MOVES))
async def test_a_sealed_answer_is_withheld_after_the_move(world: World, name: str) -> None:
    admitted, item, root = await gathered(world)
    await propose_with(world, world.parts.authority.position, admitted, item)
    before = await world.document("answer", admitted.run_id)

    await MOVES[name](world, root)
    after = await world.document("answer", admitted.run_id)

    assert before.status == "sealed"
    assert after.status == "withheld"
    assert "Mara Lindt" in before.json_text
    assert "Mara Lindt" not in after.json_text
