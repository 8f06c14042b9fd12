"""The checks that a cited text is what the published document says, as far as a bundle tells it."""

from __future__ import annotations

from collections.abc import Iterator

from chancery.evidence.bundle import Bundle
from chancery.evidence.knowledge import text_manifest
from chancery.evidence.manifest import RAW_EXTRACTOR, Manifest
from chancery.verify.report import Check, beyond_a_bundle, compared


def extraction_checks(bundle: Bundle) -> Iterator[Check]:
    """Yield one check per cited document: a text that is kept raw has the hash of its bytes.

    What was read out of another form is told to be beyond a bundle, which carries no documents.
    """
    carried = (*bundle.manifests, *(text_manifest(each) for each in bundle.item_manifests))
    for number, manifest in enumerate(carried, start=1):
        yield _check(f"extraction[{number}]", manifest)


def _check(name: str, manifest: Manifest) -> Check:
    if manifest.extractor != RAW_EXTRACTOR:
        told = f"that {manifest.extractor} read the text out of the document takes the document"
        return beyond_a_bundle(name, told)
    is_raw = manifest.extraction_sha256 == manifest.content_sha256
    problems = [] if is_raw else ["the text is not the published bytes that it claims to be"]
    return compared(name, problems, "the text is the published bytes as they are")
