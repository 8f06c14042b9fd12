"""From a statement to what may run: the gate, the pinned tables, what is read, what is eligible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from chancery.tabular.eligibility import Eligibility, eligibility
from chancery.tabular.expansion import check_expansion
from chancery.tabular.gate import GatedQuery, gate
from chancery.tabular.lineage import Reads, reads_of, tables_of
from chancery.tabular.schema import TableSchema

PLANS_REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class Plan:
    """A gated statement over the pinned tables that it names."""

    query: GatedQuery
    tables: tuple[TableSchema, ...]
    reads: Reads
    eligibility: Eligibility

    @property
    def flat(self) -> bool:
        """Whether it is one SELECT over one table, where the two lineages must be equal."""
        return self.eligibility.reason is None


def plan(sql: str, schemas: Sequence[TableSchema]) -> Plan:
    """Return the plan of `sql` over the tables the caller may see; nothing runs.

    Raises:
        Rejected: as `gate`, `tables_of`, `check_expansion` and `reads_of`.
    """
    return _plan(sql, tuple(schemas))


@lru_cache(maxsize=PLANS_REMEMBERED)
def _plan(sql: str, schemas: tuple[TableSchema, ...]) -> Plan:
    """Plan anew what is not remembered: a measure is asked for often, over the same columns."""
    query = gate(sql)
    tables = tables_of(query, schemas)
    check_expansion(query, tables)
    return Plan(query, tables, reads_of(query, tables), eligibility(query, tables))
