"""Why a revision is not there is told to those alone who may know it."""

from __future__ import annotations

import pytest

from chancery.events.queries import IndexState, PinnedRevision
from chancery.release.domain.views import as_told


def pinned(state: IndexState) -> PinnedRevision:
    return PinnedRevision(
        kind="dataset", key="k", id="d", title="D", revision=1, content_sha256="0" * 64,
        media_type="text/csv", size_bytes=1, state=state, reason="sql_timeout", field="snapshot",
        attempt=2,
    )  # fmt: skip


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("state", ["pending", "failed", "unavailable"])
def test_a_reader_is_told_the_state_and_neither_reason_nor_attempt(state: IndexState) -> None:
    known = pinned(state)
    told = as_told(known, tells_why=False)

    assert as_told(known, tells_why=True) == known
    assert (told.state, told.reason, told.field, told.attempt) == (state, None, None, None)
