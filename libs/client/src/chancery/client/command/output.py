"""How the command speaks: text for people or one JSON document, and what its exit code says."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final, TypeGuard

import typer

from chancery.client.errors import ProblemError
from chancery.kernel.canonical import Json, canonical_bytes
from chancery.kernel.errors import ChanceryError, Rejected, Unavailable

EXIT_DONE = 0
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_UNAVAILABLE = 3
EXIT_UNCHECKABLE = 4

_HARMLESS = frozenset(map(ord, "\n\t"))
_CONTROLS = frozenset((*range(0x20), *range(0x7F, 0xA0))) - _HARMLESS
_DIRECTIONS = frozenset((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
"""What lets a terminal show a text in another order than it is stored and quoted in."""

_SHOWN: Final = {
    **dict.fromkeys(_CONTROLS, "\ufffd"),
    **{each: f"<U+{each:04X}>" for each in _DIRECTIONS},
}

ISSUES_ONE = "set CHANCERY_TOKEN to what `chancery token --principal NAME` prints"
"""What to do without a token, or with one that is refused."""


class WrongUsage(Rejected):
    """The command cannot mean what it was called with: options, arguments or the environment.

    That shows before anything else is looked at; what a file, a folder or the server refuses is
    another failure.
    """

    code = "usage"


@contextmanager
def speaking(*, as_json: bool) -> Generator[None]:
    """Turn a known failure into one sentence and the exit code that stands for it."""
    if not gc.isenabled():
        gc.freeze()  # all is loaded by now, and stays
        gc.enable()
    try:
        yield
    except BrokenPipeError:
        # Whoever read the output has read enough; the command line ends quietly.
        raise
    except (ChanceryError, OSError, ExceptionGroup) as error:
        told = _known(error)
        if told is None:
            raise
        tell_error(told, as_json=as_json)
        raise typer.Exit(exit_code(told)) from error


def _known(error: Exception) -> ChanceryError | None:
    """Return the failure to tell, the first of a group; None when one in it is a fault of ours."""
    if isinstance(error, ChanceryError):
        return error
    if isinstance(error, OSError):
        reason = (error.strerror or type(error).__name__).lower()
        return ChanceryError(f"{error.filename}: {reason}" if error.filename else reason)
    known = [_known(each) for each in error.exceptions] if _is_group(error) else [None]
    return None if None in known else known[0]


def _is_group(error: Exception) -> TypeGuard[ExceptionGroup[Exception]]:
    return isinstance(error, ExceptionGroup)


def exit_code(error: ChanceryError) -> int:
    """Return 3 when repeating may help, 2 for what the command was called with, else 1."""
    if isinstance(error, WrongUsage):
        return EXIT_USAGE
    if isinstance(error, ProblemError):
        is_away = error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        return EXIT_UNAVAILABLE if is_away else EXIT_REFUSED
    return EXIT_UNAVAILABLE if isinstance(error, Unavailable) else EXIT_REFUSED


def tell(line: str) -> None:
    """Print one line for people."""
    print(visible(line), flush=True)


def tell_progress(line: str) -> None:
    """Print one line about the work itself, beside the output."""
    print(visible(line), file=sys.stderr, flush=True)


def tell_json(value: Json) -> None:
    """Print one JSON document on one line."""
    print(canonical_bytes(value).decode(), flush=True)


def tell_error(error: ChanceryError, *, as_json: bool, about: str | None = None) -> None:
    """Print a failure: a sentence beside the output, or a document in its place.

    `about` names what failed when the sentence cannot.
    """
    if as_json:
        tell_json({"error": error_document(error)})
        return
    named = f"{about}: " if about else ""
    detail = _detail(error)
    # A caller of the command sends no header: the sentence names the setting instead.
    is_told = error.field is None or error.field in detail or error.field == "Authorization"
    field = "" if is_told else f"{error.field}: "
    trace_id = error.trace_id if isinstance(error, ProblemError) else None
    trace = f" (trace {trace_id})" if trace_id else ""
    tell_progress(f"chancery: {named}{field}{detail}{trace}")


def error_document(error: ChanceryError) -> dict[str, Json]:
    """Return a failure for machines."""
    return {
        "code": error.code,
        "detail": _detail(error),
        "field": error.field,
        "trace_id": error.trace_id if isinstance(error, ProblemError) else None,
    }


def _detail(error: ChanceryError) -> str:
    """Return the sentence of a failure; the server cannot say where a token comes from."""
    is_of_token = isinstance(error, ProblemError) and error.status == HTTPStatus.UNAUTHORIZED
    if is_of_token and error.code != "tenant_suspended":
        return f"{error.detail}; {ISSUES_ONE} there"
    return error.detail


def visible(text: str) -> str:
    """Return `text` as a terminal may have it: none that steers it or turns the order of signs.

    A control character is shown as a mark, and one that directs the order by its code.
    """
    return text.translate(_SHOWN)
