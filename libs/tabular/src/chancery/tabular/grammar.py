"""The allow-list over DuckDB's parse tree: every kind, and what each of its fields may hold.

A rule is `plain` (scalars, or lists of them), `is` followed by the name of the values it may have,
`empty` (absent or nothing in it), `path` (a name without schema or catalog), or `one`, `maybe`,
`many` followed by the position whose kinds may stand there. A kind or a field that is not listed is
refused, so a new DuckDB can only narrow the gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Shape: TypeAlias = Mapping[str, str]

_PLACE = {"query_location": "plain", "query_location_length": "plain"}
_EXPRESSION = {"class": "plain", "type": "plain", "alias": "plain", **_PLACE}
_TABLE = {"type": "plain", "alias": "plain", "sample": "empty", **_PLACE}
_NODE = {"type": "plain", "modifiers": "many modifier", "cte_map": "one ctes"}
_CALL = {
    **_EXPRESSION,
    "function_name": "plain",
    "schema": "empty",
    "catalog": "empty",
    "distinct": "is flag",
    "arguments": "many argument",
    "qualified_name": "path",
    "is_legacy_function_call": "empty",
}
_COMPARED = {**_EXPRESSION, "left": "one expression", "right": "one expression"}
_CHILDREN = {**_EXPRESSION, "children": "many expression"}

_EXPRESSIONS: Mapping[str, Shape] = {
    "COLUMN_REF": {**_EXPRESSION, "column_names": "plain"},
    "CONSTANT": {**_EXPRESSION, "literal": "one literal"},
    "FUNCTION": {
        **_CALL,
        "filter": "maybe expression",
        "order_bys": "one modifier",
        "is_operator": "is flag",
        "export_state": "empty",
    },
    "WINDOW": {
        **_CALL,
        "partitions": "many expression",
        "orders": "many order",
        "start": "is frame start",
        "end": "is frame end",
        "start_expr": "maybe expression",
        "end_expr": "maybe expression",
        "offset_expr": "empty",
        "default_expr": "empty",
        "ignore_nulls": "is flag",
        "has_ignore_nulls": "is flag",
        "filter_expr": "maybe expression",
        "exclude_clause": "is exclusion",
        "arg_orders": "many order",
    },
    "OPERATOR": _CHILDREN,
    "CONJUNCTION": _CHILDREN,
    "COMPARISON": _COMPARED,
    "BETWEEN": {
        **_EXPRESSION,
        "input": "one expression",
        "lower": "one expression",
        "upper": "one expression",
    },
    "CASE": {**_EXPRESSION, "case_checks": "many when", "else_expr": "one expression"},
    "CAST": {
        **_EXPRESSION,
        "child": "one expression",
        "try_cast": "is flag",
        "type_expr": "one type",
    },
    "SUBQUERY": {
        **_EXPRESSION,
        "subquery_type": "is subquery",
        "subquery": "one query",
        "child": "maybe expression",
        "comparison_type": "is compared",
    },
}
_STAR: Shape = {
    **_EXPRESSION,
    "relation_name": "plain",
    "exclude_list": "plain",
    "replace_list": "many replacement",
    "columns": "empty",
    "expr": "empty",
    "qualified_exclude_list": "empty",
    "rename_list": "empty",
}

GRAMMAR: Mapping[str, Mapping[str, Shape]] = {
    "node": {
        "SELECT_NODE": {
            **_NODE,
            "select_list": "many item",
            "from_table": "one table",
            "where_clause": "maybe expression",
            "group_expressions": "many expression",
            "group_sets": "plain",
            "aggregate_handling": "is grouping",
            "having": "maybe expression",
            "sample": "empty",
            "qualify": "maybe expression",
        },
        "SET_OPERATION_NODE": {
            **_NODE,
            "setop_type": "is combination",
            "setop_all": "is flag",
            "left": "empty",
            "right": "empty",
            "children": "many node",
        },
    },
    "table": {
        "EMPTY": {**_TABLE, "alias": "empty"},
        "BASE_TABLE": {
            **_TABLE,
            "schema_name": "empty",
            "catalog_name": "empty",
            "table_name": "plain",
            "column_name_alias": "empty",
            "at_clause": "empty",
            "qualified_name": "path",
        },
        "SUBQUERY": {**_TABLE, "subquery": "one query", "column_name_alias": "empty"},
        "JOIN": {
            **_TABLE,
            "alias": "empty",
            "left": "one table",
            "right": "one table",
            "condition": "maybe expression",
            "join_type": "is join",
            "ref_type": "plain",
            "using_columns": "plain",
            "delim_flipped": "empty",
            "duplicate_eliminated_columns": "empty",
            "is_implicit": "is flag",
            "ranking_expression": "empty",
            "nearest_count": "plain",
            "nearest_order_type": "plain",
            "nearest_approx": "empty",
        },
    },
    "modifier": {
        "ORDER_MODIFIER": {"type": "plain", "orders": "many order"},
        "DISTINCT_MODIFIER": {"type": "plain", "distinct_on_targets": "many expression"},
        "LIMIT_MODIFIER": {
            "type": "plain",
            "limit": "maybe expression",
            "offset": "maybe expression",
            "limit_type": "is limit",
        },
    },
    "expression": _EXPRESSIONS,
    "item": {**_EXPRESSIONS, "STAR": _STAR},
    "type": {
        "TYPE": {
            **_EXPRESSION,
            "catalog": "empty",
            "schema": "empty",
            "type_name": "plain",
            "children": "many expression",
            "qualified_name": "path",
        }
    },
    "query": {"": {"node": "one node", "named_param_map": "empty"}},
    "ctes": {"": {"map": "many cte"}},
    "cte": {"": {"key": "plain", "value": "one ctebody"}},
    "ctebody": {
        "": {
            "aliases": "empty",
            "materialized": "is materialization",
            "key_targets": "empty",
            "payload_aggregates": "empty",
            "query_node": "one node",
        }
    },
    "argument": {"": {"name": "empty", "expression": "one expression"}},
    "order": {
        "": {"type": "is direction", "null_order": "is nulls", "expression": "one expression"}
    },
    "when": {"": {"when_expr": "one expression", "then_expr": "one expression"}},
    "replacement": {"": {"key": "plain", "value": "one expression"}},
    "literal": {"": {"kind": "is literal", "text": "plain"}},
}
"""Which kinds may stand at each position, and the fields of each kind."""

TAGS: Mapping[str, str] = {
    "node": "type", "table": "type", "modifier": "type", "expression": "class", "item": "class",
    "type": "class",
}  # fmt: skip
"""The field that tells the kinds of a position apart; a position without one has a single kind."""

_FRAME_EDGES = frozenset(
    f"{edge}_{unit}"
    for edge in ("CURRENT_ROW", "EXPR_PRECEDING", "EXPR_FOLLOWING")
    for unit in ("ROWS", "RANGE", "GROUPS")
)

VALUES: Mapping[str, frozenset[str | bool]] = {
    "flag": frozenset({False, True}),
    "frame start": _FRAME_EDGES | {"UNBOUNDED_PRECEDING"},
    "frame end": _FRAME_EDGES | {"UNBOUNDED_FOLLOWING"},
    "exclusion": frozenset({"NO_OTHER", "CURRENT_ROW", "GROUP", "TIES"}),
    "subquery": frozenset({"SCALAR", "EXISTS", "ANY"}),
    "compared": frozenset(
        {
            "INVALID", "COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN",
            "COMPARE_GREATERTHAN", "COMPARE_LESSTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO",
        }
    ),
    "grouping": frozenset({"STANDARD_HANDLING", "FORCE_AGGREGATES"}),
    "combination": frozenset({"UNION", "UNION_BY_NAME", "EXCEPT", "INTERSECT"}),
    "join": frozenset({"INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"}),
    "limit": frozenset({"ROW_COUNT", "PERCENTAGE"}),
    "materialization": frozenset(
        {"CTE_MATERIALIZE_DEFAULT", "CTE_MATERIALIZE_ALWAYS", "CTE_MATERIALIZE_NEVER"}
    ),
    "direction": frozenset({"ORDER_DEFAULT", "ASCENDING", "DESCENDING"}),
    "nulls": frozenset({"ORDER_DEFAULT", "NULLS FIRST", "NULLS LAST"}),
    "literal": frozenset({"INTEGER", "NUMERIC", "STRING", "BOOLEAN", "NULL_LITERAL"}),
}  # fmt: skip
"""The values that a field with an `is` rule may have."""

TYPES_OF: Mapping[str, frozenset[str]] = {
    "OPERATOR": frozenset(
        {
            "OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE",
            "COMPARE_IN",
        }
    ),
    "CONJUNCTION": frozenset({"CONJUNCTION_AND", "CONJUNCTION_OR"}),
    "COMPARISON": frozenset(
        {
            "COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN",
            "COMPARE_LESSTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO", "COMPARE_DISTINCT_FROM",
            "COMPARE_NOT_DISTINCT_FROM",
        }
    ),
    "BETWEEN": frozenset({"COMPARE_BETWEEN"}),
}  # fmt: skip
"""The narrower types that are allowed of a class with many."""

JOINS = frozenset({"REGULAR", "CROSS"})

TYPE_NAMES = frozenset(
    {
        "boolean", "bool", "tinyint", "smallint", "integer", "int", "int4", "int8", "bigint",
        "hugeint", "decimal", "numeric", "double", "float", "real", "varchar", "text", "string",
        "date", "timestamp", "timestamptz", "timestamp with time zone", "interval",
    }
)  # fmt: skip

AGGREGATES = frozenset(
    {
        "sum", "avg", "mean", "min", "max", "count", "count_star", "count_if", "median", "mode",
        "quantile_cont", "quantile_disc", "stddev", "stddev_samp", "stddev_pop", "variance",
        "var_samp", "var_pop", "bool_and", "bool_or", "string_agg", "any_value", "first", "last",
        "arg_min", "arg_max",
    }
)  # fmt: skip

ORDERED = frozenset({"first", "last"})
"""The aggregates that mean nothing without an ORDER BY inside."""

FUNCTIONS = AGGREGATES | frozenset(
    {
        # operators
        "+", "-", "*", "/", "//", "%", "||", "~~", "!~~", "~~*", "!~~*",
        # windows
        "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead",
        "first_value", "last_value", "nth_value",
        # numbers
        "abs", "ceil", "ceiling", "floor", "round", "trunc", "sign", "sqrt", "ln", "log", "log10",
        "log2", "exp", "pow", "power", "mod", "greatest", "least", "isnan", "isinf", "isfinite",
        # texts
        "lower", "upper", "length", "trim", "ltrim", "rtrim", "substring", "substr", "left",
        "right", "replace", "concat", "concat_ws", "contains", "starts_with", "ends_with",
        "prefix", "suffix", "position", "strpos", "instr", "reverse", "split_part",
        "regexp_matches", "regexp_full_match", "regexp_replace", "regexp_extract",
        # choices
        "nullif", "if",
        # dates
        "date_part", "date_trunc", "date_diff", "datediff", "date_add", "date_sub", "strftime",
        "last_day", "make_date", "year", "month", "day", "quarter", "week", "dayofweek",
        "dayofyear", "hour", "minute", "second", "to_years", "to_months", "to_weeks", "to_days",
        "to_hours", "to_minutes", "to_seconds",
    }
)  # fmt: skip
"""The functions that a statement may call: deterministic, without side effects or settings."""

FEATURES: Mapping[str, str] = {
    "sample": "sample",
    "at_clause": "at",
    "column_name_alias": "column alias list",
    "aliases": "column alias list",
    "schema": "schema-qualified name",
    "schema_name": "schema-qualified name",
    "catalog": "schema-qualified name",
    "catalog_name": "schema-qualified name",
    "qualified_name": "schema-qualified name",
    "columns": "columns()",
    "expr": "columns()",
    "rename_list": "rename",
    "qualified_exclude_list": "qualified exclude",
    "name": "named argument",
    "key_targets": "recursive query",
    "RECURSIVE_CTE_NODE": "recursive query",
    "TABLE_FUNCTION": "table function",
    "EXPRESSION_LIST": "values list",
    "PIVOT": "pivot",
    "SHOW_REF": "show",
    "COLUMN_DATA": "table function",
    "POSITIONAL_REFERENCE": "positional reference",
    "PARAMETER": "parameter",
    "LAMBDA": "lambda",
    "COLLATE": "collation",
    "STAR": "star outside the select list",
    "OPERATOR": "operator",
    "JOIN": "join kind",
    "FUNCTION": "function",
    "WINDOW": "function",
    "TYPE": "type",
    "COLUMN_REF": "nested column",
    "first": "row order",
    "last": "row order",
    "INSERT_QUERY_NODE": "data-modifying statement",
    "DELETE_QUERY_NODE": "data-modifying statement",
    "UPDATE_QUERY_NODE": "data-modifying statement",
    "MERGE_QUERY_NODE": "data-modifying statement",
    "TRUNCATE_QUERY_NODE": "data-modifying statement",
    "COPY_QUERY_NODE": "data-modifying statement",
}
"""What a refused kind or field is called in a refusal; anything else is `unknown`."""
