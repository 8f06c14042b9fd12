"""A policy that its own declaration proves wrong is refused before there is a file."""

from __future__ import annotations

import pytest

from chancery.events.authority import ColumnPolicy, RowFilter
from chancery.events.commands import DeclareDataset
from chancery.ingestion.domain import access, knowledge
from chancery.kernel.errors import Denied, NotFound, Rejected
from tests.unit.ingestion.memory_log import MemoryLog
from tests.unit.ingestion.test_execution import WORKSPACE, begun, request

OTHER = RowFilter(roles=("reader",), column="other", allowed=("x",))


def declared(declared_type: str | None, *allowed: str | int | bool) -> DeclareDataset:
    """Return a declaration whose second filter has these values, in another case of the name."""
    return DeclareDataset(
        workspace_id="ws",
        dataset_id="d",
        title="Orders",
        columns={"Day": ColumnPolicy(type=declared_type)},
        row_filters=(OTHER, RowFilter(roles=("reader",), column="day", allowed=allowed)),
    )


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    ("declaration", "place"),
    [
        (declared("date", "2024-01-02", "2024-01-02 23:00:00"), 1),
        (declared("decimal(5,2)", 7, "7.5", "7.504"), 2),
        (declared("boolean", True, 1), 1),
        (declared("timestamp", "2024-01-01T00:00:00.0000004"), 0),
        (declared("double", "9007199254740993"), 0),
    ],
)
async def test_a_filter_value_that_its_declared_type_never_has_is_refused_with_its_place(
    declaration: DeclareDataset, place: int
) -> None:
    executor = await begun(MemoryLog())
    await executor.execute(access.CREATE_WORKSPACE, request(WORKSPACE, key="w"))

    with pytest.raises(Rejected) as refused:
        await executor.execute(knowledge.DECLARE_DATASET, request(declaration))

    assert refused.value.code == "policy_filter_value"
    assert refused.value.field == f"row_filters.1.allowed.{place}"


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("declared_type", ["money", "decimal(39,2)", ""])
async def test_a_type_that_no_column_has_is_refused_with_the_types_there_are(
    declared_type: str,
) -> None:
    executor = await begun(MemoryLog())
    await executor.execute(access.CREATE_WORKSPACE, request(WORKSPACE, key="w"))

    with pytest.raises(Rejected) as refused:
        await executor.execute(knowledge.DECLARE_DATASET, request(declared(declared_type, "x")))

    told = refused.value
    assert (told.code, told.field) == ("invalid_column_type", "columns.Day.type")
    assert "boolean, date, decimal" in told.detail


@pytest.mark.req("CR-27")
async def test_a_column_that_is_declared_twice_in_another_case_is_refused() -> None:
    executor = await begun(MemoryLog())
    await executor.execute(access.CREATE_WORKSPACE, request(WORKSPACE, key="w"))
    twice = declared("date").model_copy(
        update={"columns": {"Day": ColumnPolicy(type="date"), "DAY": ColumnPolicy(type="text")}}
    )

    with pytest.raises(Rejected) as refused:
        await executor.execute(knowledge.DECLARE_DATASET, request(twice))

    assert (refused.value.code, refused.value.field) == ("duplicate_column", "columns.DAY")


@pytest.mark.parametrize(
    "declaration",
    [
        declared("date", "2024-01-02"),
        declared("decimal(5,2)", 7, "7.5", "-7.50"),
        declared(None, "2024-01-02 23:00:00"),
        declared(" Varchar ", "x"),
    ],
)
async def test_what_fits_or_cannot_be_known_yet_is_declared(declaration: DeclareDataset) -> None:
    executor = await begun(MemoryLog())
    await executor.execute(access.CREATE_WORKSPACE, request(WORKSPACE, key="w"))

    assert (await executor.execute(knowledge.DECLARE_DATASET, request(declaration))).changed


async def test_who_may_not_declare_is_told_that_first() -> None:
    executor = await begun(MemoryLog())

    with pytest.raises((NotFound, Denied)):
        await executor.execute(knowledge.DECLARE_DATASET, request(declared("date", "x")))
