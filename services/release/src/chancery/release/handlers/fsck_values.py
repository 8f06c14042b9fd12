"""Runs every sealed query again on its pinned snapshot, under the policy of its cut.

What a bundle carries is not trusted here: not the rows, and not what execution said of them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from chancery.evidence.manifest import DatasetManifest
from chancery.evidence.receipt import Receipt
from chancery.kernel.canonical import parse_json
from chancery.kernel.errors import ChanceryError, Corrupt, NotFound, Rejected, TooLarge, Unavailable
from chancery.release.domain.findings import REASONS, Report
from chancery.release.domain.held import HeldRelease, read_receipt
from chancery.release.domain.meaning import table_meant
from chancery.release.domain.resealing import (
    Again,
    Recorded,
    SealedResult,
    differences,
    sealed_results,
)
from chancery.release.errors import NotChecked, ResultFault
from chancery.release.handlers.fsck_policy import PolicyThen
from chancery.release.handlers.fsck_subjects import ReadOnce
from chancery.release.ports.fsck import Logs, Records, Reexecution, Told
from chancery.store.blobs import BlobCorrupt, Blobs
from chancery.tabular.engine import engine_name
from chancery.tabular.preview import form_of
from chancery.tabular.refusals import is_of_gate
from chancery.tabular.restricting import Restricted, restricted_table
from chancery.tabular.tree import as_object

BLOB_BYTES_MAX: Final = 256 * 1024 * 1024
"""More than this no statement may load, so that nothing larger was queried."""


@dataclass(frozen=True, slots=True)
class CheckValues:
    """The check of sealed values, one query at a time."""

    records: Records
    logs: Logs
    blobs: Blobs
    reexecute: Reexecution

    async def run(self, report: Report, tell: Told, run_id: str | None = None) -> None:
        """Add what is wrong with the values of all releases, or of one run, to the report."""
        total, done = await self.records.count_releases(run_id), 0
        policy = PolicyThen(ReadOnce(self.logs))
        tell("values", 0, total)
        async for page in self.records.releases(run_id):
            for held in page:
                await self._check(report, held, policy)
                done += 1
                tell("values", done, max(total, done))

    async def _check(self, report: Report, held: HeldRelease, policy: PolicyThen) -> None:
        receipt = read_receipt(held)
        if receipt is None or not receipt.core.results:
            return
        if held.keys is None:
            report.count("results_erased", len(receipt.core.results))
            return
        report.count("results", len(receipt.core.results))
        try:
            results = sealed_results(held, receipt, held.keys)
        except (ResultFault, NotChecked) as error:
            _tell(report, error, held.where)
            return
        for result in results:
            try:
                await self._check_result(held, receipt, result, policy)
            except (ResultFault, NotChecked) as error:
                _tell(report, error, {**held.where, "result": result.number})
            else:
                report.count("results_run_again")

    async def _check_result(
        self, held: HeldRelease, receipt: Receipt, result: SealedResult, policy: PolicyThen
    ) -> None:
        table = await self._table(receipt, result, policy)
        recorded = await self._recorded(held, result)
        again = await self._run_again(result, recorded, table)
        found = differences(result, recorded, again)
        if found and result.execution.engine != engine_name():
            message = "another version of the engine gives something else"
            raise NotChecked(message, code="engine_changed")
        if found:
            raise ResultFault("result_differs", differs=" ".join(found))

    async def _table(
        self, receipt: Receipt, result: SealedResult, policy: PolicyThen
    ) -> Restricted:
        named, pin, tenant = result.dataset, result.pin, receipt.core.tenant
        seen = await policy.seen(receipt, named.key)
        data = await self._blob("manifest", tenant, pin.manifest_sha256)
        try:
            manifest = DatasetManifest.from_bytes(data)
        except Corrupt as error:
            raise ResultFault("result_blob_damaged", blob="manifest") from error
        published = seen.dataset.revisions[named.revision - 1 : named.revision]
        pinned = (named.key, named.revision, pin.content_sha256, pin.extraction_sha256)
        found = (
            manifest.key,
            manifest.snapshot,
            manifest.content_sha256,
            manifest.extraction_sha256,
        )
        contents = [each.content_sha256 for each in published]
        if found != pinned or contents != [pin.content_sha256]:
            raise ResultFault("result_differs", differs="snapshot")
        return restricted_table(
            seen.dataset.dataset_id,
            manifest.columns,
            await self._blob("snapshot", tenant, pin.extraction_sha256),
            hidden=seen.view.hidden,
            row_filters=seen.view.row_filters,
            declared=[card.sql for card in manifest.cards],
        )

    async def _recorded(self, held: HeldRelease, result: SealedResult) -> Recorded:
        tenant, run, named = held.tenant, held.run_id, result.execution
        rows = named.rows_sha256
        return Recorded(
            sql=await self._blob("query", tenant, named.query_sha256, run),
            preview=await self._blob("preview", tenant, named.preview_sha256, run),
            rows=None if rows is None else await self._blob("rows", tenant, rows, run),
        )

    async def _run_again(
        self, result: SealedResult, recorded: Recorded, table: Restricted
    ) -> Again:
        try:
            form = form_of(as_object(parse_json(recorded.preview)))
            meant = await asyncio.to_thread(table_meant, recorded, table.schema)
            if meant != table.schema:
                table = replace(table, schema=meant, is_whole=False)
            return await self.reexecute(recorded.sql.decode(), table, form=form)
        except (UnicodeDecodeError, TypeError) as error:
            raise ResultFault("result_differs", differs="form") from error
        except (Rejected, Unavailable, Corrupt) as error:
            raise _judged(error, result.execution.engine) from error

    async def _blob(self, name: str, tenant: str, sha256: str, run: str | None = None) -> bytes:
        try:
            if run is None:
                return await self.blobs.get(tenant, sha256, limit=BLOB_BYTES_MAX)
            return await self.blobs.get_run(tenant, run, sha256, limit=BLOB_BYTES_MAX)
        except NotFound as error:
            raise ResultFault("result_blob_missing", blob=name, sha256=sha256) from error
        except BlobCorrupt as error:
            raise ResultFault("result_blob_damaged", blob=name, sha256=sha256) from error
        except TooLarge as error:
            raise NotChecked(error.detail, code="blob_too_large") from error


def _judged(error: ChanceryError, engine: str) -> ChanceryError:
    """Return what it means that a query, which `engine` ran, did not run.

    A limit of this machine is no finding, nor an engine or a gate that changed since: the form of
    a statement is not a matter of rows or policy, and it passed the gate to be sealed.
    """
    if error.code in REASONS:
        return NotChecked(error.detail, code=error.code)
    if isinstance(error, Rejected) and engine != engine_name():
        return NotChecked(error.detail, code="engine_changed")
    if is_of_gate(error.code):
        return NotChecked(error.detail, code="gate_changed")
    if isinstance(error, Unavailable):
        return error
    return ResultFault("result_differs", differs=error.code)


def _tell(report: Report, error: ResultFault | NotChecked, where: dict[str, str | int]) -> None:
    if isinstance(error, ResultFault):
        report.find(error.code, **where, **error.where)
    else:
        report.leave(error.code, **where)
