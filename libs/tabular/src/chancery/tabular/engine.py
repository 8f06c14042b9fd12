"""The one place that touches DuckDB's untyped edge; its errors leave as codes, never as texts."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import duckdb

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType
    from typing import Self


MEMORY_BYTES = 512 * 1024 * 1024
RUNTIME_MS = 10_000


class EngineFailure(Exception):
    """DuckDB refused or failed; `code` is one of the refusal codes."""

    def __init__(self, code: str) -> None:
        """Keep the code only: DuckDB's texts can carry data."""
        super().__init__(code)
        self.code = code


class Engine:
    """A fresh in-memory database of its own, in a process that stays single-threaded."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1, "async_threads": 0})
        self._cut_off = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; everything in it is gone."""
        self._connection.close()

    def lock(self, *, memory_bytes: int = MEMORY_BYTES, runtime_ms: int = RUNTIME_MS) -> None:
        """Cut the database off from files, network and settings, for good.

        Order: the temporary folder before external access (refused later), the lock last.
        """
        if not self._cut_off:
            self.cut_off()
        for setting in _bounds(memory_bytes, runtime_ms):
            self.run(f"SET {setting}")

    def cut_off(self, *paths: str) -> None:
        """Cut the database off from files and network, but for `paths`.

        Order: the temporary folder and the paths before external access (refused later).
        """
        for setting in _isolation(paths):
            self.run(f"SET {setting}")
        self._cut_off = True

    def run(self, sql: str, parameters: Sequence[object] = ()) -> None:
        """Execute `sql` and ignore its rows.

        Raises:
            EngineFailure: with the code of the failure.
        """
        with _as_codes():
            self._connection.execute(sql, list(parameters))

    def fetch(
        self, sql: str, parameters: Sequence[object] = (), *, rows_max: int
    ) -> list[tuple[object, ...]]:
        """Execute `sql` and return its first `rows_max` rows.

        Raises:
            EngineFailure: with the code of the failure.
        """
        with _as_codes():
            self._connection.execute(sql, list(parameters))
            rows: list[tuple[object, ...]] = self._connection.fetchmany(rows_max)
        return rows

    def batches(self, sql: str, *, batch_rows: int = 1_000) -> Iterator[list[tuple[object, ...]]]:
        """Execute `sql` and yield its rows, a batch at a time, as they are taken.

        Raises:
            EngineFailure: with the code of the failure.
        """
        batch = self.fetch(sql, rows_max=batch_rows)
        while batch:
            yield batch
            with _as_codes():
                batch = self._connection.fetchmany(batch_rows)

    def interrupt(self) -> None:
        """Stop the statement that another thread runs here; it fails with `sql_timeout`."""
        self._connection.interrupt()

    def describe(self, select: str) -> tuple[tuple[str, str], ...]:
        """Return (name, DuckDB type) of each result column of a SELECT, without running it.

        Raises:
            EngineFailure: `sql_not_bindable` when it does not bind.
        """
        try:
            rows = self.fetch(f"DESCRIBE {select}", rows_max=10_000)
        except EngineFailure as failure:
            raise EngineFailure(_binding_code(failure.code)) from failure
        return tuple((str(row[0]), str(row[1])) for row in rows)


class _Parser(threading.local):
    """One empty, locked database per thread, which parses and never binds (opening costs 10 ms)."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.engine.lock()


_PARSER: Final[list[_Parser]] = []
_PARSER_LOCK = threading.Lock()


def parser() -> Engine:
    """Return this thread's empty database for parsing."""
    with _PARSER_LOCK:
        if not _PARSER:
            _PARSER.append(_Parser())
    return _PARSER[0].engine


def engine_name() -> str:
    """Return what executes here, as receipts and provenance name it: `duckdb/1.4.0`."""
    return f"duckdb/{duckdb.__version__}"


@contextmanager
def _as_codes() -> Generator[None]:
    try:
        yield
    except duckdb.InterruptException as error:
        raise EngineFailure("sql_timeout") from error
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        raise EngineFailure("sql_resources") from error
    except (duckdb.Error, RuntimeError, ValueError, OverflowError) as error:
        raise EngineFailure("sql_failed") from error


def _binding_code(code: str) -> str:
    return "sql_not_bindable" if code == "sql_failed" else code


def _isolation(paths: Sequence[str]) -> tuple[str, ...]:
    allowed = (f"allowed_paths={list(paths)}",) if paths else ()
    return (
        "TimeZone='UTC'",
        "temp_directory=''",
        "enable_external_file_cache=false",
        *allowed,
        "enable_external_access=false",
        "threads=1",
        "autoinstall_known_extensions=false",
        "autoload_known_extensions=false",
        "allow_community_extensions=false",
        "python_enable_replacements=false",
    )


def _bounds(memory_bytes: int, runtime_ms: int) -> tuple[str, ...]:
    return (
        f"memory_limit='{memory_bytes // 1024}KiB'",
        f"max_execution_time={runtime_ms}",
        "lock_configuration=true",
    )
