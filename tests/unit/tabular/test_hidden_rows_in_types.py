"""What a declared type keeps to itself: whether there are rows that a reader does not see."""

from __future__ import annotations

import pytest

from chancery.tabular.inference import goes_by_rows
from chancery.tabular.schema import ColumnDeclaration
from chancery.tabular.snapshot import convert_csv

SEEN = b"id,amount\n1,10\n"
HIDDEN = [b"2,30.1234\n", b"2,none\n", b"2,99999999999999999999\n"]


def amount(rows: bytes, **declared: str) -> str:
    types = {name: ColumnDeclaration(type=each) for name, each in declared.items()}
    (found,) = (each for each in convert_csv(rows, types).columns if each.name == "amount")
    return found.duckdb_type


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_type_that_is_not_declared_is_found_from_all_rows(hidden: bytes) -> None:
    assert amount(SEEN) != amount(SEEN + hidden), "docs/sql.md says so; declare the type"


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    ("hidden", "declared"), [(HIDDEN[0], "decimal(18,4)"), (HIDDEN[1], "text")]
)
def test_a_declared_type_tells_of_no_row(hidden: bytes, declared: str) -> None:
    alone = amount(SEEN, amount=declared)

    assert amount(SEEN + hidden, amount=declared) == alone


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(("hidden", "declared"), [(HIDDEN[0], "decimal"), (HIDDEN[2], "integer")])
def test_a_family_without_its_digits_still_goes_by_all_rows(hidden: bytes, declared: str) -> None:
    told = amount(SEEN + hidden, amount=declared)

    assert told != amount(SEEN, amount=declared), "docs/sql.md says so; declare the digits"
    assert amount(SEEN + HIDDEN[2], amount="decimal(38,4)") == amount(SEEN, amount="decimal(38,4)")


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    ("declared", "goes_by"),
    [
        (None, True),
        ("integer", True),
        (" BIGINT ", True),
        ("decimal", True),
        ("no such type", True),
        ("decimal(18,2)", False),
        ("text", False),
        ("double", False),
        ("boolean", False),
        ("date", False),
        ("timestamp", False),
        ("timestamptz", False),
    ],
)
def test_which_declared_types_go_by_all_rows(declared: str | None, goes_by: bool) -> None:
    assert goes_by_rows(declared) is goes_by
