"""What a query may hold of a snapshot: hidden columns and rows never enter it."""

from __future__ import annotations

import pytest

from chancery.events.queries import PinnedRevision
from chancery.evidence.manifest import DatasetManifest
from chancery.execution.domain.tables import table_of, visible_schema

MANIFEST = DatasetManifest(
    key="k",
    snapshot=1,
    content_sha256="a" * 64,
    extraction_sha256="b" * 64,
    extractor="csv/1",
    rows=2,
    columns=(("id", "BIGINT"), ("Salary", "BIGINT"), ("region", "VARCHAR")),
)


def pinned(
    hidden: tuple[str, ...] = (), filters: tuple[tuple[str, tuple[str | int | bool, ...]], ...] = ()
) -> PinnedRevision:
    """Return an authorised snapshot with these restrictions."""
    return PinnedRevision(
        kind="dataset",
        key="k",
        id="staff",
        title="Staff",
        revision=1,
        content_sha256="a" * 64,
        media_type="text/csv",
        size_bytes=1,
        state="ready",
        hidden_columns=hidden,
        row_filters=filters,
    )


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("name", ["salary", "Salary", "SALARY"])
def test_a_hidden_column_is_no_column_in_any_spelling(name: str) -> None:
    schema = visible_schema(pinned((name,)), MANIFEST)

    assert [column.name for column in schema.columns] == ["id", "region"]


@pytest.mark.req("CR-27")
def test_without_restriction_every_column_is_there() -> None:
    assert len(visible_schema(pinned(), MANIFEST).columns) == 3


def test_row_filters_carry_canonical_texts() -> None:
    table = table_of(pinned(filters=(("region", ("north", 7, True)),)), MANIFEST, b"")

    assert [(one.column, one.values) for one in table.filters] == [
        ("region", ("north", "7", "true"))
    ]


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("hidden", ["st.priv", "ST.priv.deep", "st"])
def test_a_hidden_nested_field_hides_the_column_that_holds_it(hidden: str) -> None:
    nested = ("st", "STRUCT(pub INTEGER, priv VARCHAR)")
    manifest = MANIFEST.model_copy(update={"columns": (*MANIFEST.columns, nested)})

    names = [column.name for column in visible_schema(pinned((hidden,)), manifest).columns]
    others = [column.name for column in visible_schema(pinned(("id.x",)), manifest).columns]

    assert names == ["id", "Salary", "region"]
    assert others == ["id", "Salary", "region", "st"]
