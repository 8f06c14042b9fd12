"""Raw queries and schemas: useful for inspection, and marked as no verified answer."""

from __future__ import annotations

from dataclasses import dataclass

from chancery.events.queries import DatasetSchema, PinnedRevision, QueryResult, RunQuery
from chancery.events.requests import Request
from chancery.execution.domain.tables import visible_schema
from chancery.execution.handlers.material import Reading
from chancery.execution.ports import Sql
from chancery.kernel.canonical import Json, canonical_bytes
from chancery.kernel.errors import NotFound
from chancery.tabular.engine import library_version
from chancery.tabular.gate import gate
from chancery.tabular.jobs import Table
from chancery.tabular.preview import Preview
from chancery.tabular.schema import fold


@dataclass(frozen=True, slots=True)
class Questions:
    """Answers about datasets whose scope release has authorised."""

    reading: Reading
    sql: Sql

    async def run_query(self, request: Request[RunQuery]) -> QueryResult:
        """Run a caller's statement over the authorised datasets that it names.

        Raises:
            Rejected: with a stable code, never the engine's text.
        """
        body = request.body
        named = {fold(name) for name in gate(body.sql).tables}
        used = [pinned for pinned in body.datasets if fold(pinned.id) in named and _ready(pinned)]
        tables = [await self._table(request.caller.tenant, pinned) for pinned in used]
        preview = await self.sql.query(body.sql, tables)
        return QueryResult(json_text=canonical_bytes(_result(preview, used)).decode())

    async def read_schema(self, request: Request[PinnedRevision]) -> DatasetSchema:
        """Return the visible columns of a pinned snapshot.

        Raises:
            NotFound: when it cannot be queried yet.
        """
        pinned = request.body
        if pinned.manifest_sha256 is None:
            raise _not_ready()
        manifest = await self.reading.manifest(request.caller.tenant, pinned.manifest_sha256)
        schema = visible_schema(pinned, manifest)
        columns = tuple((column.name, column.duckdb_type) for column in schema.columns)
        # A row filter hides rows, and a count of hidden rows tells of them.
        rows = 0 if pinned.row_filters else manifest.rows
        return DatasetSchema(dataset=pinned, columns=columns, rows=rows)

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


def _result(preview: Preview, used: list[PinnedRevision]) -> Json:
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
    snapshots: list[Json] = [
        {
            "dataset_id": pinned.id,
            "snapshot": pinned.revision,
            "content_sha256": pinned.content_sha256,
        }
        for pinned in used
    ]
    return {
        "columns": columns,
        "rows": [list(row) for row in preview.rows],
        "truncated": preview.truncated,
        "preview_sha256": preview.preview_sha256,
        "verified_answer": False,
        "provenance": {
            "sql": preview.sql,
            "snapshots": snapshots,
            "engine": f"duckdb {library_version()}",
        },
    }
