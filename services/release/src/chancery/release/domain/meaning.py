"""What a sealed statement was about: the columns that policy showed when it was written and run.

That was at admission. The verdict is that of the cut: release seals nothing that read a column that
was hidden by then. What was revealed in between is no part of a star that was asked before, and
does not take its name away from an alias.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from chancery.evidence.bundle import RowsRead
from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import Corrupt, Rejected
from chancery.release.domain.resealing import Recorded
from chancery.tabular.plan import Plan, plan
from chancery.tabular.schema import TableSchema, fold
from chancery.tabular.tree import as_items, as_object


def table_meant(recorded: Recorded, visible: TableSchema) -> TableSchema:
    """Return the columns that a sealed statement was about, of those visible at the cut.

    All visible ones, unless it reads others of these than it did. Blocking: the gate parses.
    """
    planned = _planned(recorded, visible)
    names = {fold(each) for each in _names_read(recorded, planned)}
    if planned is not None and names == {fold(each) for each in planned.reads[visible.name]}:
        return visible
    meant = tuple(each for each in visible.columns if fold(each.name) in names)
    is_visible = names and len(meant) == len(names)
    return TableSchema(visible.name, meant) if is_visible else visible


def _planned(recorded: Recorded, visible: TableSchema) -> Plan | None:
    """Return the plan over what was visible at the cut; None when nothing of it may run there."""
    try:
        planned = plan(recorded.sql.decode(), [visible])
    except (Rejected, UnicodeDecodeError):
        return None
    return planned if visible.name in planned.reads else None


def _names_read(recorded: Recorded, planned: Plan | None) -> Collection[str]:
    """Return the columns of the stored rows; where there were too many, those of a star."""
    try:
        if recorded.rows is not None:
            return [name for name, _ in RowsRead.from_pinned(recorded.rows).columns]
        if planned is not None and _has_star(planned):
            return list(_natives(parse_json(recorded.preview)))
    except Corrupt:
        pass
    return ()


def _has_star(planned: Plan) -> bool:
    items = map(as_object, as_items(planned.query.node.get("select_list", ())))
    return any(each.get("class") == "STAR" for each in items)


def _natives(preview: Json) -> Iterator[str]:
    """Yield the native column of each column of a recorded preview that has one."""
    columns = preview.get("columns") if isinstance(preview, Mapping) else None
    for column in columns if isinstance(columns, Sequence) else ():
        native = column.get("native") if isinstance(column, Mapping) else None
        name = native.get("column") if isinstance(native, Mapping) else None
        if isinstance(name, str):
            yield name
