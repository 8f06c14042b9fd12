"""Which columns of a dataset tell nobody of the rows that a row filter keeps from them."""

from __future__ import annotations

from chancery.authority.states import DatasetState
from chancery.tabular.inference import goes_by_rows


def silent_columns(state: DatasetState) -> tuple[str, ...] | None:
    """Return the columns whose types tell of no row, or that nobody sees whom a filter restricts.

    None says that no filter restricts anybody. What is not declared is not among them.
    """
    if not state.row_filters:
        return None
    restricted = {role for each in state.row_filters for role in each.roles}
    return tuple(
        sorted(
            name
            for name, policy in state.columns.items()
            if not goes_by_rows(policy.type) or (policy.roles and not restricted & {*policy.roles})
        )
    )
