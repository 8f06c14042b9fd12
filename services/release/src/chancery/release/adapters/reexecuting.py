"""Sealed statements, run again in worker processes: one at a time, with a longer deadline."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from chancery.evidence.bundle import RowsRead
from chancery.release.domain.resealing import Again
from chancery.tabular.jobs import Limits
from chancery.tabular.pool import WorkerPool
from chancery.tabular.preview import PreviewForm
from chancery.tabular.restricting import Restricted

if TYPE_CHECKING:
    from types import TracebackType

QUERY_S: Final = 60.0
"""An answer waits for 10 s; what examines may wait longer, on a slower machine too."""


@dataclass(slots=True)
class Reexecuting:
    """One pool, started by the first statement, whatever the budgets; use it as `async with`."""

    query_s: float = QUERY_S
    _pool: WorkerPool | None = None
    _opened: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def __aenter__(self) -> Self:
        """Start nothing yet: many installations have no values."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the processes."""
        await self._opened.aclose()

    async def __call__(self, sql: str, table: Restricted, *, form: PreviewForm) -> Again:
        """Return the preview, in `form`, and the rows that the statement read."""
        pool = await self._started()
        preview, rows = await pool.query_with_rows(sql, table, form=form)
        if rows is None:
            return Again(preview, None)
        columns = tuple((each.name, each.duckdb_type) for each in rows.schema.columns)
        return Again(preview, RowsRead(table=rows.schema.name, columns=columns, rows=rows.rows))

    async def _started(self) -> WorkerPool:
        if self._pool is None:
            opening = WorkerPool(Limits(query_s=self.query_s), concurrency=1)
            self._pool = await self._opened.enter_async_context(opening)
        return self._pool
