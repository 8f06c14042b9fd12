"""The gate: DuckDB's own parser, then an allow-list over the whole tree.

What runs is the text that DuckDB renders from the validated tree, never the caller's text, and that
text must parse back to the same tree. Parsing binds nothing and reads nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.kernel.errors import Corrupt
from chancery.tabular import grammar
from chancery.tabular.copies import check_copies
from chancery.tabular.engine import Engine, EngineFailure, parser
from chancery.tabular.grouping import SETS_MAX, check_grouping
from chancery.tabular.refusals import feature_refusal, refusal
from chancery.tabular.schema import ascii_fold
from chancery.tabular.tree import as_items, as_object, as_text

SQL_BYTES_MAX = 8_192
PARTS_MAX = 1_600
DEPTH_MAX = 60
NESTING_MARKS = "(+-"
NESTING_MARKS_MAX = 600
"""Unmatched parentheses and chained signs cost DuckDB's parser quadratic time: 8,000 signs took
25.9 s, 4,000 parentheses 7.9 s; 600 of either take less than 0.2 s."""

_LOCATIONS = frozenset({"query_location", "query_location_length"})
_NAMES_MAX = 2


@dataclass(frozen=True, slots=True)
class GatedQuery:
    """A statement that passed: its canonical text, its tree, and the tables outside it."""

    canonical_sql: str
    node: Mapping[str, Json]
    tables: tuple[str, ...]

    @property
    def tree_json(self) -> str:
        """Return the validated tree as canonical JSON, without positions in the caller's text."""
        return canonical_bytes(self.node).decode()


def gate(sql: str) -> GatedQuery:
    """Return `sql` as a statement that may run; gating a canonical text gives it back unchanged.

    Raises:
        Rejected: with a code of `refusals.TEXTS` or of a feature that is not allowed.
    """
    _check_text(sql)
    engine = parser()
    node = _parsed(engine, sql)
    _Walk().check(node, "node", 0)
    canonical = _rendered(engine, node)
    _check_text(canonical)
    if _parsed(engine, canonical) != node:
        raise feature_refusal("unknown")
    return GatedQuery(canonical, node, _tables(node))


def _check_text(sql: str) -> None:
    if not sql.strip():
        raise refusal("sql_empty")
    try:
        size_bytes = len(sql.encode())
    except UnicodeEncodeError as error:
        raise refusal("sql_not_text") from error
    if size_bytes > SQL_BYTES_MAX:
        raise refusal("sql_too_long")
    if any(ord(each) < ord(" ") and each not in "\t\r\n" for each in sql):
        raise refusal("sql_not_text")
    if sum(sql.count(mark) for mark in NESTING_MARKS) > NESTING_MARKS_MAX:
        raise refusal("sql_too_complex")
    check_grouping(sql)
    check_copies(sql)


def _parsed(engine: Engine, sql: str) -> Mapping[str, Json]:
    try:
        rows = engine.fetch("SELECT json_serialize_sql($1::VARCHAR)", [sql], rows_max=1)
        answer = as_object(parse_json(str(rows[0][0])))
    except EngineFailure as failure:
        raise refusal("sql_syntax") from failure
    except Corrupt as error:
        raise refusal("sql_too_complex") from error
    if answer["error"] is True:
        selects = answer.get("error_type") != "not implemented"
        raise refusal("sql_syntax" if selects else "sql_statement_not_select")
    statements = as_items(answer["statements"])
    if not statements:
        raise refusal("sql_empty")
    if len(statements) > 1:
        raise refusal("sql_not_one_statement")
    statement = as_object(statements[0])
    if statement.get("named_param_map"):
        raise feature_refusal("parameter")
    try:
        return as_object(_without_locations(statement["node"]))
    except RecursionError as error:
        raise refusal("sql_too_complex") from error


def _rendered(engine: Engine, node: Mapping[str, Json]) -> str:
    document: Json = {"error": False, "statements": [{"node": node, "named_param_map": []}]}
    text = canonical_bytes(document).decode()
    try:
        rows = engine.fetch("SELECT json_deserialize_sql($1::JSON)", [text], rows_max=1)
    except EngineFailure as failure:
        raise refusal("sql_too_complex") from failure
    return str(rows[0][0])


def _without_locations(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {k: _without_locations(v) for k, v in value.items() if k not in _LOCATIONS}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_locations(each) for each in value]
    return value


