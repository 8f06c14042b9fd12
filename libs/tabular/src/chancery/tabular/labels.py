"""The texts in a label: each is a value that the caller may read, or a publisher declared it.

A label repeats the conditions of its statement, so that without this whoever writes a statement
could put a sentence of their own into an answer (CR-21).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from chancery.kernel.canonical import Json
from chancery.kernel.errors import Rejected
from chancery.tabular.clauses import Condition
from chancery.tabular.plan import plan
from chancery.tabular.schema import TableSchema
from chancery.tabular.tree import as_items, as_object, as_text

Basis: TypeAlias = Literal["rows", "declared"]
"""What a text rests on: the authorised rows of the column, else a measure that was published."""

_BASES: Mapping[str, Basis] = {"rows": "rows", "declared": "declared"}


@dataclass(frozen=True, slots=True)
class LabelText:
    """A condition that repeats a text, and what the text rests on (None: on nothing)."""

    condition: Condition
    basis: Basis | None


def label_texts(
    conditions: Sequence[Condition], occurring: Sequence[bool], declared: Collection[Condition] = ()
) -> tuple[LabelText, ...]:
    """Return what each condition rests on; `occurring` says of each whether the rows have it."""
    return tuple(
        LabelText(each, "rows" if found else "declared" if each in declared else None)
        for each, found in zip(conditions, occurring, strict=True)
    )


def declared_texts(
    wanted: Collection[Condition], measures: Iterable[str], table: TableSchema
) -> frozenset[Condition]:
    """Return which of the conditions the measures of `table` state.

    `measures` are canonical statements; one that rests on a column that `table` does not show to
    the caller declares nothing. Blocking: the gate parses.
    """
    found, left = set[Condition](), set(wanted)
    for sql in measures:
        if not left:
            break
        stated = left.intersection(_stated(sql, table))
        found |= stated
        left -= stated
    return frozenset(found)


def ungrounded(texts: Iterable[LabelText]) -> frozenset[Condition]:
    """Return the conditions whose texts rest on nothing."""
    return frozenset(each.condition for each in texts if each.basis is None)


def text_json(text: LabelText) -> Json:
    """Return the JSON form of a text."""
    condition = text.condition
    return {"column": condition.column, "literal": condition.literal, "basis": text.basis}


def read_texts(recorded: Json) -> tuple[LabelText, ...]:
    """Return the texts that a recorded preview tells of.

    Raises:
        Corrupt, KeyError: they have not their form.
    """
    return tuple(_read(as_object(each)) for each in as_items(recorded))


def _read(found: Mapping[str, Json]) -> LabelText:
    condition = Condition(as_text(found["column"]), as_text(found["literal"]))
    basis = found["basis"]
    return LabelText(condition, None if basis is None else _BASES[as_text(basis)])


def _stated(sql: str, table: TableSchema) -> tuple[Condition, ...]:
    try:
        return plan(sql, [table]).eligibility.texts
    except Rejected:
        return ()
