"""Running a sealed statement again over the rows that a bundle carries, without any service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chancery.tabular.jobs import Limits, RowTable, query_job, read_result, reply_bytes_max
from chancery.tabular.labels import label_texts
from chancery.tabular.plan import plan
from chancery.tabular.preview import Preview, PreviewForm, preview_of
from chancery.tabular.process import WorkerProcess

_DEFAULT_LIMITS = Limits()
_USUAL_FORM = PreviewForm()


def reexecute(
    canonical_sql: str,
    tables: Sequence[RowTable],
    *,
    limits: Limits = _DEFAULT_LIMITS,
    form: PreviewForm = _USUAL_FORM,
) -> Preview:
    """Return the preview of `canonical_sql` over the carried rows, in `form`; blocking.

    The statement passes the same gate and runs in the same kind of process: a bundle is input like
    any other. Compare `value_at` of the result with the sealed value, type and label. Which texts
    rest on rows is found out again; that a measure was published is taken from the form, for the
    rows do not tell.

    Raises:
        Rejected: as `WorkerPool.query`.
    """
    limits = replace(limits, preview_bytes_max=form.bytes_max)
    planned = plan(canonical_sql, [each.schema for each in tables])
    named = {each.name for each in planned.tables}
    used = sorted((t for t in tables if t.schema.name in named), key=lambda t: t.schema.name)
    frames = WorkerProcess().exchange(
        query_job(planned, used, limits),
        deadline_s=limits.query_s,
        reply_bytes_max=reply_bytes_max(limits.preview_bytes_max),
    )
    result = read_result(frames[0])
    texts = ()
    if form.texts is not None:
        declared = {each.condition for each in form.texts if each.basis == "declared"}
        texts = label_texts(planned.eligibility.texts, result.occurring, declared)
    return preview_of(
        planned.query.canonical_sql,
        result,
        planned.eligibility,
        texts=texts,
        bytes_max=form.bytes_max,
        quotes_names=form.quotes_names,
    )
