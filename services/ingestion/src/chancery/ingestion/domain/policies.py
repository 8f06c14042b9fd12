"""What of a dataset's policy can be told wrong before there is a file."""

from __future__ import annotations

from chancery.events.authority import Declaration
from chancery.kernel.errors import Rejected
from chancery.tabular.filters import check_filter_value, filter_text
from chancery.tabular.schema import fold


def check_row_filters(said: Declaration) -> None:
    """Refuse a filter value that can be none of the type that its column is declared with.

    It would match no row, and the publisher would never be told. A type that is none is left to the
    file, as is a column without a declared type.

    Raises:
        Rejected: `policy_filter_value`, with the place of the value.
    """
    types = {fold(name): policy.type for name, policy in said.columns.items()}
    for number, row_filter in enumerate(said.row_filters):
        declared = types.get(fold(row_filter.column))
        if declared is None:
            continue
        for place, value in enumerate(row_filter.allowed):
            field = f"row_filters.{number}.allowed.{place}"
            _check(filter_text(value), declared, field)


def _check(text: str, declared: str, field: str) -> None:
    try:
        check_filter_value(text, declared, field=field)
    except Rejected as refused:
        if refused.code != "invalid_column_type":
            raise
