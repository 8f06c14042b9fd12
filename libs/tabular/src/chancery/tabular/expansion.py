"""How far a small statement grows when stars and aliases are written out, bounded before that.

`SELECT a+a AS x, x+x AS y, y+y AS z ...` doubles with every item, and a star stands for all columns
of its tables: writing out 200 bytes of the first took gigabytes. Both bounds are upper ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chancery.kernel.canonical import Json
from chancery.tabular.gate import GatedQuery
from chancery.tabular.refusals import refusal
from chancery.tabular.schema import TableSchema, ascii_fold
from chancery.tabular.tree import as_items, as_text, objects_within

PARTS_MAX = 4_000
STAR_COLUMNS_MAX = 4_000

Sizes = dict[str, int]
"""The written-out size of each alias, by its folded name."""


def check_expansion(query: GatedQuery, tables: Sequence[TableSchema]) -> None:
    """Refuse a statement that grows beyond what lineage can be derived of in a moment.

    Raises:
        Rejected: `sql_too_complex`.
    """
    if _star_columns(query.node, tables) > STAR_COLUMNS_MAX or _size(query.node, {}) > PARTS_MAX:
        raise refusal("sql_too_complex")


def _star_columns(node: Mapping[str, Json], tables: Sequence[TableSchema]) -> int:
    """Return the columns that all stars stand for, as if each stood for those of every table."""
    widths = {ascii_fold(each.name): len(each.columns) for each in tables}
    parts = list(objects_within(node))
    stars = sum(each.get("class") == "STAR" for each in parts)
    named = (ascii_fold(as_text(p["table_name"])) for p in parts if p.get("type") == "BASE_TABLE")
    return stars * sum(widths.get(name, 0) for name in named)


def _size(value: Json, aliases: Sizes) -> int:
    """Return the number of objects in `value` with the aliases in it written out."""
    if isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        return 0
    if not isinstance(value, Mapping):
        return sum(_size(each, aliases) for each in value)
    if value.get("type") == "SELECT_NODE":
        return _select_size(value, aliases)
    own = _alias_size(value, aliases) if value.get("class") == "COLUMN_REF" else 0
    return 1 + own + sum(_size(each, aliases) for each in value.values())


def _select_size(node: Mapping[str, Json], outer: Sizes) -> int:
    aliases, total = dict(outer), 1
    for item in as_items(node["select_list"]):
        size = _size(item, aliases)
        total += size
        name = item.get("alias") if isinstance(item, Mapping) else None
        if isinstance(name, str) and name:
            aliases[ascii_fold(name)] = max(size, aliases.get(ascii_fold(name), 0))
    return total + sum(_size(each, aliases) for key, each in node.items() if key != "select_list")


def _alias_size(reference: Mapping[str, Json], aliases: Sizes) -> int:
    names = as_items(reference["column_names"])
    return aliases.get(ascii_fold(as_text(names[-1])), 0)
