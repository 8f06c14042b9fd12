"""Verifying a bundle: everything that can be recomputed offline is, and the rest is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from chancery.evidence.bundle import Bundle
from chancery.evidence.record import Malformed
from chancery.kernel.canonical import parse_json
from chancery.kernel.errors import Corrupt
from chancery.verify.composition import composition_check
from chancery.verify.extractions import extraction_checks
from chancery.verify.hashes import content_checks, cut_check, receipt_checks, result_checks
from chancery.verify.quotes import manifest_check, part_check, quote_checks
from chancery.verify.report import (
    Check,
    Report,
    beyond_a_bundle,
    mismatch,
    uncheckable,
    verified,
)
from chancery.verify.values import Reexecution, execute_in_duckdb, value_checks

BUNDLE_BYTES_MAX: Final = 128 * 1024 * 1024
"""20 results of 4 MiB, the cited parts and the receipt fit in; more is not read."""

_NOTICE_BYTES_MAX: Final = 4096


def verify_bundle(
    data: bytes, *, public_key: bytes | None = None, run: Reexecution = execute_in_duckdb
) -> Report:
    """Return the report on the bundle in `data`; no check trusts another part of the bundle.

    With `public_key` the bundle must be signed by it; without, the report names the signing key and
    leaves the trust in it to the reader. Blocking: values are executed again.
    """
    if _is_withheld(data):
        told = "the answer is withheld; there is nothing to check"
        return Report((uncheckable("format", told),))
    try:
        bundle = _parsed(data)
    except Malformed as error:
        return Report((mismatch("format", error.detail),))
    checks = (verified("format", bundle.format), *_checks(bundle, public_key, run))
    return Report(checks, outcome=bundle.receipt.core.outcome)


def _parsed(data: bytes) -> Bundle:
    if len(data) > BUNDLE_BYTES_MAX:
        message = "a bundle has at most 128 MiB"
        raise Malformed(message)
    return Bundle.from_json_text(data)


def _checks(bundle: Bundle, trusted: bytes | None, run: Reexecution) -> Iterator[Check]:
    yield from receipt_checks(bundle, trusted)
    yield cut_check(bundle)
    yield from content_checks(bundle)
    yield composition_check(bundle)
    yield manifest_check(bundle)
    yield part_check(bundle)
    yield from extraction_checks(bundle)
    yield from quote_checks(bundle)
    yield from result_checks(bundle)
    yield from value_checks(bundle, run)
    if any(result.rows is not None for result in bundle.results):
        yield beyond_a_bundle(
            "rows",
            "that the carried rows are those of the snapshot is told where that is: "
            "chancery fsck --run",
        )
    yield beyond_a_bundle(
        "decision", "that access was allowed at the cut can be derived from the log only"
    )
    yield beyond_a_bundle("question", "the bundle carries the salted hash of the question only")
    yield beyond_a_bundle(
        "truth", "provenance is checked: not whether a source is true, current or complete"
    )


def _is_withheld(data: bytes) -> bool:
    try:
        document = parse_json(data) if len(data) < _NOTICE_BYTES_MAX else None
    except Corrupt:
        return False
    return isinstance(document, Mapping) and document.get("status") == "withheld"
