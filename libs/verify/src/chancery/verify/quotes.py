"""The checks of quotations: each against its part, each part against its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chancery.evidence.answer import Statement
from chancery.evidence.bundle import Bundle, CitedPart
from chancery.evidence.citations import QuoteCitation
from chancery.evidence.knowledge import KnowledgeManifest, text_manifest
from chancery.evidence.manifest import Manifest
from chancery.evidence.quote import quote_of_part
from chancery.evidence.references import ItemReference, Reference
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import ChanceryError
from chancery.verify.report import Check, compared, mismatch, uncheckable, verified

_NOWHERE: Final = ("", 0)


@dataclass(frozen=True, slots=True)
class _Carried:
    manifests: Mapping[tuple[str, int], Manifest]
    parts: Mapping[str, CitedPart]


def manifest_check(bundle: Bundle) -> Check:
    """Return the check that the manifests are those of the cited documents, and no others."""
    keys = _keys(bundle)
    items = {(each.key, each.revision) for each in bundle.receipt.core.items}
    cited = _distinct([keys.get(each.document, _NOWHERE) for each in _quotes(bundle)])
    by_form: tuple[tuple[list[tuple[str, int]], list[object]], ...] = (
        (_names(bundle.manifests), [each for each in cited if each not in items]),
        (_names(bundle.item_manifests), [each for each in cited if each in items]),
    )
    if not all(_is_subsequence(found, wanted) for found, wanted in by_form):
        return mismatch("manifests", "a manifest is not cited, or is out of order")
    references = {(each.key, each.revision): each for each in bundle.receipt.core.references}
    problems = [
        f"the manifest of {name[0]!r} revision {name[1]} was altered"
        for name, manifest in _manifests(bundle).items()
        if not _is_named(references.get(name), manifest)
    ]
    if not problems and any(len(found) < len(wanted) for found, wanted in by_form):
        return uncheckable("manifests", "the manifest of a cited document is not carried")
    return compared("manifests", problems, "the manifests of the cited documents")


def part_check(bundle: Bundle) -> Check:
    """Return the check that the parts are the cited ones, and no others."""
    wanted = _distinct([citation.part for citation in _quotes(bundle)])
    found = [part.part_id for part in bundle.parts]
    if not _is_subsequence(found, wanted):
        return mismatch("parts", "a part is not cited, or is out of order")
    if len(found) < len(wanted):
        return uncheckable("parts", "a cited part is not carried")
    return verified("parts", "exactly the cited parts")


def quote_checks(bundle: Bundle) -> Iterator[Check]:
    """Yield one check per quotation: byte for byte the named place of the named part."""
    carried = _Carried(
        {name: text_manifest(each) for name, each in _manifests(bundle).items()},
        {part.part_id: part for part in bundle.parts},
    )
    keys = _keys(bundle)
    rows = zip(bundle.statements, bundle.citations, strict=False)
    for number, (statement, citation) in enumerate(rows, start=1):
        if isinstance(citation, QuoteCitation):
            name = f"quote[{number}]"
            yield _quote_check(
                name, statement, citation, carried, keys.get(citation.document, _NOWHERE)
            )


def _quote_check(
    name: str,
    statement: Statement,
    citation: QuoteCitation,
    carried: _Carried,
    key: tuple[str, int],
) -> Check:
    if sha256_hex(statement.text.encode()) != citation.sha256:
        return mismatch(name, "the quotation does not have the hash of its citation")
    manifest = carried.manifests.get(key)
    part_text = carried.parts.get(citation.part)
    if manifest is None or part_text is None:
        return uncheckable(name, "the cited part or its manifest is not carried")
    part = manifest.part(citation.part)
    if part is None or part.ordinal != citation.ordinal or part.start != part_text.start:
        return mismatch(name, "the citation names a place that the manifest does not have")
    if citation.begins_on != manifest.page(citation.start):
        return mismatch(name, "the citation names another page than the manifest")
    try:
        quote = quote_of_part(part, part_text.text, citation.start, citation.end)
    except ChanceryError as error:
        return mismatch(name, error.detail)
    problems = [] if quote == statement.text else ["the quotation is not the cited text"]
    return compared(name, problems, f"byte for byte part {part.ordinal} of the cited revision")


def _quotes(bundle: Bundle) -> list[QuoteCitation]:
    return [each for each in bundle.citations if isinstance(each, QuoteCitation)]


def _keys(bundle: Bundle) -> Mapping[tuple[str, str, int], tuple[str, int]]:
    """Return the key and number on the log of everything that the receipt names."""
    return {each.name: (each.key, each.revision) for each in bundle.receipt.core.references}


def _names(
    manifests: Sequence[Manifest] | Sequence[KnowledgeManifest],
) -> list[tuple[str, int]]:
    texts = [text_manifest(each) for each in manifests]
    return [(each.key, each.revision) for each in texts]


def _manifests(bundle: Bundle) -> Mapping[tuple[str, int], Manifest | KnowledgeManifest]:
    texts = zip(_names(bundle.manifests), bundle.manifests, strict=True)
    items = zip(_names(bundle.item_manifests), bundle.item_manifests, strict=True)
    return {**dict(texts), **dict(items)}


def _is_named(reference: Reference | None, manifest: Manifest | KnowledgeManifest) -> bool:
    """Tell whether the receipt names exactly this manifest, as one of an item or of another."""
    if isinstance(manifest, KnowledgeManifest):
        if not isinstance(reference, ItemReference) or reference.pin != manifest.pin:
            return False
    elif reference is None or isinstance(reference, ItemReference):
        return False
    text = text_manifest(manifest)
    return (
        reference.manifest_sha256 == manifest.sha256
        and reference.extraction_sha256 == text.extraction_sha256
        and reference.content_sha256 == text.content_sha256
    )


def _distinct(items: Sequence[tuple[str, int]] | Sequence[str]) -> list[object]:
    return list(dict.fromkeys(items))


def _is_subsequence(found: Sequence[object], wanted: Sequence[object]) -> bool:
    rest = iter(wanted)
    return all(any(item == candidate for candidate in rest) for item in found)
