"""What a run may read comes from the pins of its scope, with what tells how it may be quoted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chancery.events.run import Bounds, GatheredPassage, RunAdmitted, RunGathered
from chancery.evidence.manifest import build_manifest
from chancery.evidence.scope import ScopeEntry, build_scope
from chancery.execution.handlers.budget import Budget
from chancery.execution.handlers.cuts import Cuts
from chancery.execution.handlers.material import Budgets, Case, Reading
from chancery.execution.ports import Question
from chancery.kernel.canonical import sha256_hex
from chancery.tabular.jobs import Table, Uncut
from chancery.testkit.blobs import MemoryBlobs

TEXT = "The pump was installed in spring.\n\nIt was replaced in autumn."
SHA256 = sha256_hex(TEXT.encode())
MANIFEST = build_manifest("key", 1, content_sha256="a" * 64, extractor="test/1", text=TEXT)


class NoCutter:
    """Cuts nothing: texts have no policy of columns and rows."""

    async def cut(self, uncut: Uncut, *, bytes_max: int) -> Table:
        """Fail: nothing here is a snapshot."""
        raise AssertionError((uncut, bytes_max))


def case_of(media_type: str, *, extraction_sha256: str = SHA256) -> Case:
    """Return a run whose scope holds the one source."""
    entry = ScopeEntry(
        kind="source",
        key="key",
        id="pumps",
        title="Pumps",
        revision=1,
        content_sha256="a" * 64,
        media_type=media_type,
        extraction_sha256=extraction_sha256,
        manifest_sha256=MANIFEST.sha256,
        state="ready",
    )
    admitted = RunAdmitted(
        run_id="run",
        generation=1,
        lease="lease",
        workspace_id="w",
        principal="ada",
        question_sha256="b" * 64,
        scope_sha256="c" * 64,
        policy_revision="0",
        language="en",
        mode="auto",
        bounds=Bounds(),
        deadline=datetime(2026, 1, 1, tzinfo=UTC),
        barrier=1,
        index_sequence=1,
    )
    return Case("acme", admitted, Question("When?", "en", Bounds()), build_scope((entry,)))


def gathered(key: str = "key") -> RunGathered:
    """Return a gathering of the whole text."""
    passage = GatheredPassage(
        key=key,
        revision=1,
        part_id=MANIFEST.parts[0].part_id,
        start=0,
        end=len(TEXT),
        extraction_sha256=SHA256,
    )
    return RunGathered(
        run_id="run", generation=1, lease="lease", passages=(passage,), index_position=1
    )


async def reading() -> Reading:
    """Return a reading of blobs that hold the text."""
    blobs = MemoryBlobs()
    await blobs.put("acme", TEXT.encode())
    return Reading(blobs, Cuts(NoCutter()))


@pytest.mark.req("KO-24")
@pytest.mark.parametrize(
    ("media_type", "is_paged"), [("application/pdf", True), ("text/markdown", False)]
)
async def test_a_passage_of_a_pdf_is_known_to_come_from_pages(
    media_type: str, is_paged: bool
) -> None:
    async with (await reading()).passages(case_of(media_type), gathered()) as (found,):
        pass

    assert (found.text, found.is_paged) == (TEXT, is_paged)


async def test_a_passage_outside_the_scope_or_of_another_extraction_is_not_read() -> None:
    read = await reading()

    altered = case_of("text/plain", extraction_sha256="d" * 64)
    async with (
        read.passages(case_of("text/plain"), gathered("other")) as outside,
        read.passages(altered, gathered()) as other,
        read.passages(case_of("text/plain"), gathered()) as inside,
    ):
        assert (outside, other, len(inside)) == ((), (), 1)


@pytest.mark.req("KO-3")
async def test_a_text_beyond_what_a_run_may_read_is_left_out() -> None:
    read = await reading()
    size_bytes = len(TEXT.encode())
    fits = Reading(read.blobs, read.cuts, Budgets(texts=Budget(size_bytes, size_bytes)))
    narrow = Reading(read.blobs, read.cuts, Budgets(texts=Budget(size_bytes, size_bytes - 1)))
    case = case_of("text/plain")

    async with fits.passages(case, gathered()) as whole:
        assert fits.budgets.texts.free_bytes == 0
    async with narrow.passages(case, gathered()) as cut:
        assert narrow.budgets.texts.free_bytes == size_bytes

    assert (len(whole), cut) == (1, ())
    assert fits.budgets.texts.free_bytes == size_bytes
