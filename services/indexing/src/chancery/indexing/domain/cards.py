"""The measure cards of a snapshot: what a publisher declared, proven against the columns there."""

from __future__ import annotations

from chancery.events import authority
from chancery.evidence.manifest import MeasureCard
from chancery.indexing.errors import MeasureColumnMissing
from chancery.tabular.measures import Measure, measure_statement
from chancery.tabular.schema import TableSchema


def build_cards(
    table: TableSchema, measures: tuple[authority.Measure, ...]
) -> tuple[MeasureCard, ...]:
    """Return one card per declared measure, in the order of the declaration.

    Raises:
        MeasureColumnMissing: when a measure names a column that `table` does not have.
        Rejected: code `invalid_measure`, when a column's type does not fit its use.
    """
    return tuple(_card(table, measure) for measure in measures)


def _card(table: TableSchema, declared: authority.Measure) -> MeasureCard:
    named = (declared.column, *declared.where)
    if any(name is not None and table.column(name) is None for name in named):
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
