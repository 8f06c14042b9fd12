"""Parts are the text, cut; a manifest that says otherwise does not parse."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.evidence.manifest import (
    AlteredText,
    DatasetManifest,
    Manifest,
    MeasureCard,
    build_manifest,
    check_part,
    check_text,
)
from chancery.evidence.parts import PART_CHARACTERS, part_id, split_parts
from chancery.evidence.record import Malformed
from chancery.kernel.canonical import Json, canonical_bytes, sha256_hex

CONTENT: Final = sha256_hex(b"raw")
PIECES: Final = st.sampled_from(
    ["a", "🚀", "e\u0301", "\u200b", "\n", "日本", "שלום", "\r\n", "{0}"]
)


def long_text(piece: str, times: int) -> str:
    return piece * times


def manifest_of(text: str) -> Manifest:
    return build_manifest("key", 2, content_sha256=CONTENT, extractor="text/1", text=text)


TEXTS: Final = st.builds(long_text, PIECES, st.integers(0, 6000))


@given(text=TEXTS)
def test_the_parts_together_are_exactly_the_text(text: str) -> None:
    parts = split_parts("key", 2, sha256_hex(text.encode()), text)

    assert "".join(part.slice(text) for part in parts) == text
    assert [part.ordinal for part in parts] == list(range(1, len(parts) + 1))
    assert all(part.end - part.start == PART_CHARACTERS for part in parts[:-1])
    for part in parts:
        check_part(part, part.slice(text))


@given(text=TEXTS)
def test_a_manifest_reads_back_from_its_bytes(text: str) -> None:
    manifest = manifest_of(text)

    assert Manifest.from_bytes(manifest.to_bytes()) == manifest
    assert manifest.sha256 == sha256_hex(manifest.to_bytes())
    check_text(manifest, text)


def test_part_ids_are_bound_to_extraction_key_revision_and_place() -> None:
    ids = {
        part_id("key", 1, CONTENT, 1),
        part_id("key", 1, CONTENT, 2),
        part_id("key", 2, CONTENT, 1),
        part_id("other", 1, CONTENT, 1),
        part_id("key", 1, sha256_hex(b"x"), 1),
    }

    assert len(ids) == 5
    assert part_id("key", 1, CONTENT, 1) in ids


def damaged(field: str) -> dict[str, Json]:
    whole = manifest_of("x" * (2 * PART_CHARACTERS + 10)).to_json()
    parts = whole["parts"]
    assert isinstance(parts, list)
    first, second, last = parts
    changes: dict[str, list[Json]] = {
        "missing": [first, last],
        "truncated": [first, second],
        "reordered": [second, first, last],
        "duplicate": [first, first, last],
        "empty": [],
        "altered id": [{**_object(first), "part_id": "x"}, second, last],
        "moved": [{**_object(first), "end": 10}, second, last],
    }
    return {**whole, "parts": changes[field]}


def _object(value: Json) -> dict[str, Json]:
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    "field",
    ["missing", "truncated", "reordered", "duplicate", "empty", "altered id", "moved"],
)
def test_a_manifest_with_other_parts_does_not_parse(field: str) -> None:
    with pytest.raises(Malformed):
        Manifest.from_bytes(canonical_bytes(damaged(field)))


@pytest.mark.parametrize(
    "change",
    [
        {"length": 5},
        {"unknown": 1},
        {"revision": 0},
        {"revision": "2"},
        {"format": "chancery.manifest/2"},
        {"extraction_sha256": sha256_hex(b"other")},
    ],
)
def test_a_manifest_with_another_field_does_not_parse(change: dict[str, Json]) -> None:
    with pytest.raises(Malformed):
        Manifest.from_bytes(canonical_bytes({**manifest_of("text").to_json(), **change}))


@pytest.mark.req("CR-8")
@pytest.mark.parametrize("pages", [[1], [0, 3, 2], [0, 5], [-1, 0], [0] * 2001])
def test_a_manifest_whose_pages_do_not_fit_the_text_does_not_parse(pages: list[int]) -> None:
    whole = manifest_of("text").to_json()
    assert Manifest.from_bytes(canonical_bytes({**whole, "pages": [0, 2, 2, 4]})).page(2) == 3

    with pytest.raises(Malformed):
        Manifest.from_bytes(canonical_bytes({**whole, "pages": pages}))


@pytest.mark.parametrize("change", [{"pages": []}, {"layout_sha256": None}])
def test_what_a_document_does_not_have_is_left_out_of_its_manifest(
    change: dict[str, Json],
) -> None:
    whole = manifest_of("text").to_json()
    assert not set(change) & set(whole)

    with pytest.raises(Malformed):
        Manifest.from_bytes(canonical_bytes({**whole, **change}))


def test_bytes_in_another_layout_are_not_the_stored_manifest() -> None:
    data = manifest_of("text").to_bytes()

    with pytest.raises(Malformed):
        Manifest.from_bytes(data + b"\n")


@pytest.mark.parametrize("text", ["Text", "text!", "tex", ""])
def test_another_text_does_not_match_the_manifest(text: str) -> None:
    with pytest.raises(AlteredText):
        check_text(manifest_of("text"), text)


def test_another_text_of_a_part_does_not_match() -> None:
    part = manifest_of("text").parts[0]

    check_part(part, "text")
    with pytest.raises(AlteredText):
        check_part(part, "texd")


def test_a_part_is_found_by_its_id_only() -> None:
    manifest = manifest_of("text")

    assert manifest.part(manifest.parts[0].part_id) == manifest.parts[0]
    assert manifest.part("1") is None


def test_a_dataset_manifest_reads_back_with_its_cards() -> None:
    card = MeasureCard(
        name="turnover",
        description="What was invoiced.",
        synonyms=("sales",),
        label="SUM(orders.amount)",
        sql='SELECT sum(amount) FROM "orders"',
        aggregate="sum",
        column="amount",
    )
    manifest = DatasetManifest(
        key="key",
        snapshot=1,
        content_sha256=CONTENT,
        extraction_sha256=CONTENT,
        extractor="csv/1",
        rows=2,
        columns=(("amount", "DECIMAL(10,2)"),),
        cards=(card,),
    )

    assert DatasetManifest.from_bytes(manifest.to_bytes()) == manifest
    assert manifest.card("turnover") == card
    assert manifest.card("other") is None
