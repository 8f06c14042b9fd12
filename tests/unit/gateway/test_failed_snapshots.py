"""What a publisher is told of a snapshot that could not be made into a table."""

from __future__ import annotations

import pytest

from chancery.gateway.errors import snapshot_failed


@pytest.mark.parametrize(
    ("reason", "field", "said"),
    [
        (
            "policy_column_missing",
            "columns.custmer",
            "columns.custmer names a column that the",
        ),
        ("policy_column_missing", "row_filters.1.column", "row_filters.1.column names a column"),
        ("unknown_column", "columns.cost", "columns.cost names a column that the table does not"),
        ("measure_column_missing", "measures.m", "measures.m names a column that the table does"),
        ("invalid_measure", "measures.a.b.column", "sum and avg are of whole numbers and decimals"),
        ("invalid_measure", "measures.m.where", "measures.m.where must compare text, integer"),
        ("invalid_measure", "measures.m.other", "measures.m.other does not fit the types"),
        ("csv_value_mismatch", "columns.a.type", "does not keep every value of the file"),
        ("csv_malformed_row", None, "change snapshot"),
        ("xlsx_cell_error", "snapshot.B7", "snapshot.B7 is an error such as #N/A"),
        ("xlsx_far_cell", "snapshot.XFD1048576", "snapshot.XFD1048576 stands so far from"),
        ("parquet_unreadable", "columns.note", "columns.note cannot be read, or not be kept"),
        ("sql_timeout", "snapshot", "snapshot takes longer to read than one may"),
    ],
)
def test_a_failed_snapshot_says_what_is_wrong_with_the_field(
    reason: str, field: str | None, said: str
) -> None:
    told = snapshot_failed(reason, field)

    assert told.code == reason
    assert said in told.detail
    assert "do not append its rows again" in told.detail
