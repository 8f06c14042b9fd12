"""What the template does once so that no fork does it: code made warm, a database opened."""

from __future__ import annotations

import io
import tempfile

from chancery.nursery.frames import Incoming, write_frames
from chancery.tabular.engine import Engine
from chancery.tabular.loading import LoadedTable, load
from chancery.tabular.places import SNAPSHOT
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.twin import check_reads, create_tables, optimized, unoptimized

_SCHEMA = TableSchema("warm", (column_of("a", "BIGINT"), column_of("b", "VARCHAR")))
_READ = frozenset({"a", "b"})
_SELECT = "SELECT sum(a), count(*) FROM warm WHERE b = 'x' GROUP BY b ORDER BY 1"
_MADE = "SELECT range AS a, 'x' AS b FROM range(10)"


def open_empty() -> Engine:
    """Return an empty database that binds as `unoptimized` says, in a single-threaded process."""
    engine = Engine()
    unoptimized(engine)
    return engine


def warm_up() -> None:
    """Walk the way of a small query in a database that is thrown away.

    What runs for the first time in a fork costs it several milliseconds of page faults.
    """
    with open_empty() as engine:
        create_tables(engine, [_SCHEMA])
        check_reads(engine, _SELECT, {_SCHEMA.name: tuple(_READ)}, flat=True)
        engine.describe(_SELECT)
        optimized(engine)
        SNAPSHOT.open()
        load(engine, [LoadedTable(_SCHEMA, _READ, "parquet")], _one_frame(_parquet(engine)))
        SNAPSHOT.close()
        engine.fetch(_SELECT, rows_max=1)


def _parquet(engine: Engine) -> bytes:
    with tempfile.TemporaryFile() as file:
        engine.run(
            f"COPY ({_MADE}) TO '/dev/fd/{file.fileno()}' (FORMAT parquet, USE_TMP_FILE false)"
        )
        file.seek(0)
        return file.read()


def _one_frame(data: bytes) -> Incoming:
    stream = io.BytesIO()
    write_frames(stream, [data])
    stream.seek(0)
    return Incoming(stream, bytes_max=len(data))
