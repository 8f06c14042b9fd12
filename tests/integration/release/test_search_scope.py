"""What a search may cover: today's access, whatever the index still holds."""

from __future__ import annotations

import pytest

from chancery.authority.names import principal_ref, workspace_ref
from chancery.events.authority import MemberRemoved, WorkspaceClosed
from chancery.events.search import SearchScope, SearchScopeOf
from chancery.events.topology import query_subject
from chancery.kernel.errors import NotFound, Rejected
from chancery.release.handlers import searching
from tests.integration.release.world import WORKSPACE, World

pytestmark = pytest.mark.integration

TEXT = "Service reviews are owned by Mara Lindt.\n"


async def scope(
    world: World,
    principal: str,
    *sources: str,
    items: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
) -> SearchScope:
    body = SearchScopeOf(workspace_id=WORKSPACE, sources=sources, items=items, files=files)
    subject = query_subject("release", "search-scope")
    return await world.request(subject, body, SearchScope, who=principal)


def ids(found: SearchScope) -> set[str]:
    return {each.id for each in found.revisions}


@pytest.mark.req("CL-12", "CR-11")
async def test_only_what_the_caller_may_read_is_in_the_scope(world: World) -> None:
    await world.publish_source("open", TEXT)
    await world.publish_source("granted", TEXT, visibility="restricted")
    await world.publish_source("own", TEXT, visibility="private")

    anna, bert = await scope(world, "anna"), await scope(world, "bert")
    narrow = await scope(world, "anna", "own", "own")

    assert ids(anna) == {"open", "granted", "own"}
    assert ids(bert) == {"open"}
    assert ids(narrow) == {"own"}
    assert {each.state for each in anna.revisions} == {"ready"}
    assert all(each.extraction_sha256 and each.manifest_sha256 for each in anna.revisions)


@pytest.mark.req("CL-12")
async def test_an_unreadable_source_is_refused_like_an_unknown_one(world: World) -> None:
    await world.publish_source("own", TEXT, visibility="private")
    await world.publish_source("open", TEXT)

    told: set[tuple[str, str, str | None]] = set()
    for sources in (("own",), ("unknown",), ("open", "own"), ("open", "unknown")):
        with pytest.raises(NotFound) as refused:
            await scope(world, "bert", *sources)
        detail = refused.value.detail.removesuffix(f": {sources[-1]}")
        told.add((refused.value.code, detail, refused.value.field))

    assert told == {("source_not_found", "there is no such source", "sources")}
    assert ids(await scope(world, "anna", "own")) == {"own"}


@pytest.mark.req("CL-12")
async def test_a_withdrawal_empties_the_scope_while_the_index_still_says_ready(
    world: World,
) -> None:
    await world.publish_source("handbook", TEXT)
    before = await scope(world, "bert")
    await world.withdraw("handbook")

    after, named = await scope(world, "bert"), await scope(world, "bert", "handbook")

    assert ids(before) == {"handbook"}
    assert (after.revisions, named.revisions) == ((), ())


@pytest.mark.req("CL-12")
async def test_who_is_no_member_finds_no_workspace(world: World) -> None:
    await world.publish_source("handbook", TEXT)
    await world.append(principal_ref("bert"), MemberRemoved(workspace_id=WORKSPACE))

    with pytest.raises(NotFound) as removed:
        await scope(world, "bert")
    before = ids(await scope(world, "anna"))
    await world.append(workspace_ref(WORKSPACE), WorkspaceClosed())
    with pytest.raises(NotFound) as closed:
        await scope(world, "anna")

    assert before == {"handbook"}
    assert removed.value.code == closed.value.code == "workspace_not_found"


@pytest.mark.req("CL-9")
async def test_too_many_sources_are_refused_and_a_selection_of_them_is_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "REVISIONS_MAX", 1)
    await world.publish_source("one", TEXT)
    fits = ids(await scope(world, "bert"))
    await world.publish_source("two", TEXT)

    with pytest.raises(Rejected) as refused:
        await scope(world, "bert")

    assert fits == {"one"}
    assert (refused.value.code, refused.value.field) == ("scope_too_wide", "sources")
    assert ids(await scope(world, "bert", "two")) == {"two"}
