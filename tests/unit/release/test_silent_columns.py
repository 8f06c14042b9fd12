"""Which columns of a dataset tell a restricted reader nothing of the rows that are hidden."""

from __future__ import annotations

import pytest

from chancery.authority.states import DatasetState
from chancery.events.authority import ColumnPolicy, RowFilter
from chancery.release.domain.silent_columns import silent_columns

COLUMNS = {
    "region": ColumnPolicy(type="text"),
    "amount": ColumnPolicy(type="decimal(18,2)"),
    "count": ColumnPolicy(type="integer"),
    "cost": ColumnPolicy(type="decimal", roles=("reader", "publisher")),
    "margin": ColumnPolicy(roles=("publisher",)),
    "note": ColumnPolicy(),
}


def dataset(*filters: RowFilter) -> DatasetState:
    return DatasetState(
        workspace_id="w",
        dataset_id="d",
        title="D",
        visibility="workspace",
        declarer="ada",
        columns=COLUMNS,
        row_filters=filters,
    )


@pytest.mark.req("CR-27")
def test_a_column_is_silent_when_its_type_is_exact_or_nobody_restricted_sees_it() -> None:
    northern = RowFilter(roles=("reader",), column="region", allowed=("north",))

    assert silent_columns(dataset(northern)) == ("amount", "margin", "region")
    assert silent_columns(dataset()) is None
