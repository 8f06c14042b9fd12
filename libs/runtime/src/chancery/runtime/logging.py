"""Structured logs: one JSON object per line with trace and ids, never a payload.

The text of foreign exceptions can hold content (a database's DETAIL, a parser's input), so of those
only the type and the places are written.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import MutableMapping
from typing import Final, TextIO, TypeGuard

import structlog
from opentelemetry import trace

from chancery.kernel.errors import ChanceryError

FRAMES_MAX: Final = 8

Fields = MutableMapping[str, object]


def configure_logging(service: str, level: str, stream: TextIO | None = None) -> None:
    """Write every log of this process, libraries included, as JSON lines to stderr."""
    structlog.contextvars.bind_contextvars(service=service)
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_trace,
        _describe_exception,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.PositionalArgumentsFormatter(), *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(sort_keys=True),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger; the event is a short fixed phrase, everything variable is a field."""
    return structlog.stdlib.get_logger(name)


def describe(error: BaseException) -> dict[str, object]:
    """Return what may be logged of an error: our own text, else only type and places."""
    if isinstance(error, ChanceryError):
        return {
            "error_type": type(error).__name__,
            "code": error.code,
            "detail": error.detail,
            "field": error.field,
        }
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES_MAX:]
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error_type": type(error).__name__, "places": places}


def _add_trace(logger: object, method: str, fields: Fields) -> Fields:
    del logger, method
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        fields["trace_id"] = trace.format_trace_id(context.trace_id)
        fields["span_id"] = trace.format_span_id(context.span_id)
    return fields


def _describe_exception(logger: object, method: str, fields: Fields) -> Fields:
    del logger, method
    error = _error_in(fields.pop("exc_info", None))
    if error is not None:
        fields.update(describe(error))
    return fields


def _error_in(found: object) -> BaseException | None:
    """Return the error in what the logging libraries pass as `exc_info`."""
    if found is True:
        return sys.exc_info()[1]
    candidates = found if _is_tuple(found) else (found,)
    return next((item for item in candidates if isinstance(item, BaseException)), None)


def _is_tuple(found: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(found, tuple)
