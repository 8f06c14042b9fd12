"""No place of a bundle can be changed, removed or added without being named."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.kernel.canonical import Json, canonical_bytes, canonical_hash, parse_json
from chancery.verify.report import Report
from chancery.verify.verify import verify_bundle
from tests.unit.verify import mutations, sealed

FULL = sealed.bundle()
DOCUMENT = FULL.to_json()
REFUSED = sealed.refused_bundle().to_json()

NAMED_BY: Mapping[str, frozenset[str]] = {
    "receipt": frozenset({"receipt_hash"}),
    "receipt_sha256": frozenset({"receipt_hash"}),
    "signature": frozenset({"signature", "signing_key"}),
    "salts": frozenset(
        {"cut", "text", "statements", "citations", "cards", "results", "results[0]"}
    ),
    "text": frozenset({"text"}),
    "statements": frozenset({"statements"}),
    "citations": frozenset({"citations"}),
    "cards": frozenset({"cards"}),
    "manifests": frozenset({"manifests"}),
    "parts": frozenset({"parts", "quote[1]", "quote[3]"}),
    "results": frozenset({"results[0]", "results"}),
    "cut_payload": frozenset({"cut"}),
}
"""The check that names a change below each field; `format` names what is no bundle any more."""


def check(document: Json) -> Report:
    data = canonical_bytes(document)
    return verify_bundle(data, public_key=sealed.KEY.public_key, run=sealed.run_in_python)


def assert_named(document: Json, path: mutations.Path) -> None:
    report = check(document)
    names = set(report.mismatches)
    assert report.exit_code == 1, f"{path}: {report.verdict}"
    expected = NAMED_BY.get(str(path[0]) if path else "", frozenset())
    assert names & (expected | {"format"}), f"{path}: named {names}"


@pytest.mark.req("XB-4")
def test_an_untouched_bundle_is_verified() -> None:
    report = check(DOCUMENT)

    assert (report.verdict, report.exit_code, report.mismatches) == ("verified", 0, ())


@pytest.mark.req("XB-4")
@pytest.mark.parametrize("document", [DOCUMENT, REFUSED], ids=["sealed", "refused"])
def test_every_changed_leaf_is_a_named_mismatch(document: Json) -> None:
    tried = 0

    for path, value in mutations.leaves(document):
        for other in mutations.changed_leaf(value):
            tried += 1
            changed = mutations.replaced(document, path, other)
            if path == ("cut_payload",) and other is None:
                assert check(changed).exit_code == 4
                continue
            assert_named(changed, path)

    assert tried > 300


@pytest.mark.req("XB-4")
@pytest.mark.parametrize("document", [DOCUMENT, REFUSED], ids=["sealed", "refused"])
def test_every_added_field_or_item_is_a_named_mismatch(document: Json) -> None:
    for path, container in mutations.containers(document):
        for other in mutations.with_one_more(container):
            assert_named(mutations.replaced(document, path, other), path)


@pytest.mark.req("XB-4", "XB-5")
@pytest.mark.parametrize("document", [DOCUMENT, REFUSED], ids=["sealed", "refused"])
def test_no_removed_field_or_item_leaves_a_verified_bundle(document: Json) -> None:
    for path, container in mutations.containers(document):
        for other in mutations.without_one(container):
            report = check(mutations.replaced(document, path, other))
            missing_evidence = path in {("parts",), ("manifests",)}
            assert report.exit_code == (4 if missing_evidence else 1), path


@pytest.mark.req("XB-4")
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_changed_byte_anywhere_is_never_verified(data: st.DataObject) -> None:
    original = canonical_bytes(DOCUMENT)
    place = data.draw(st.integers(0, len(original) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda value: value != original[place]))
    changed = original[:place] + bytes([other]) + original[place + 1 :]

    report = verify_bundle(changed, run=sealed.run_in_python)

    assert report.verdict == "mismatch"


@pytest.mark.req("XB-4")
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_changed_content_with_a_new_hash_is_still_named(data: st.DataObject) -> None:
    """A forger who repairs the receipt hash is stopped by the signature."""
    receipt_leaves = list(mutations.leaves(DOCUMENT["receipt"], ("receipt",)))
    path, value = data.draw(st.sampled_from(receipt_leaves))
    other = next(mutations.changed_leaf(value))
    changed = mutations.replaced(DOCUMENT, path, other)
    assert isinstance(changed, dict)
    repaired = {**changed, "receipt_sha256": canonical_hash(changed["receipt"])}

    report = check(repaired)

    assert report.exit_code == 1
    assert set(report.mismatches) & {"signature", "format"}


def test_spaces_and_key_order_do_not_matter() -> None:
    parsed = parse_json(FULL.to_bytes())
    assert isinstance(parsed, dict)
    turned = dict(reversed(parsed.items()))
    spaced = b" \n" + canonical_bytes(turned).replace(b'"format":', b'"format" :') + b"\n"

    assert verify_bundle(spaced, run=sealed.run_in_python).exit_code == 0
