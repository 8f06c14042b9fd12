"""From a statement to what may run: the gate, the pinned tables, what is read, what is eligible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from chancery.kernel.canonical import Json
from chancery.tabular.eligibility import Eligibility, eligibility
from chancery.tabular.expansion import check_expansion
from chancery.tabular.gate import GatedQuery, gate
from chancery.tabular.lineage import Reads, reads_of, tables_of
from chancery.tabular.ordering import needs_sorted_rows
from chancery.tabular.schema import TableSchema
from chancery.tabular.tree import as_items, as_object, objects_within

PLANS_REMEMBERED = 64
GATED_REMEMBERED = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """A gated statement over the pinned tables that it names."""

    query: GatedQuery
    tables: tuple[TableSchema, ...]
    reads: Reads
    eligibility: Eligibility
    sorts: bool
    """Whether it runs on sorted rows, because an aggregate could depend on their order."""

    @property
    def flat(self) -> bool:
        """Whether the two lineages must be equal, as no nested query has columns that go unused.

        That takes a query in FROM or in WITH, or one of which only the existence counts.
        """
        return not any(map(_may_drop_columns, objects_within(self.query.node)))


def plan(sql: str, schemas: Sequence[TableSchema]) -> Plan:
    """Return the plan of `sql` over the tables the caller may see; nothing runs.

    Raises:
        Rejected: as `gate`, `tables_of`, `check_expansion` and `reads_of`.
    """
    return _plan(sql, tuple(schemas))


@lru_cache(maxsize=GATED_REMEMBERED)
def gated(sql: str) -> GatedQuery:
    """Return `gate` of a statement, which is asked for its tables first and planned then."""
    return gate(sql)


@lru_cache(maxsize=PLANS_REMEMBERED)
def _plan(sql: str, schemas: tuple[TableSchema, ...]) -> Plan:
    """Plan anew what is not remembered: a measure is asked for often, over the same columns."""
    query = gated(sql)
    tables = tables_of(query, schemas)
    check_expansion(query, tables)
    reads = reads_of(query, tables)
    sorts = needs_sorted_rows(query, tables)
    return Plan(query, tables, reads, eligibility(query, tables), sorts)


def _may_drop_columns(part: Mapping[str, Json]) -> bool:
    if part.get("type") == "SUBQUERY" and part.get("class") is None:
        return True
    cte = part.get("cte_map")
    defines = cte is not None and bool(as_items(as_object(cte)["map"]))
    return defines or part.get("subquery_type") in {"EXISTS", "NOT_EXISTS"}
