"""The same bytes under another media type are other content, and are read in another way."""

from __future__ import annotations

import pytest

from chancery.events.index import RevisionExtracted
from chancery.extract.extraction import Extraction as ReadDocument
from chancery.extract.extraction import extract, extractor_of
from chancery.extract.media import HTML
from chancery.kernel.canonical import sha256_hex
from tests.unit.indexing.world import (
    SOURCE,
    World,
    authority_event,
    declared_source,
    published,
    revision_of,
)

PAGE = b"<p>The town hall opens at nine.</p>"
TEXT = b"The town hall opens at nine."


def read(media_type: str, data: bytes) -> ReadDocument:
    """Read a page as a text without its marks, a plain text as it is."""
    if media_type != HTML:
        return extract(media_type, data)
    return ReadDocument(TEXT.decode(), extractor_of(media_type))


def forms(world: World) -> list[tuple[int, str]]:
    """Return each form that was told of, by revision, as the hash of its text."""
    told = [event.data for _, event in world.index if isinstance(event.data, RevisionExtracted)]
    return [(revision_of(each), each.extraction_sha256) for each in told]


@pytest.mark.req("CL-1")
async def test_a_revision_of_the_same_bytes_has_the_form_of_its_own_media_type() -> None:
    world = World(read=read)
    world.record(declared_source())

    for media_type in ("text/plain", HTML, "text/plain"):
        await world.handle(await world.publish(PAGE, media_type=media_type))

    as_text, as_page = sha256_hex(PAGE), sha256_hex(TEXT)
    assert forms(world) == [(1, as_text), (2, as_page), (3, as_text)]
    assert world.standings() == {1: "excluded", 2: "excluded", 3: "ready"}


@pytest.mark.req("CL-1")
@pytest.mark.parametrize("says", ["text/plain", HTML], ids=["otherwise", "the same"])
async def test_an_event_that_names_another_media_type_than_the_log_is_not_believed(
    says: str,
) -> None:
    world = World(read=read)
    world.record(declared_source())
    await world.publish(PAGE, media_type=HTML)
    sequence, _ = world.authority[-1]
    data = published(SOURCE, 1, sha256_hex(PAGE), says, len(PAGE))

    await world.handle(authority_event(SOURCE, sequence, data))

    assert forms(world) == [(1, sha256_hex(TEXT))]
    assert world.told() == ["pending 1", "extracted 1", "ready 1"]
