"""Is the cited text what was published: told of what is kept raw, left open of everything else."""

from __future__ import annotations

import pytest

from chancery.evidence.bundle import Bundle
from chancery.evidence.manifest import Manifest
from chancery.kernel.canonical import Json, sha256_hex
from chancery.verify.extractions import extraction_checks
from chancery.verify.report import Report, verified
from chancery.verify.verify import verify_bundle
from tests.unit.verify import sealed, sealed_knowledge

FULL = sealed.bundle()


def _with_first(bundle: Bundle, **changed: Json) -> Bundle:
    """Return the bundle with another first manifest; nothing else is made to fit."""
    first, *others = bundle.manifests
    moved = Manifest.model_validate({**dict(first), **changed})
    return bundle.model_copy(update={"manifests": (moved, *others)})


@pytest.mark.req("XB-5", "KO-26")
def test_each_cited_text_that_is_kept_raw_is_verified() -> None:
    for bundle in (FULL, sealed_knowledge.bundle()):
        carried = len(bundle.manifests) + len(bundle.item_manifests)
        found = {each.name: each.verdict for each in extraction_checks(bundle)}

        assert found == {f"extraction[{n}]": "verified" for n in range(1, carried + 1)}
        assert carried > 1


@pytest.mark.req("KO-26")
def test_a_raw_text_that_is_not_the_published_bytes_does_not_match() -> None:
    forged = _with_first(FULL, content_sha256=sha256_hex(b"what was really published"))

    report = Report(tuple(extraction_checks(forged)))

    assert report.mismatches == ("extraction[1]",)
    assert verify_bundle(forged.to_bytes(), run=sealed.run_in_python).exit_code == 1


@pytest.mark.req("XB-5")
def test_a_text_that_was_read_out_of_a_document_is_left_open() -> None:
    parsed = _with_first(FULL, content_sha256=sha256_hex(b"%PDF"), extractor="pdf/1+pypdfium2-5")

    first, *others = extraction_checks(parsed)

    assert (first.verdict, first.inherent) == ("uncheckable", True)
    assert "pdf/1+pypdfium2-5" in first.detail
    assert Report((verified("all else", ""), first, *others)).exit_code == 0
