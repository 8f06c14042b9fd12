"""Which snapshot a sealed result is of: commitments in the receipt, plain hashes in the content."""

from __future__ import annotations

import pytest

from chancery.evidence.receipt import Execution
from chancery.evidence.references import SnapshotPin, SourceReference, committed, pin_of
from chancery.evidence.salts import SEED_BYTES, snapshot_salt
from chancery.release.domain.resealing import snapshot_of

pytestmark = pytest.mark.req("CR-27", "XB-4")

SEED = b"s" * SEED_BYTES
PLAIN = SourceReference(
    kind="dataset",
    id="orders",
    key="key",
    revision=1,
    content_sha256="a" * 64,
    extraction_sha256="b" * 64,
    manifest_sha256="c" * 64,
)


def execution(pin: SnapshotPin | None) -> Execution:
    return Execution(
        key="key",
        snapshot=1,
        engine="duckdb",
        query_sha256="d" * 64,
        preview_sha256="e" * 64,
        pin=pin,
    )


def test_the_content_opens_what_the_receipt_has_committed_to() -> None:
    sealed = committed(PLAIN, snapshot_salt(SEED))

    assert snapshot_of(sealed, execution(pin_of(PLAIN)), SEED) == pin_of(PLAIN)
    assert set(pin_of(sealed).model_dump().values()).isdisjoint(pin_of(PLAIN).model_dump().values())


@pytest.mark.parametrize("name", ["content_sha256", "extraction_sha256", "manifest_sha256"])
def test_another_snapshot_than_the_one_committed_to_is_seen(name: str) -> None:
    other = pin_of(PLAIN).model_copy(update={name: "f" * 64})

    assert snapshot_of(committed(PLAIN, snapshot_salt(SEED)), execution(other), SEED) is None


def test_an_older_receipt_has_the_plain_hashes() -> None:
    assert snapshot_of(PLAIN, execution(None), SEED) == pin_of(PLAIN)


def test_an_execution_that_is_older_has_the_same_bytes_as_before() -> None:
    assert b"pin" not in execution(None).to_bytes()
    assert b"pin" in execution(pin_of(PLAIN)).to_bytes()
