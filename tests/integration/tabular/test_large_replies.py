"""A reply that is larger than one may be ends its statement or file, as often as it is asked."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular.jobs import Limits
from chancery.tabular.pool import WorkerPool
from chancery.tabular.process import WorkerDied, WorkerProcess

DATA = b"id\n" + b"".join(b"%d\n" % (n * n) for n in range(2_000))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note the bound of each reply that a process is asked for."""
    noted: list[int] = []
    exchange = WorkerProcess.exchange

    def note(
        self: WorkerProcess, frames: Sequence[bytes], *, deadline_s: float, reply_bytes_max: int
    ) -> list[bytes]:
        noted.append(reply_bytes_max)
        return exchange(self, frames, deadline_s=deadline_s, reply_bytes_max=reply_bytes_max)

    monkeypatch.setattr(WorkerProcess, "exchange", note)
    return noted


@pytest.mark.req("KO-3")
async def test_a_snapshot_that_is_too_large_to_reply_is_converted_once(asked: list[int]) -> None:
    """Another try takes as long, up to three minutes, and comes to the same."""
    async with WorkerPool(Limits(message_bytes_max=4096), concurrency=1) as pool:
        with pytest.raises(Rejected) as refused:
            await pool.convert(DATA, {})

    assert (refused.value.code, refused.value.field) == ("sql_resources", "snapshot")
    assert not isinstance(refused.value, WorkerDied)
    assert asked == [4096]


async def test_a_snapshot_that_is_not_too_large_is_converted(asked: list[int]) -> None:
    async with WorkerPool(Limits(message_bytes_max=2**20), concurrency=1) as pool:
        assert (await pool.convert(DATA, {})).row_count == 2_000

    assert asked == [2**20]
