"""Which result columns an answer may state, and under which native label (CR-21).

Everything is read from the validated tree. Whatever is not proven eligible is ineligible; the raw
query is not affected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from chancery.kernel.canonical import Json
from chancery.tabular.clauses import Condition, Reason, aggregate_clause, stated_conditions
from chancery.tabular.gate import GatedQuery
from chancery.tabular.schema import Column, TableSchema, ascii_fold
from chancery.tabular.stated_names import stated_name
from chancery.tabular.tree import as_items, as_object, as_text, objects_within

AGGREGATES = frozenset({"SUM", "AVG", "MIN", "MAX", "COUNT"})
_ADDING = frozenset({"SUM", "AVG"})


@dataclass(frozen=True, slots=True)
class Native:
    """The native fact behind an eligible column: `aggregate` of `column` of `table` under `where`.

    A direct column has no aggregate; `COUNT(*)` has no column.
    """

    table: str
    column: str | None
    aggregate: str | None
    where: tuple[Condition, ...] = ()


def label_of(native: Native, *, bare: bool = False) -> str:
    """Return the label of a native fact; `bare` names are those of an older build, never quoted."""
    named = str if bare else stated_name
    table = named(native.table)
    label = "*" if native.column is None else f"{table}.{named(native.column)}"
    if native.aggregate is not None:
        label = f"{native.aggregate}({label})"
    if not native.where:
        return label
    stated = (f"{table}.{named(each.column)} = {each.literal}" for each in native.where)
    return f"{label} WHERE {' AND '.join(stated)}"


@dataclass(frozen=True, slots=True)
class ColumnEligibility:
    """What an answer may make of one result column; `name` is what the statement calls it."""

    name: str
    eligible: bool
    label: str | None = None
    reason: Reason | None = None
    native: Native | None = None


@dataclass(frozen=True, slots=True)
class Eligibility:
    """The judgement of a statement: of each column, or one reason that disqualifies all.

    `texts` are the conditions by which labels repeat a text of the statement, in their order.
    """

    columns: tuple[ColumnEligibility, ...]
    reason: Reason | None = None
    texts: tuple[Condition, ...] = ()

    def without(self, ungrounded: Collection[Condition]) -> Eligibility:
        """Return the judgement when nothing may be stated under these conditions."""
        return replace(
            self,
            columns=tuple(
                _ineligible(each.name, "label_text") if _repeats(each, ungrounded) else each
                for each in self.columns
            ),
        )

    def with_bare_names(self) -> Eligibility:
        """Return the judgement with the labels of an older build."""
        return replace(self, columns=tuple(map(_bare, self.columns)))

    def column(self, index: int, name: str, result_count: int) -> ColumnEligibility:
        """Return the judgement of result column `index`, as long as the counts agree."""
        if self.reason is not None:
            return ColumnEligibility(name, eligible=False, reason=self.reason)
        if len(self.columns) != result_count:
            return ColumnEligibility(name, eligible=False, reason="lineage")
        return self.columns[index]


def eligibility(query: GatedQuery, tables: Sequence[TableSchema]) -> Eligibility:
    """Judge every result column of `query` over the pinned `tables` that it names."""
    reason = _whole_reason(query.node)
    if reason is not None:
        return Eligibility((), reason)
    if len(tables) != 1:
        return Eligibility((), "no_table")
    judge = _Judge(query.node, tables[0])
    items = as_items(query.node["select_list"])
    columns = tuple(each for item in items for each in judge.item(as_object(item)))
    return Eligibility(columns, texts=tuple(_texts(columns, tables[0])))


def _texts(columns: Iterable[ColumnEligibility], table: TableSchema) -> Iterable[Condition]:
    """Return the conditions on text columns that labels state, each once."""
    stated = (each for column in columns if column.native for each in column.native.where)
    kept = (each for each in stated if _is_text(table.column(each.column)))
    return dict.fromkeys(kept)


def _is_text(column: Column | None) -> bool:
    return column is not None and column.type == "text"


def _bare(column: ColumnEligibility) -> ColumnEligibility:
    if column.native is None:
        return column
    return replace(column, label=label_of(column.native, bare=True))


def _repeats(column: ColumnEligibility, conditions: Collection[Condition]) -> bool:
    return column.native is not None and any(each in conditions for each in column.native.where)


def _whole_reason(node: Mapping[str, Json]) -> Reason | None:
    if node["type"] == "SET_OPERATION_NODE":
        return "set_operation"
    if as_items(as_object(node["cte_map"])["map"]):
        return "cte"
    for each in objects_within(node):
        if each.get("type") == "JOIN":
            return "join"
        if each.get("class") == "SUBQUERY" or each.get("type") == "SUBQUERY":
            return "subquery"
        if each.get("class") == "WINDOW":
            return "window"
    return "no_table" if as_object(node["from_table"])["type"] != "BASE_TABLE" else None


class _Judge:
    """Judges the select list of one flat SELECT over one table."""

    def __init__(self, node: Mapping[str, Json], table: TableSchema) -> None:
        source = as_object(node["from_table"])
        self._table = table
        self._alias = ascii_fold(as_text(source["alias"]) or table.name)
        self._grouping_sets = len(as_items(node["group_sets"])) > 1
        self._clause: Reason | None = aggregate_clause(node)
        self._conditions = stated_conditions(node["where_clause"], self._column)

    def item(self, item: Mapping[str, Json]) -> Iterator[ColumnEligibility]:
        """Yield the judgement of the one result column of `item`, of several for a star."""
        if item["class"] == "STAR":
            yield from self._star(item)
            return
        name = as_text(item["alias"])
        if item["class"] == "COLUMN_REF":
            yield self._direct(item, name)
        elif item["class"] == "FUNCTION":
            yield self._function(item, name)
        else:
            reason: Reason = "constant" if item["class"] == "CONSTANT" else "expression"
            yield _ineligible(name, reason)

    def _star(self, star: Mapping[str, Json]) -> Iterator[ColumnEligibility]:
        excluded = {ascii_fold(as_text(each)) for each in as_items(star["exclude_list"])}
        reason: Reason | None = None
        if star["relation_name"]:
            reason = "qualified_star"
        if excluded or star["replace_list"]:
            reason = "changed_star"
        for column in self._table.columns:
            if ascii_fold(column.name) not in excluded:
                found = self._stated_column(column, column.name)
                yield found if reason is None else _ineligible(column.name, reason)

    def _direct(self, item: Mapping[str, Json], alias: str) -> ColumnEligibility:
        column = self._column(item)
        if column is None:
            return _ineligible(alias, "unknown_column")
        return self._stated_column(column, alias or column.name)

    def _stated_column(self, column: Column, name: str) -> ColumnEligibility:
        if self._grouping_sets:
            return _ineligible(name, "grouping_sets")
        if column.type == "other":
            return _ineligible(name, "result_type")
        native = Native(self._table.name, column.name, None)
        return ColumnEligibility(name, eligible=True, label=label_of(native), native=native)

    def _function(self, item: Mapping[str, Json], alias: str) -> ColumnEligibility:
        function = as_text(item["function_name"])
        aggregate = "COUNT" if function == "count_star" else function.upper()
        if aggregate not in AGGREGATES:
            return _ineligible(alias, "expression" if item["is_operator"] else "function")
        called = _call_reason(item)
        reason = self._clause if called is None else called
        if reason is None and self._conditions is None:
            reason = "where"
        if reason is not None:
            return _ineligible(alias, reason)
        if function == "count_star":
            return self._stated_aggregate(aggregate, None, alias)
        column = self._only_argument(item)
        if column is None:
            return _ineligible(alias, "expression")
        return self._stated_aggregate(aggregate, column, alias)

    def _only_argument(self, item: Mapping[str, Json]) -> Column | None:
        arguments = as_items(item["arguments"])
        if len(arguments) != 1:
            return None
        return self._column(as_object(as_object(arguments[0])["expression"]))

    def _stated_aggregate(
        self, aggregate: str, column: Column | None, alias: str
    ) -> ColumnEligibility:
        reason = None if column is None else _type_reason(aggregate, column)
        if reason is not None:
            return _ineligible(alias, reason)
        table, conditions = self._table.name, self._conditions or ()
        native = Native(table, None if column is None else column.name, aggregate, conditions)
        label = label_of(native)
        return ColumnEligibility(alias or label, eligible=True, label=label, native=native)

    def _column(self, expression: Mapping[str, Json]) -> Column | None:
        """Return the native column that a reference means; a native name wins over an alias."""
        if expression.get("class") != "COLUMN_REF":
            return None
        names = [as_text(each) for each in as_items(expression["column_names"])]
        if len(names) > 1 and ascii_fold(names[0]) != self._alias:
            return None
        return self._table.column(names[-1])


def _call_reason(item: Mapping[str, Json]) -> Reason | None:
    if item["distinct"]:
        return "distinct"
    if item["filter"]:
        return "filter"
    return "ordered" if as_items(as_object(item["order_bys"])["orders"]) else None


def _type_reason(aggregate: str, column: Column) -> Reason | None:
    if aggregate in _ADDING and column.type == "double":
        return "double"
    if aggregate in _ADDING and column.type not in {"integer", "decimal"}:
        return "aggregate_type"
    return "result_type" if column.type == "other" else None


def _ineligible(name: str, reason: Reason) -> ColumnEligibility:
    return ColumnEligibility(name, eligible=False, reason=reason)
