"""An oracle for lineage: change one cell, run the statement again, see whether its result changes.

The worlds hold everything, hidden columns included, so that a statement that could reach them
would. Tables and rows are those that the shared corpus of statements is written for.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.schema import TableSchema, column_of, quote_identifier

OWN_CORPUS = Path(__file__).parent / "lineage_queries.txt"
SHARED_CORPUS = Path(__file__).parents[3].parent / "shared" / "data" / "sql" / "lineage_queries.txt"

Rows = tuple[tuple[str, ...], ...]
"""Rows of SQL literals."""

_TYPES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "t": (("a", "INTEGER"), ("b", "VARCHAR"), ("secret", "VARCHAR")),
    "u": (("a", "INTEGER"), ("c", "VARCHAR"), ("pin", "VARCHAR")),
    "s": (
        ("id", "INTEGER"),
        ("st", "STRUCT(pub INTEGER, priv VARCHAR)"),
        ("arr", "INTEGER[]"),
    ),
    "secret": (("k", "INTEGER"),),
}
_ROWS: Mapping[str, Rows] = {
    "t": (("1", "'x'", "'s1'"), ("2", "'y'", "'s2'"), ("3", "'x'", "'s3'")),
    "u": (("1", "'c1'", "'p1'"), ("3", "'c3'", "'p3'")),
    "s": (("1", "{'pub': 1, 'priv': 'z'}", "[5, 6]"), ("2", "{'pub': 2, 'priv': 'w'}", "[7]")),
    "secret": (("42",),),
}
_HIDDEN = {("t", "secret"), ("u", "pin"), ("s", "st"), ("secret", "k")}
"""`s.st.priv` hides `s.st`: a nested field is hidden with the whole column that holds it."""

_OTHERS: Mapping[str, tuple[str, ...]] = {
    "INTEGER": ("2", "77", "NULL"),
    "VARCHAR": ("'x'", "'s1'", "NULL"),
    "STRUCT(pub INTEGER, priv VARCHAR)": (
        "{'pub': 9, 'priv': 'z'}",
        "{'pub': 1, 'priv': 'q'}",
        "NULL",
    ),
    "INTEGER[]": ("[9]", "[]", "NULL"),
}
FULL = tuple(
    TableSchema(name, tuple(column_of(*each) for each in columns))
    for name, columns in _TYPES.items()
)
"""The schemas of a caller who may see everything."""

VISIBLE = tuple(
    TableSchema(table.name, tuple(c for c in table.columns if (table.name, c.name) not in _HIDDEN))
    for table in FULL
    if table.name != "secret"
)
"""The schemas of a caller to whom `t.secret`, `u.pin`, `s.st.priv` and `secret` are hidden."""


@dataclass(frozen=True, slots=True)
class Change:
    """Other rows than the base, which differ in one column of one table."""

    table: str
    column: str
    rows: Mapping[str, Rows]

    @property
    def hidden(self) -> bool:
        """Whether only what policy hides is changed."""
        return (self.table, self.column) in _HIDDEN


BASE = Change("", "", _ROWS)


def changes() -> Iterator[Change]:
    """Yield every single changed cell, and every column changed as a whole."""
    for table, columns in _TYPES.items():
        for index, (column, duckdb_type) in enumerate(columns):
            for literal in _OTHERS[duckdb_type]:
                yield from _changed_to(table, index, literal)
            yield _shuffled(table, column, index)


def statements(corpus: Path) -> list[str]:
    """Return the statements of a corpus, one a line; a backslash with an n is a line break."""
    lines = corpus.read_text().split("\n")
    return [line.replace("\\n", "\n") for line in lines if line and not line.startswith("#")]


def open_world(change: Change = BASE, *, visible_only: bool = False) -> Engine:
    """Return a locked database that holds the rows of `change`."""
    engine = Engine()
    for schema in VISIBLE if visible_only else FULL:
        create_table(engine, schema.name, change, [column.name for column in schema.columns])
    engine.lock()
    return engine


@contextmanager
def changed(engine: Engine, change: Change) -> Generator[None]:
    """Put the rows of `change` into a world of all columns, for a while."""
    columns = [name for name, _ in _TYPES[change.table]]
    create_table(engine, change.table, change, columns)
    try:
        yield
    finally:
        create_table(engine, change.table, BASE, columns)


def create_table(engine: Engine, table: str, change: Change, columns: Sequence[str]) -> None:
    """Create one table of a world with some of its columns."""
    types = dict(_TYPES[table])
    names = [name for name, _ in _TYPES[table]]
    declared = ", ".join(f"{quote_identifier(name)} {types[name]}" for name in columns)
    engine.run(f"CREATE OR REPLACE TABLE {quote_identifier(table)} ({declared})")
    for row in change.rows[table]:
        values = ", ".join(row[names.index(name)] for name in columns)
        engine.run(f"INSERT INTO {quote_identifier(table)} VALUES ({values})")


def parquet_of(table: str, change: Change, file: Path) -> bytes:
    """Return a whole table, hidden columns included, as a snapshot holds it."""
    with Engine() as engine:
        create_table(engine, table, change, [name for name, _ in _TYPES[table]])
        engine.run(f"COPY {quote_identifier(table)} TO '{file}' (FORMAT parquet)")
    return file.read_bytes()


def results_of(engine: Engine, asked: Sequence[str]) -> list[str]:
    """Return what each statement gives, row by row, or the code with which it fails."""
    return [_result(engine, sql) for sql in asked]


def _result(engine: Engine, sql: str) -> str:
    try:
        return repr(engine.fetch(sql, rows_max=1_000))
    except EngineFailure as failure:
        return failure.code


def _changed_to(table: str, index: int, literal: str) -> Iterator[Change]:
    numbers = range(len(_ROWS[table]))
    for number in numbers:
        yield _changed(table, index, literal, {number})
    yield _changed(table, index, literal, set(numbers))


def _changed(table: str, index: int, literal: str, numbers: set[int]) -> Change:
    rows = tuple(
        (*row[:index], literal, *row[index + 1 :]) if number in numbers else row
        for number, row in enumerate(_ROWS[table])
    )
    return Change(table, _TYPES[table][index][0], {**_ROWS, table: rows})


def _shuffled(table: str, column: str, index: int) -> Change:
    """Return the column's values in reverse order: the same set, other places."""
    values = [row[index] for row in reversed(_ROWS[table])]
    rows = tuple(
        (*row[:index], value, *row[index + 1 :])
        for row, value in zip(_ROWS[table], values, strict=True)
    )
    return Change(table, column, {**_ROWS, table: rows})
