"""What a coverage report says of the evidence that was not searched, and why."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from chancery.events.queries import IndexState
from chancery.evidence.coverage import (
    NOT_CONFIRMED,
    NOT_INDEXED_YET,
    NOT_RECORDED,
    CoverageReport,
    coverage,
)

OLD = b'{"eligible":3,"failed":1,"pending":1,"ready":1,"state":"incomplete","unavailable":0}'
"""A report as it was written before there were reasons."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A revision as it was pinned."""

    key: str
    state: IndexState
    reason: str | None = None
    index_sequence: int = 5

    @property
    def extraction_sha256(self) -> str | None:
        """A canonical form where it is ready."""
        return "0" * 64 if self.state == "ready" else None


def pins(*pinned: Pin, position: int = 9, unconfirmed: tuple[str, ...] = ()) -> CoverageReport:
    return coverage(pinned, index_position=position, unconfirmed=unconfirmed)


@pytest.mark.req("CL-2")
def test_each_missing_revision_is_counted_under_its_reason() -> None:
    report = pins(
        Pin("a", "ready"),
        Pin("b", "ready"),
        Pin("c", "pending"),
        Pin("d", "failed", "encrypted"),
        Pin("e", "failed", "encrypted"),
        Pin("f", "failed", "truncated"),
        Pin("g", "unavailable", "extraction_missing"),
        Pin("h", "unavailable"),
        Pin("i", "excluded", "withdrawn"),
        unconfirmed=("b",),
    )

    assert report.to_json() == {
        "state": "incomplete",
        "eligible": 8,
        "ready": 1,
        "pending": 2,
        "failed": 3,
        "unavailable": 2,
        "reasons": {
            "encrypted": 2,
            "extraction_missing": 1,
            NOT_CONFIRMED: 1,
            NOT_INDEXED_YET: 1,
            NOT_RECORDED: 1,
            "truncated": 1,
        },
    }


@pytest.mark.req("CL-2")
def test_an_index_that_lags_behind_the_pin_has_not_confirmed_it() -> None:
    assert pins(Pin("a", "ready"), position=4).reasons == {NOT_CONFIRMED: 1}
    assert pins(Pin("a", "ready"), position=5).reasons == {}


@pytest.mark.req("CL-2")
def test_complete_coverage_has_no_reasons_and_the_bytes_it_always_had() -> None:
    report = pins(Pin("a", "ready"))

    assert report.to_bytes() == (
        b'{"eligible":1,"failed":0,"pending":0,"ready":1,"state":"complete","unavailable":0}'
    )


@pytest.mark.req("CL-2", "EV-4")
def test_a_report_from_before_there_were_reasons_reads_and_keeps_its_bytes() -> None:
    report = CoverageReport.from_bytes(OLD)

    assert report.reasons == {}
    assert report.to_bytes() == OLD


@pytest.mark.req("CL-2")
@pytest.mark.parametrize(
    "reasons",
    [{"encrypted": 1}, {"encrypted": 3}, {"encrypted": 2, "Alice's file": 0}, {"law 7": 2}],
)
def test_reasons_that_are_no_codes_or_count_otherwise_do_not_parse(
    reasons: dict[str, int],
) -> None:
    known = CoverageReport.from_bytes(OLD).to_json()

    assert CoverageReport.model_validate({**known, "reasons": {"encrypted": 2}}).reasons
    with pytest.raises(ValidationError):
        CoverageReport.model_validate({**known, "reasons": reasons})


STATES: st.SearchStrategy[IndexState] = st.sampled_from(
    ["ready", "pending", "failed", "unavailable", "excluded"]
)
PINS = st.builds(
    Pin,
    key=st.sampled_from("abcdef"),
    state=STATES,
    reason=st.none() | st.from_regex(r"[a-z0-9_]{1,9}", fullmatch=True),
    index_sequence=st.integers(0, 9),
)


@pytest.mark.req("CL-2")
@given(found=st.lists(PINS, max_size=20), position=st.integers(0, 9))
def test_the_reasons_count_exactly_what_is_missing(found: list[Pin], position: int) -> None:
    report = pins(*found, position=position, unconfirmed=("a",))

    assert sum(report.reasons.values()) == report.eligible - report.ready
    assert CoverageReport.from_bytes(report.to_bytes()) == report