def _tables(node: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the base tables in sorted order: the names that no CTE bears where they stand."""
    return tuple(sorted(set(_outside_ctes(node, frozenset()))))


def _outside_ctes(value: Json, ctes: frozenset[str]) -> Iterator[str]:
    """Yield the names of tables in `value` that are none of the `ctes` that are in reach there.

    A CTE reaches those after it and the query that defines it, with all that is nested in them, and
    nothing else: elsewhere its name is that of a table, or of a view of the engine's catalog.
    """
    if isinstance(value, Mapping):
        if value.get("type") == "BASE_TABLE":
            name = as_text(value["table_name"])
            if ascii_fold(name) not in ctes:
                yield name
        for entry in _ctes_of(value):
            yield from _outside_ctes(entry["value"], ctes)
            ctes |= {ascii_fold(as_text(entry["key"]))}
        for key, each in value.items():
            if key != "cte_map":
                yield from _outside_ctes(each, ctes)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from _outside_ctes(each, ctes)


def _ctes_of(query: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """Yield the CTEs that a query node defines, in their order."""
    found = query.get("cte_map")
    if found is not None:
        yield from map(as_object, as_items(as_object(found)["map"]))


class _Walk:
    """One walk over a tree, counting what it sees."""

    def __init__(self) -> None:
        self._parts = 0
        self._sets = 0

    def check(self, value: Json, position: str, depth: int) -> None:
        """Refuse `value` unless the grammar allows it at `position`."""
        self._parts += 1
        if depth > DEPTH_MAX or self._parts > PARTS_MAX:
            raise refusal("sql_too_complex")
        if not isinstance(value, Mapping):
            raise feature_refusal("unknown")
        tag_field = grammar.TAGS.get(position)
        tag = "" if tag_field is None else str(value.get(tag_field))
        shape = grammar.GRAMMAR[position].get(tag)
        if shape is None:
            raise feature_refusal(_feature(tag))
        _check_kind(tag, value)
        if tag == "SELECT_NODE":
            self._count_sets(value.get("group_sets", ()))
        for name, child in value.items():
            self._check_field(name, child, shape.get(name), depth)

    def _check_field(self, name: str, child: Json, rule: str | None, depth: int) -> None:
        kind, _, position = (rule or "").partition(" ")
        match kind:
            case "plain":
                allowed = _is_plain(child)
            case "is":
                allowed = isinstance(child, str | bool) and child in grammar.VALUES[position]
            case "empty":
                allowed = not child
            case "path":
                allowed = _is_bare_name(child)
            case "maybe" | "one":
                allowed = child is not None or kind == "maybe"
                if child is not None:
                    self.check(child, position, depth + 1)
            case "many":
                allowed = True
                for each in as_items(child):
                    self.check(each, position, depth + 1)
            case _:
                allowed = False
        if not allowed:
            raise feature_refusal(_feature(name))

    def _count_sets(self, sets: Json) -> None:
        self._sets += len(as_items(sets))
        if self._sets > SETS_MAX:
            raise refusal("sql_too_complex")


def _check_kind(tag: str, value: Mapping[str, Json]) -> None:
    """Refuse what the fields' shapes alone cannot tell: names, types and nesting."""
    match tag:
        case "FUNCTION" | "WINDOW":
            allowed = value.get("function_name") in grammar.FUNCTIONS
            _check_order(tag, value)
        case "TYPE":
            allowed = as_text(value.get("type_name")).lower() in grammar.TYPE_NAMES
        case "JOIN":
            allowed = value.get("ref_type") in grammar.JOINS
        case "COLUMN_REF":
            allowed = len(as_items(value.get("column_names"))) <= _NAMES_MAX
        case "OPERATOR" | "CONJUNCTION" | "COMPARISON" | "BETWEEN":
            allowed = value.get("type") in grammar.TYPES_OF[tag]
        case _:
            allowed = True
    if not allowed:
        name = value.get("function_name") if tag in {"FUNCTION", "WINDOW"} else None
        raise feature_refusal(_feature(tag), None if name is None else as_text(name))


def _check_order(tag: str, call: Mapping[str, Json]) -> None:
    """Refuse the first and the last of rows that are in no order."""
    name = str(call.get("function_name"))
    ordered = tag == "WINDOW" or as_items(as_object(call.get("order_bys"))["orders"])
    if name in grammar.ORDERED and not ordered:
        raise feature_refusal(_feature(name))


def _feature(name: str) -> str:
    return grammar.FEATURES.get(name, "unknown")


def _is_plain(value: Json) -> bool:
    if isinstance(value, Mapping):
        return False
    if isinstance(value, Sequence) and not isinstance(value, str):
        return all(_is_plain(each) for each in value)
    return True


def _is_bare_name(value: Json) -> bool:
    return isinstance(value, Mapping) and len(as_items(value.get("path"))) == 1
