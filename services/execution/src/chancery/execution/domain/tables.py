"""What of a pinned snapshot a caller's query may hold: visible columns, allowed rows."""

from __future__ import annotations

from typing import Protocol

from chancery.evidence.manifest import DatasetManifest
from chancery.tabular.jobs import Uncut
from chancery.tabular.restricting import restricted_table
from chancery.tabular.schema import TableSchema, visible_columns


class Restricted(Protocol):
    """A pinned revision with its restrictions: a scope's entry, or an authorised revision."""

    @property
    def id(self) -> str:
        """Return the dataset's id in its workspace: the table's name."""
        ...

    @property
    def hidden_columns(self) -> tuple[str, ...]:
        """Return the columns that the caller may not see."""
        ...

    @property
    def row_filters(self) -> tuple[tuple[str, tuple[str | int | bool, ...]], ...]:
        """Return the columns and values that a row must have; all must hold."""
        ...


def visible_schema(pinned: Restricted, manifest: DatasetManifest) -> TableSchema:
    """Return the columns that the caller may see; names are compared as DuckDB compares them."""
    return TableSchema(pinned.id, visible_columns(manifest.columns, pinned.hidden_columns))


def table_of(pinned: Restricted, manifest: DatasetManifest, parquet: bytes) -> Uncut:
    """Return the snapshot with what policy leaves of it, which alone a query process may hold."""
    return restricted_table(
        pinned.id,
        manifest.columns,
        parquet,
        hidden=pinned.hidden_columns,
        row_filters=pinned.row_filters,
        declared=[card.sql for card in manifest.cards],
    )
