"""The complete view of a curated version: all of it, in order, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.evidence.knowledge import (
    KnowledgeManifest,
    RootReference,
    VersionPin,
    VersionWords,
    build_view,
    check_body,
    roots_sha256,
)
from chancery.evidence.manifest import AlteredText
from chancery.evidence.parts import PART_CHARACTERS
from chancery.evidence.record import Malformed
from chancery.kernel.canonical import Json, canonical_bytes, parse_json, sha256_hex
from chancery.kernel.errors import ChanceryError, TooLarge

BODY = "Refunds are paid within 14 days.\n" * 400
ROOT = RootReference(
    kind="source", key="key-1", id="handbook", revision=2, content_sha256=sha256_hex(b"handbook")
)
WORDS = VersionWords(
    title="Refunds",
    kind="procedure",
    domain="finance",
    tags=("refund", "customer"),
    author="ada",
    committed_at=datetime(2026, 3, 1, tzinfo=UTC),
)


def pin(
    content: str = BODY, *, version: int = 3, roots: Sequence[RootReference] = (ROOT,)
) -> VersionPin:
    """Return the pin of a version with `content`."""
    return VersionPin(
        item_key="item-key",
        item_id="refunds",
        workspace_id="ws",
        native_item_id="refunds",
        native_workspace_id="ws",
        version=version,
        version_id=f"version-{version}",
        native_version_id=f"version-{version}",
        operation_id="operation-9",
        content_sha256=sha256_hex(content.encode()),
        evidence_sha256=roots_sha256(roots),
        roots=tuple(roots),
    )


def view(body: str = BODY) -> KnowledgeManifest:
    """Return the view of a version with `body`."""
    return build_view(pin(body), WORDS, body, extractor="text/1")


@pytest.mark.req("CR-8")
@given(st.text(min_size=1, max_size=12_000))
def test_the_parts_are_the_whole_body_in_order(body: str) -> None:
    manifest = view(body)
    text = manifest.as_text()

    assert "".join(part.slice(body) for part in manifest.parts) == body
    assert [part.ordinal for part in manifest.parts] == list(range(1, len(manifest.parts) + 1))
    assert all(part.end - part.start <= PART_CHARACTERS for part in manifest.parts)
    assert text.page(0) is None
    assert KnowledgeManifest.from_bytes(manifest.to_bytes()) == manifest
    check_body(manifest, body)


@pytest.mark.req("CR-8")
def test_part_ids_are_bound_to_the_version() -> None:
    other = build_view(pin(version=4), WORDS, BODY, extractor="text/1")

    assert view() == view()
    assert {part.part_id for part in view().parts}.isdisjoint(part.part_id for part in other.parts)


def _other_parts(parts: list[Json]) -> Mapping[str, list[Json]]:
    first, *rest = parts
    assert isinstance(first, Mapping)
    return {
        "missing": parts[1:],
        "truncated": parts[:-1],
        "reordered": parts[::-1],
        "duplicate": [*parts, parts[-1]],
        "another-range": [{**first, "end": 17}, *rest],
        "none": [],
    }


@pytest.mark.req("CR-8")
@pytest.mark.parametrize(
    "name", ["missing", "truncated", "reordered", "duplicate", "another-range", "none"]
)
def test_a_view_with_other_parts_does_not_parse(name: str) -> None:
    fields = view().to_json()
    parts = fields["parts"]
    assert isinstance(parts, list)
    assert len(parts) == 3
    assert KnowledgeManifest.from_bytes(canonical_bytes({**fields, "parts": parts})) == view()

    with pytest.raises(Malformed):
        KnowledgeManifest.from_bytes(
            canonical_bytes({**fields, "parts": _other_parts(parts)[name]})
        )


@pytest.mark.req("CR-8")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(BODY[:-1], id="truncated"),
        pytest.param(BODY + "x", id="longer"),
        pytest.param(BODY.replace("14", "30", 1), id="altered"),
        pytest.param(BODY.replace("14", "1é", 1), id="another-size-in-bytes"),
    ],
)
def test_another_body_does_not_match_its_view(body: str) -> None:
    check_body(view(), BODY)
    with pytest.raises(AlteredText):
        check_body(view(), body)


@pytest.mark.req("CR-8")
def test_a_body_above_the_bound_is_refused_by_name_and_never_cut() -> None:
    longest = "x" * (256 * 1024)
    assert view(longest).body_bytes == len(longest)
    for body in (longest + "x", "é" * (128 * 1024) + "x"):
        with pytest.raises(TooLarge) as refused:
            view(body)
        assert (refused.value.code, refused.value.field) == ("body_too_large", "text")


@pytest.mark.req("CR-3", "CR-8")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "Returns"),
        ("kind", "rule"),
        ("domain", "sales"),
        ("tags", ["customer"]),
        ("author", "bob"),
        ("committed_at", "2026-03-02T00:00:00Z"),
        ("body_bytes", 12),
        ("body_sha256", sha256_hex(b"other")),
    ],
)
def test_the_hash_covers_the_metadata_and_the_parts(field: str, value: Json) -> None:
    changed = canonical_bytes({**view().to_json(), field: value})

    assert sha256_hex(changed) != view().sha256


@pytest.mark.req("CR-2")
@pytest.mark.parametrize(
    "field",
    [
        "item_id",
        "workspace_id",
        "native_item_id",
        "native_workspace_id",
        "version_id",
        "native_version_id",
        "operation_id",
    ],
)
def test_the_hash_covers_the_pin_canonical_and_native(field: str) -> None:
    fields = view().to_json()
    before = parse_json(pin().to_bytes())
    assert isinstance(before, Mapping)
    other = canonical_bytes({**fields, "pin": {**before, field: "other"}})

    assert KnowledgeManifest.from_bytes(other).sha256 != view().sha256


@pytest.mark.req("CR-3")
def test_roots_that_do_not_have_their_hash_are_no_pin() -> None:
    fields = pin().to_json()
    assert VersionPin.from_bytes(canonical_bytes(fields)) == pin()
    changes: tuple[tuple[str, Json], ...] = (("roots", []), ("evidence_sha256", sha256_hex(b"")))
    for name, value in changes:
        with pytest.raises(ChanceryError):
            VersionPin.from_bytes(canonical_bytes({**fields, name: value}))
