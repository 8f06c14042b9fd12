"""What the parent asks of a planner and what it gets back, as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import get_args

from chancery.kernel.canonical import Json
from chancery.tabular.clauses import Condition, Reason
from chancery.tabular.eligibility import ColumnEligibility, Eligibility, Native
from chancery.tabular.gate import GatedQuery
from chancery.tabular.plan import Plan
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.tree import as_items, as_object, as_text, texts

_REASONS: tuple[Reason, ...] = get_args(Reason)
_REASON_OF: Mapping[str, Reason] = {each: each for each in _REASONS}


def tables_request(sql: str) -> Mapping[str, Json]:
    """Return the question for the names of the tables that `sql` needs."""
    return {"kind": "tables", "sql": sql}


def plan_request(sql: str, schemas: Sequence[TableSchema]) -> Mapping[str, Json]:
    """Return the question for the plan of `sql` over these tables."""
    return {"kind": "plan", "sql": sql, "schemas": [_schema_json(each) for each in schemas]}


def declared_request(
    wanted: Collection[Condition], measures: Iterable[str], schema: TableSchema
) -> Mapping[str, Json]:
    """Return the question for which of the conditions the measures of a table state."""
    return {
        "kind": "declared",
        "wanted": conditions_json(wanted),
        "measures": list(measures),
        "schemas": [_schema_json(schema)],
    }


def schemas_of(request: Mapping[str, Json]) -> tuple[TableSchema, ...]:
    """Return the tables of a question."""
    return tuple(_schema_of(each) for each in as_items(request["schemas"]))


def plan_json(plan: Plan) -> Mapping[str, Json]:
    """Return the JSON form of a plan; of its tables only the names, which the parent knows."""
    judged = plan.eligibility
    return {
        "sql": plan.query.canonical_sql,
        "node": plan.query.node,
        "named": list(plan.query.tables),
        "tables": [each.name for each in plan.tables],
        "reads": {name: list(columns) for name, columns in plan.reads.items()},
        "columns": [_column_json(each) for each in judged.columns],
        "reason": judged.reason,
        "texts": conditions_json(judged.texts),
        "sorts": plan.sorts,
    }


def plan_of(found: Mapping[str, Json], schemas: Sequence[TableSchema]) -> Plan:
    """Return the plan over the tables that were asked about."""
    by_name = {each.name: each for each in schemas}
    judged = Eligibility(
        tuple(_column_of(as_object(each)) for each in as_items(found["columns"])),
        _reason_of(found["reason"]),
        conditions_of(found["texts"]),
    )
    return Plan(
        GatedQuery(as_text(found["sql"]), as_object(found["node"]), texts(found["named"])),
        tuple(by_name[name] for name in texts(found["tables"])),
        {name: texts(columns) for name, columns in as_object(found["reads"]).items()},
        judged,
        found["sorts"] is True,
    )


def conditions_json(conditions: Iterable[Condition]) -> Json:
    """Return the JSON form of conditions."""
    return [[each.column, each.literal] for each in conditions]


def conditions_of(found: Json) -> tuple[Condition, ...]:
    """Return the conditions of their JSON form."""
    return tuple(Condition(*texts(each)) for each in as_items(found))


def _schema_json(schema: TableSchema) -> Json:
    return [schema.name, [[each.name, each.duckdb_type] for each in schema.columns]]


def _schema_of(found: Json) -> TableSchema:
    name, columns = as_items(found)
    return TableSchema(as_text(name), tuple(column_of(*texts(each)) for each in as_items(columns)))


def _column_json(column: ColumnEligibility) -> Json:
    native = column.native
    return {
        "name": column.name,
        "eligible": column.eligible,
        "label": column.label,
        "reason": column.reason,
        "native": None if native is None else _native_json(native),
    }


def _native_json(native: Native) -> Json:
    where = conditions_json(native.where)
    return [native.table, native.column, native.aggregate, where]


def _column_of(found: Mapping[str, Json]) -> ColumnEligibility:
    native = found["native"]
    return ColumnEligibility(
        as_text(found["name"]),
        eligible=found["eligible"] is True,
        label=_maybe_text(found["label"]),
        reason=_reason_of(found["reason"]),
        native=None if native is None else _native_of(as_items(native)),
    )


def _native_of(found: Sequence[Json]) -> Native:
    table, column, aggregate, where = found
    return Native(as_text(table), _maybe_text(column), _maybe_text(aggregate), conditions_of(where))


def _reason_of(found: Json) -> Reason | None:
    return None if found is None else _REASON_OF[as_text(found)]


def _maybe_text(found: Json) -> str | None:
    return None if found is None else as_text(found)
