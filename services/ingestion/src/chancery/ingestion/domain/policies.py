"""What of a dataset's policy can be told wrong before there is a file."""

from __future__ import annotations

from chancery.events.authority import Declaration, RowFilter
from chancery.kernel.errors import Rejected
from chancery.tabular.filters import check_filter_value, filter_text
from chancery.tabular.inference import parse_declaration
from chancery.tabular.schema import ColumnDeclaration, fold


def check_policy(said: Declaration, *, keeps_filters: bool = False) -> None:
    """Refuse a type that no column has, and a filter value that its column's type never has.

    Such a value would match no row, and the publisher would never be told. A column without a
    declared type is left to the file. Of two declarations of one column one would go unheard. Who
    `keeps_filters` sent none: there the type is what does not fit.

    Raises:
        Rejected: `duplicate_column`, `invalid_column_type` or `policy_filter_value`, with the
            place.
    """
    seen = set[str]()
    for name, policy in said.columns.items():
        if fold(name) in seen:
            detail = f"columns.{name} declares a column once more (case does not count)"
            raise Rejected(detail, field=f"columns.{name}", code="duplicate_column")
        seen.add(fold(name))
        parse_declaration(ColumnDeclaration(policy.type), field=f"columns.{name}.type")
    types = {fold(name): (name, policy.type) for name, policy in said.columns.items()}
    for number, row_filter in enumerate(said.row_filters):
        name, declared = types.get(fold(row_filter.column), ("", None))
        if declared is None:
            continue
        try:
            _check_values(number, row_filter, declared)
        except Rejected as error:
            if not keeps_filters:
                raise
            raise _kept(name, error) from error


def _check_values(number: int, row_filter: RowFilter, declared: str) -> None:
    for place, value in enumerate(row_filter.allowed):
        field = f"row_filters.{number}.allowed.{place}"
        check_filter_value(filter_text(value), declared, field=field)


def _kept(column: str, error: Rejected) -> Rejected:
    field = f"columns.{column}.type"
    detail = (
        f"{field} is not that of a value in the row_filters that the dataset has and this"
        " declaration leaves out; choose another type, or send row_filters that go with it"
    )
    return Rejected(detail, field=field, code=error.code)
