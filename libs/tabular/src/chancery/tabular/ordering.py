"""The order of rows: no aggregate depends on the one in which a file happens to hold them.

A sum of DOUBLEs, `any_value`, `string_agg`, the ties of `mode` and `arg_max` take the rows as they
come, and so does what aggregates over LIMIT, DISTINCT ON or a window. Statements of these kinds run
on rows that were sorted by all columns that they read: rows that are equal in these cannot be told
apart, so whatever order they came in, the same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chancery.kernel.canonical import Json
from chancery.tabular.engine import Engine
from chancery.tabular.gate import GatedQuery
from chancery.tabular.grammar import AGGREGATES
from chancery.tabular.schema import TableSchema, ascii_fold, family_of, quote_identifier
from chancery.tabular.tree import as_items, as_object, as_text, objects_within, own_objects

_COUNTING = frozenset({"count", "count_star", "count_if", "bool_and", "bool_or"})
_RANKED = frozenset({"min", "max", "median", "quantile_cont", "quantile_disc"})
_ADDING = frozenset({"sum", "avg", "mean"})
_INEXACT = frozenset({"double", "other"})
"""The families in which equal values can be written differently (-0.0), or sums are rounded."""

_GROUPING = frozenset({"FORCE_AGGREGATES"})
_SORTED = "sorted rows"


def needs_sorted_rows(query: GatedQuery, tables: Sequence[TableSchema]) -> bool:
    """Return whether an aggregate of `query` could depend on the order of rows."""
    node = query.node
    own = list(own_objects(node))
    inside = {id(each) for each in (node, *own)}
    nested = [each for each in objects_within(node) if id(each) not in inside]
    calls = [each for each in (*own, *nested) if _is_aggregate(each)]
    if not calls:
        return False
    if node["type"] == "SET_OPERATION_NODE" or any(map(_picks_rows, nested)):
        return True
    if any(map(_groups, (node, *nested))):
        return True
    if any(map(_is_aggregate, own)) and any(map(_picks_rows, own)):
        return True
    exact = _Exact.of(node, tables)
    shown = {id(each) for each in as_items(node["select_list"])}
    return not all(exact.settles(each, is_shown=id(each) in shown) for each in calls)


def sort_rows(engine: Engine) -> None:
    """Sort the rows of every table in `engine` by all of its columns."""
    for (found,) in engine.fetch("SELECT table_name FROM duckdb_tables()", rows_max=10_000):
        name, made = quote_identifier(str(found)), quote_identifier(_SORTED)
        columns = engine.describe(f"SELECT * FROM {name}")  # noqa: S608
        keys = ", ".join(_keys(columns))
        engine.run(f"CREATE TABLE {made} AS SELECT * FROM {name} ORDER BY {keys}")  # noqa: S608
        engine.run(f"DROP TABLE {name}")
        engine.run(f"ALTER TABLE {made} RENAME TO {name}")


def _keys(columns: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the columns, and after them the texts of those whose equal values differ as texts."""
    yield from (quote_identifier(name) for name, _ in columns)
    for name, duckdb_type in columns:
        if family_of(duckdb_type) in _INEXACT:
            yield f"CAST({quote_identifier(name)} AS VARCHAR)"


@dataclass(frozen=True, slots=True)
class _Exact:
    """The names that mean exact columns of tables, wherever in the statement they stand."""

    names: frozenset[str]

    @classmethod
    def of(cls, node: Mapping[str, Json], tables: Sequence[TableSchema]) -> _Exact:
        parts = list(objects_within(node))
        if any(p.get("type") == "SET_OPERATION_NODE" or p.get("replace_list") for p in parts):
            return cls(frozenset())
        columns = [each for table in tables for each in table.columns]
        inexact = {ascii_fold(each.name) for each in columns if each.type in _INEXACT}
        aliases = {
            ascii_fold(as_text(p["alias"])) for p in parts if p.get("class") and p.get("alias")
        }
        return cls(frozenset(ascii_fold(each.name) for each in columns) - inexact - aliases)

    def settles(self, call: Mapping[str, Json], *, is_shown: bool) -> bool:
        """Return whether the aggregate is the same in any order of its rows."""
        name = call["function_name"]
        if name in _COUNTING or (name in _RANKED and is_shown):
            return True
        arguments = [as_object(each)["expression"] for each in map(as_object, _arguments(call))]
        return name in _RANKED | _ADDING and all(map(self._is_exact, map(as_object, arguments)))

    def _is_exact(self, argument: Mapping[str, Json]) -> bool:
        if argument["class"] == "CONSTANT":
            return as_object(argument["literal"])["kind"] == "INTEGER"
        if argument["class"] != "COLUMN_REF":
            return False
        return ascii_fold(as_text(as_items(argument["column_names"])[-1])) in self.names


def _arguments(call: Mapping[str, Json]) -> Sequence[Json]:
    return as_items(call["arguments"])


def _is_aggregate(part: Mapping[str, Json]) -> bool:
    return part.get("class") in {"FUNCTION", "WINDOW"} and part.get("function_name") in AGGREGATES


def _groups(node: Mapping[str, Json]) -> bool:
    return bool(node.get("group_expressions")) or node.get("aggregate_handling") in _GROUPING


def _picks_rows(part: Mapping[str, Json]) -> bool:
    return (
        part.get("type") == "LIMIT_MODIFIER"
        or bool(part.get("distinct_on_targets"))
        or part.get("class") == "WINDOW"
    )
