"""The measure cards of a snapshot: what a publisher declared, proven against the columns there."""

from __future__ import annotations

from collections.abc import Sequence

from chancery.authority.states import DatasetState
from chancery.events import authority
from chancery.evidence.manifest import MeasureCard
from chancery.indexing.errors import MeasureColumnMissing, PolicyColumnMissing
from chancery.tabular.measures import Measure, measure_statement
from chancery.tabular.schema import Column, TableSchema, fold


def build_cards(
    table: TableSchema, measures: tuple[authority.Measure, ...]
) -> tuple[MeasureCard, ...]:
    """Return one card per declared measure, in the order of the declaration.

    Raises:
        MeasureColumnMissing: when a measure names a column that `table` does not have.
        Rejected: code `invalid_measure`, when a column's type does not fit its use.
    """
    return tuple(_card(table, measure) for measure in measures)


def check_policy(dataset: DatasetState, columns: Sequence[Column]) -> None:
    """Refuse a policy that hides or filters a column that is not there: a slip would show it.

    `st.priv` is there when `st` is a nested column.

    Raises:
        PolicyColumnMissing: when one is not.
    """
    there = {fold(each.name): each for each in columns}
    named = [(f"columns.{name}", name) for name in dataset.columns]
    filters = enumerate(dataset.row_filters)
    named += [(f"row_filters.{number}.column", each.column) for number, each in filters]
    for field, name in named:
        whole, dot, _ = fold(name).partition(".")
        nested = dot and whole in there and there[whole].type == "other"
        if fold(name) not in there and not nested:
            message = "columns or row_filters name a column that the snapshot does not have"
            raise PolicyColumnMissing(message, field=field)


def _card(table: TableSchema, declared: authority.Measure) -> MeasureCard:
    named = (declared.column, *declared.where)
    if any(name is not None and table.declared_column(name) is None for name in named):
        message = f"measures.{declared.name} names a column that the snapshot does not have"
        raise MeasureColumnMissing(message, field=f"measures.{declared.name}")
    measure = Measure(
        name=declared.name,
        aggregate=declared.aggregate,
        column=declared.column,
        description=declared.description,
        synonyms=declared.synonyms,
        where=declared.where,
    )
    statement = measure_statement(table, measure)
    return MeasureCard(
        name=declared.name,
        description=declared.description,
        synonyms=declared.synonyms,
        label=statement.label,
        sql=statement.sql,
        aggregate=declared.aggregate,
        column=declared.column,
    )
