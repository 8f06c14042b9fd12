"""Raw queries and schemas: useful for inspection, and marked as no verified answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chancery.events.queries import DatasetSchema, PinnedRevision, QueryResult, RunQuery
from chancery.events.requests import Request
from chancery.execution.domain.tables import visible_schema
from chancery.execution.handlers.material import Reading
from chancery.kernel.canonical import Json, canonical_bytes
from chancery.kernel.errors import NotFound
from chancery.tabular.engine import library_version
from chancery.tabular.jobs import Page, Table
from chancery.tabular.measures import Measure, measure_statement
from chancery.tabular.preview import Preview
from chancery.tabular.schema import fold

AT_ONCE = 4
"""How many questions hold snapshots in memory; each may be 256 MiB. The others wait."""


class Pages(Protocol):
    """Governed SQL in a process of its own, page by page."""

    async def tables(self, sql: str) -> tuple[str, ...]:
        """Return the names of the tables that `sql` needs."""
        ...

    async def query(self, sql: str, tables: Sequence[Table], *, page: Page = ...) -> Preview:
        """Return a page of `sql` over what the caller may read of `tables`."""
        ...


_ROWS = Measure(name="rows", aggregate="count")


@dataclass(frozen=True, slots=True)
class Questions:
    """Answers about datasets whose scope release has authorised."""

    reading: Reading
    sql: Pages
    turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def run_query(self, request: Request[RunQuery]) -> QueryResult:
        """Run a caller's statement over the authorised datasets that it names.

        Raises:
            Rejected: with a stable code, never the engine's text.
        """
        body = request.body
        named = {fold(name) for name in await self.sql.tables(body.sql)}
        used = [pinned for pinned in body.datasets if fold(pinned.id) in named and _ready(pinned)]
        page = Page(body.offset, body.limit)
        async with self.turn:
            tables = [await self._table(request.caller.tenant, pinned) for pinned in used]
            preview = await self.sql.query(body.sql, tables, page=page)
        return QueryResult(json_text=canonical_bytes(_result(preview, used, page)).decode())

    async def read_schema(self, request: Request[PinnedRevision]) -> DatasetSchema:
        """Return the visible columns of a pinned snapshot, and how many rows the caller may see.

        Raises:
            NotFound: when it cannot be queried yet.
        """
        pinned = request.body
        if pinned.manifest_sha256 is None:
            raise _not_ready()
        manifest = await self.reading.manifest(request.caller.tenant, pinned.manifest_sha256)
        schema = visible_schema(pinned, manifest)
        columns = tuple((column.name, column.duckdb_type) for column in schema.columns)
        rows = manifest.rows
        if pinned.row_filters:
            rows = await self._visible_rows(request.caller.tenant, pinned)
        return DatasetSchema(dataset=pinned, columns=columns, rows=rows)

    async def _visible_rows(self, tenant: str, pinned: PinnedRevision) -> int:
        """Count the rows as a query would: a number of all rows tells of the hidden ones."""
        table = await self._table(tenant, pinned)
        counting = measure_statement(table.schema, _ROWS)
        async with self.turn:
            preview = await self.sql.query(counting.sql, [table])
        return int(preview.rows[0][0] or "0")

    async def _table(self, tenant: str, pinned: PinnedRevision) -> Table:
        if pinned.extraction_sha256 is None or pinned.manifest_sha256 is None:
            raise _not_ready()
        return await self.reading.table(
            tenant,
            pinned,
            extraction_sha256=pinned.extraction_sha256,
            manifest_sha256=pinned.manifest_sha256,
        )


def _ready(pinned: PinnedRevision) -> bool:
    return pinned.extraction_sha256 is not None and pinned.manifest_sha256 is not None


def _not_ready() -> NotFound:
    message = "the snapshot cannot be queried yet; ask for its state"
    return NotFound(message, code="not_extracted")


def _result(preview: Preview, used: Sequence[PinnedRevision], page: Page) -> Json:
    columns: list[Json] = [
        {
            "name": column.name,
            "label": column.label,
            "type": column.type,
            "eligible": column.eligible,
            "reason": column.reason,
        }
        for column in preview.columns
    ]
    return {
        "columns": columns,
        "rows": [list(row) for row in preview.rows],
        "truncated": preview.truncated,
        "page": {
            "offset": page.offset,
            "limit": page.limit,
            "next_offset": _next_offset(preview),
        },
        "preview_sha256": preview.preview_sha256,
        "verified_answer": False,
        "provenance": {
            "sql": preview.sql,
            "snapshots": [_snapshot(pinned) for pinned in used],
            "engine": f"duckdb {library_version()}",
        },
    }


def _next_offset(preview: Preview) -> int | None:
    """Return where the next page starts; a row that no page can carry is where pages end."""
    if not preview.truncated or not preview.rows:
        return None
    return preview.offset + len(preview.rows)


def _snapshot(pinned: PinnedRevision) -> Json:
    return {
        "dataset_id": pinned.id,
        "snapshot": pinned.revision,
        "content_sha256": pinned.content_sha256,
        "extraction_sha256": pinned.extraction_sha256,
    }
