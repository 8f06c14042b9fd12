"""What of a dataset's policy can be told wrong before there is a file."""

from __future__ import annotations

from chancery.events.authority import Declaration
from chancery.kernel.errors import Rejected
from chancery.tabular.filters import check_filter_value, filter_text
from chancery.tabular.inference import parse_declaration
from chancery.tabular.schema import ColumnDeclaration, fold


def check_policy(said: Declaration) -> None:
    """Refuse a type that no column has, and a filter value that its column's type never has.

    Such a value would match no row, and the publisher would never be told. A column without a
    declared type is left to the file. Of two declarations of one column one would go unheard.

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
    types = {fold(name): policy.type for name, policy in said.columns.items()}
    for number, row_filter in enumerate(said.row_filters):
        declared = types.get(fold(row_filter.column))
        if declared is None:
            continue
        for place, value in enumerate(row_filter.allowed):
            field = f"row_filters.{number}.allowed.{place}"
            check_filter_value(filter_text(value), declared, field=field)
