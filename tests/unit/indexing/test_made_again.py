"""What is made of the published bytes when a form or its layout is gone, and how often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from chancery.events.authority import DatasetDeclared
from chancery.events.index import RevisionExtracted, RevisionReady
from chancery.evidence.manifest import Manifest
from chancery.extract import extraction as documents
from chancery.extract.extraction import Extraction as ReadDocument
from chancery.extract.extraction import extractor_of
from chancery.extract.refusals import refusal
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.standing import (
    DIFFERS,
    LOST,
    Extracted,
    Form,
    Verdict,
    form_of,
)
from chancery.indexing.domain.tries import Tries
from chancery.indexing.domain.wishes import SlowRevision
from chancery.indexing.handlers.progress import Asking, Cause
from tests.unit.indexing.test_recovering import Shelf
from tests.unit.indexing.test_refreshing import Desk, wish
from tests.unit.indexing.test_slowly import work_slowly
from tests.unit.indexing.world import DATASET, SOURCE, World, declared_dataset, declared_source

Reader = Callable[[str, bytes], ReadDocument]

HTML = "text/html"
PAGE = b"<p>The town hall opens at nine.</p>"
MISSING = f"unavailable 1 {LOST}"
OTHERWISE = f"unavailable 1 {DIFFERS}"


def read(media_type: str, data: bytes) -> ReadDocument:
    """Read a page with a layout."""
    return ReadDocument(
        data.decode().removeprefix("<p>").removesuffix("</p>"),
        extractor_of(media_type),
        layout=b"layout of " + data,
    )


def read_otherwise(media_type: str, data: bytes) -> ReadDocument:
    """Read as a build does that makes another text and layout of the same bytes."""
    return read(media_type, data.upper())


def newer_identity(kind: str) -> str:
    """Name the extractor of a newer build."""
    return f"newer-{kind.partition('/')[2]}/2"


def fail(media_type: str, data: bytes) -> ReadDocument:
    """Fail as a parser does that takes too long."""
    del media_type, data
    raise refusal("timeout")


@pytest.fixture
async def shelf() -> Shelf:
    """Return a page that is ready."""
    world = World(SOURCE, read=read)
    world.record(declared_source())
    await world.handle(await world.publish(PAGE, media_type=HTML))
    assert world.told() == ["pending 1", "extracted 1", "ready 1"]
    return Shelf(Desk(world), dict(world.blobs.stored))


def ready_of(shelf: Shelf) -> RevisionReady:
    found = shelf.world.last(RevisionReady)
    assert isinstance(found, RevisionReady)
    return found


async def layout_of(shelf: Shelf) -> str:
    data = await shelf.world.blobs.get(
        SOURCE.tenant, ready_of(shelf).manifest_sha256, limit=1_000_000
    )
    found = Manifest.from_bytes(data).layout_sha256
    assert found is not None
    return found


async def lose_the_form(shelf: Shelf) -> None:
    """Take the form away, and have that noticed; the published bytes stay."""
    for each in (ready_of(shelf).extraction_sha256, ready_of(shelf).manifest_sha256):
        await shelf.world.blobs.delete(SOURCE.tenant, each)


@pytest.mark.req("CL-1", "CL-6")
async def test_a_form_that_is_made_otherwise_today_is_tried_once_by_each_process_and_says_so(
    shelf: Shelf,
) -> None:
    await lose_the_form(shelf)
    shelf.world.read = read_otherwise
    await shelf.desk.work(wish())
    first, second, before = shelf.process(), shelf.process(), shelf.world.reads

    for _ in range(50):
        await first.look_for_all()
    by_first = shelf.world.reads - before
    for _ in range(50):
        await second.look_for_all()

    assert (by_first, shelf.world.reads - before) == (1, 2)
    assert shelf.world.told()[3:] == [OTHERWISE]


@pytest.mark.req("CL-1", "CL-6")
async def test_one_that_cannot_be_read_today_is_tried_less_and_less_often_and_is_found_at_last(
    shelf: Shelf,
) -> None:
    await lose_the_form(shelf)
    shelf.world.read = fail
    await shelf.desk.work(wish())
    process, before = shelf.process(), shelf.world.reads

    for _ in range(100):
        await process.look_for_all()
    tried = shelf.world.reads - before
    shelf.world.read = read
    for _ in range(100):
        await process.look_for_all()

    assert 4 <= tried <= 7
    assert shelf.world.told()[3:] == [MISSING, "ready 1"]


@pytest.mark.req("CL-1")
async def test_a_form_that_is_back_is_found_at_once_however_often_making_it_was_in_vain(
    shelf: Shelf,
) -> None:
    await lose_the_form(shelf)
    shelf.world.read = read_otherwise
    process = shelf.process()
    await shelf.desk.work(wish())
    for _ in range(10):
        await process.look_for_all()
    shelf.restore()

    await process.look_for_all()

    assert shelf.world.told()[3:] == [OTHERWISE, "ready 1"]


@pytest.mark.req("CL-1", "CL-6")
async def test_another_extractor_makes_a_form_of_its_own_in_place_of_the_lost_one(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lose_the_form(shelf)
    shelf.world.read = read_otherwise
    await shelf.desk.work(wish())
    process = shelf.process()
    await process.look_for_all()
    monkeypatch.setattr(documents, "_identity", newer_identity)

    await process.look_for_all()
    waiting = list(shelf.world.slow)
    await work_slowly(shelf.world)

    assert waiting == [SlowRevision(SOURCE, 1)]
    assert shelf.world.told()[3:] == [OTHERWISE, "pending 1", "extracted 1", "ready 1"]
    made = shelf.world.last(RevisionExtracted)
    assert isinstance(made, RevisionExtracted)
    assert made.extractor == "newer-html/2"


@pytest.mark.req("CL-6")
async def test_a_layout_that_is_gone_is_put_back_by_a_refresh(shelf: Shelf) -> None:
    layout = await layout_of(shelf)
    await shelf.world.blobs.delete(SOURCE.tenant, layout)

    await shelf.desk.work(wish())

    assert await shelf.world.blobs.exists(SOURCE.tenant, layout)
    assert shelf.world.told()[3:] == ["ready 1"]


@pytest.mark.req("CL-1", "CL-6")
async def test_a_form_that_is_back_without_its_layout_gets_it_back_too(shelf: Shelf) -> None:
    layout, ready = await layout_of(shelf), ready_of(shelf)
    shelf.lose()
    await shelf.desk.work(wish())
    shelf.restore(ready.extraction_sha256, ready.manifest_sha256, ready.content_sha256)
    assert not await shelf.world.blobs.exists(SOURCE.tenant, layout)

    await shelf.look()

    assert await shelf.world.blobs.exists(SOURCE.tenant, layout)
    assert shelf.world.told()[3:] == [MISSING, "ready 1"]


@pytest.mark.req("CL-1", "CL-6")
@pytest.mark.parametrize(("reader", "why"), [(fail, LOST), (read_otherwise, DIFFERS)])
async def test_a_text_whose_layout_cannot_be_put_back_serves_without_it_and_that_is_told(
    shelf: Shelf,
    caplog: pytest.LogCaptureFixture,
    reader: Reader,
    why: str,
) -> None:
    await shelf.world.blobs.delete(SOURCE.tenant, await layout_of(shelf))
    shelf.world.read = reader

    await shelf.desk.work(wish())

    assert shelf.world.told()[3:] == ["ready 1"]
    assert [f"without its layout: {why}" in each.message for each in caplog.records] == [True]


@pytest.mark.req("CL-1")
async def test_a_verdict_on_one_form_says_nothing_of_another_revision_or_another_form() -> None:
    world = World(DATASET)
    world.record(declared_dataset())
    await world.handle(await world.publish(b"id,price\n1,2\n", media_type="text/csv"))
    known = form_of(DATASET, world.pages[DATASET].revisions[1])
    assert known is not None
    redeclared = world.record(declared_dataset(types={"price": "VARCHAR"}))
    assert isinstance(world.authority[-1][1], DatasetDeclared)
    await world.handle(redeclared)
    newer = form_of(DATASET, world.pages[DATASET].revisions[1])
    assert newer is not None
    assert newer != known
    before = world.told()
    elsewhere = ResourceRef(DATASET.tenant, DATASET.kind, f"{DATASET.key}x")

    for form in (known, replace(newer, ref=elsewhere), replace(newer, revision=2)):
        await tell(world, Verdict(form, LOST))
    untouched = world.told()
    await tell(world, Verdict(newer, LOST))

    assert untouched == before
    assert world.told() == [*before, MISSING]


def test_what_is_known_of_tries_is_bounded_and_each_form_is_by_itself() -> None:
    tries = Tries(forms_max=2)
    forms = [a_form(extractor=name) for name in "abc"]

    for each in forms:
        tries.give_up(each)

    assert [tries.is_due(each) for each in forms] == [True, False, False]
    assert tries.is_due(a_form(extractor="b", revision=2))
    tries.forget(forms[1])
    assert tries.is_due(forms[1])


def test_the_wait_doubles_up_to_its_bound() -> None:
    tries, form, waits, waited = Tries(), a_form(), list[int](), 0

    for _ in range(5000):
        tries.begin_round()
        if tries.is_due(form):
            waits.append(waited)
            waited = 0
            tries.put_off(form)
        else:
            waited += 1

    assert waits == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024]


def a_form(*, extractor: str = "a", revision: int = 1) -> Form:
    return Form(SOURCE, revision, extractor, Extracted("0" * 64, "1" * 64, 1))


async def tell(world: World, verdict: Verdict) -> None:
    asking = Asking(world.ref, Cause("c", None, None), {}, verdicts=(verdict,))
    await world.publications.announcements.announce(asking)
