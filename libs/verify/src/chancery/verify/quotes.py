"""The checks of quotations: each against its part, each part against its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chancery.evidence.answer import QuoteCitation, Statement
from chancery.evidence.bundle import Bundle, CitedPart
from chancery.evidence.manifest import Manifest
from chancery.evidence.quote import quote_of_part
from chancery.evidence.receipt import SourceReference
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import ChanceryError
from chancery.verify.report import Check, compared, mismatch, uncheckable, verified


@dataclass(frozen=True, slots=True)
class _Carried:
    manifests: Mapping[tuple[str, int], Manifest]
    parts: Mapping[str, CitedPart]


def manifest_check(bundle: Bundle) -> Check:
    """Return the check that the manifests are those of the cited documents, and no others."""
    wanted = _distinct([_key_of(bundle, citation) for citation in _quotes(bundle)])
    found = [(manifest.key, manifest.revision) for manifest in bundle.manifests]
    if not _is_subsequence(found, wanted):
        return mismatch("manifests", "a manifest is not cited, or is out of order")
    hashes = {(each.key, each.revision): each for each in bundle.receipt.core.sources}
    problems = [
        f"the manifest of {key!r} revision {revision} was altered"
        for (key, revision), manifest in zip(found, bundle.manifests, strict=True)
        if not _is_named(hashes.get((key, revision)), manifest)
    ]
    if not problems and len(found) < len(wanted):
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
        {(manifest.key, manifest.revision): manifest for manifest in bundle.manifests},
        {part.part_id: part for part in bundle.parts},
    )
    rows = zip(bundle.statements, bundle.citations, strict=False)
    for number, (statement, citation) in enumerate(rows, start=1):
        if isinstance(citation, QuoteCitation):
            name = f"quote[{number}]"
            yield _quote_check(name, statement, citation, carried, _key_of(bundle, citation))


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
    if citation.page != manifest.page(citation.start):
        return mismatch(name, "the citation names another page than the manifest")
    try:
        quote = quote_of_part(part, part_text.text, citation.start, citation.end)
    except ChanceryError as error:
        return mismatch(name, error.detail)
    problems = [] if quote == statement.text else ["the quotation is not the cited text"]
    return compared(name, problems, f"byte for byte part {part.ordinal} of the cited revision")


def _quotes(bundle: Bundle) -> list[QuoteCitation]:
    return [each for each in bundle.citations if isinstance(each, QuoteCitation)]


def _key_of(bundle: Bundle, citation: QuoteCitation) -> tuple[str, int]:
    for source in bundle.receipt.core.sources:
        named = (source.kind, source.id, source.revision)
        if named == ("source", citation.source_id, citation.revision):
            return (source.key, source.revision)
    return ("", citation.revision)


def _is_named(reference: SourceReference | None, manifest: Manifest) -> bool:
    return reference is not None and (
        reference.manifest_sha256 == manifest.sha256
        and reference.extraction_sha256 == manifest.extraction_sha256
        and reference.content_sha256 == manifest.content_sha256
    )


def _distinct(items: Sequence[tuple[str, int]] | Sequence[str]) -> list[object]:
    return list(dict.fromkeys(items))


def _is_subsequence(found: Sequence[object], wanted: Sequence[object]) -> bool:
    rest = iter(wanted)
    return all(any(item == candidate for candidate in rest) for item in found)
