"""What the engine raises, as errors of this service."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from chancery.retrieval.errors import IndexBroken, IndexInUse


@contextmanager
def engine_errors(tenant: str) -> Generator[None]:
    """Turn whatever the engine raises, its panics included, into `IndexBroken`."""
    try:
        yield
    except (ValueError, OSError) as error:
        if "LockBusy" in str(error):
            message = "another process writes to this index folder; set another data_dir"
            raise IndexInUse(message) from error
        raise IndexBroken(tenant) from error
    except BaseException as error:
        # A panic of the engine is no Exception; its class cannot be imported.
        if type(error).__name__ == "PanicException":
            raise IndexBroken(tenant) from error
        raise
