"""Items and files in a bundle: each is checked for itself, none stands in for another."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from chancery.evidence.bundle import Bundle
from chancery.evidence.citations import FileCitation, ItemCitation, SourceCitation
from chancery.evidence.receipt import ReceiptCore
from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.verify.report import Report
from chancery.verify.verify import verify_bundle
from tests.unit.verify import mutations, sealed, sealed_knowledge

FULL = sealed_knowledge.bundle()
DOCUMENT = FULL.to_json()


def check(document: Json) -> Report:
    return verify_bundle(canonical_bytes(document), public_key=sealed.KEY.public_key)


@pytest.mark.req("CR-13", "CR-10")
def test_each_domain_is_cited_by_its_own_identity() -> None:
    source, item, file = FULL.citations

    assert isinstance(source, SourceCitation)
    assert isinstance(item, ItemCitation)
    assert isinstance(file, FileCitation)
    assert (item.item_id, item.version, item.version_id) == ("refunds", 2, "version-2")
    assert {"page", "revision", "source_id"}.isdisjoint(item.to_json())
    assert [each.name for each in FULL.receipt.core.sources] == [("source", "currency", 3)]
    assert FULL.receipt.core.items[0].pin.roots == sealed_knowledge.PIN.roots
    assert Bundle.from_bytes(FULL.to_bytes()) == FULL


@pytest.mark.req("CR-14")
def test_an_answer_of_three_domains_is_verified() -> None:
    report = check(DOCUMENT)

    assert (report.verdict, report.exit_code, report.mismatches) == ("verified", 0, ())


@pytest.mark.req("CR-14", "XB-4")
def test_every_changed_leaf_is_a_mismatch_whatever_the_rest_says() -> None:
    tried = 0
    for path, value in mutations.leaves(DOCUMENT):
        for other in mutations.changed_leaf(value):
            tried += 1
            report = check(mutations.replaced(DOCUMENT, path, other))
            expected = 4 if path == ("cut_payload",) and other is None else 1
            assert report.exit_code == expected, path
    assert tried > 300


@pytest.mark.req("CR-14", "CR-13")
@pytest.mark.parametrize("which", ["manifests", "item_manifests", "parts"])
def test_missing_evidence_of_one_domain_is_not_hidden_by_the_others(which: str) -> None:
    carried = DOCUMENT[which]
    assert isinstance(carried, list)

    report = check({**DOCUMENT, which: carried[1:]} if len(carried) > 1 else _without(which))

    assert report.exit_code == 4


@pytest.mark.req("CR-17")
def test_an_item_among_the_sources_satisfies_nothing() -> None:
    receipt = DOCUMENT["receipt"]
    assert isinstance(receipt, Mapping)
    core = receipt["core"]
    assert isinstance(core, Mapping)
    assert ReceiptCore.from_bytes(canonical_bytes(core)) == FULL.receipt.core
    (item,) = FULL.receipt.core.items
    disguised: Mapping[str, Json] = {
        "kind": "item",
        "id": "refunds",
        "key": item.key,
        "revision": 2,
        "content_sha256": item.content_sha256,
        "extraction_sha256": item.extraction_sha256,
        "manifest_sha256": item.manifest_sha256,
    }
    sources = core["sources"]
    assert isinstance(sources, list)
    forged = {name: value for name, value in core.items() if name != "items"}
    document = {
        **DOCUMENT,
        "receipt": {**receipt, "core": {**forged, "sources": [*sources, disguised]}},
    }

    report = check(document)

    assert report.mismatches == ("format",)


def test_a_receipt_without_items_keeps_the_bytes_that_it_had() -> None:
    core = sealed.bundle().receipt.core
    fields = parse_json(core.to_bytes())

    assert isinstance(fields, Mapping)
    assert {"items", "files", "corpus"}.isdisjoint(fields)


def _without(name: str) -> Mapping[str, Json]:
    return {key: value for key, value in DOCUMENT.items() if key != name}
