"""Logs: JSON lines with trace and ids, and nothing of what foreign errors say."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Generator

import pytest
import structlog

from chancery.kernel.errors import Rejected
from chancery.runtime import telemetry
from chancery.runtime.logging import configure_logging, describe, get_logger


@pytest.fixture
def stream() -> Generator[io.StringIO]:
    """Yield what the configured logs write to; the root logger is put back afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    written = io.StringIO()
    configure_logging("release", "info", written)
    yield written
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_log_line_carries_service_trace_and_ids(stream: io.StringIO) -> None:
    with telemetry.span("seal"):
        get_logger("test").info("sealed", run_id="r1")
        trace_id = telemetry.current_trace_id()

    (line,) = lines(stream)
    assert (line["event"], line["run_id"], line["service"]) == ("sealed", "r1", "release")
    assert (line["level"], line["trace_id"]) == ("info", trace_id)
    assert str(line["timestamp"]).endswith("Z")


def test_libraries_log_in_the_same_form(stream: io.StringIO) -> None:
    logging.getLogger("foreign").warning("lost %s", "connection")
    logging.getLogger("foreign").debug("noise")

    (line,) = lines(stream)
    assert (line["event"], line["logger"]) == ("lost connection", "foreign")


def test_the_text_of_a_foreign_error_is_never_written(stream: io.StringIO) -> None:
    try:
        int("the secret sentence")
    except ValueError:
        logging.getLogger("foreign").exception("it failed")
        get_logger("test").exception("it failed")

    assert "secret" not in stream.getvalue()
    assert [line["error_type"] for line in lines(stream)] == ["ValueError", "ValueError"]


def test_an_error_of_ours_is_told_by_code_and_detail() -> None:
    fields = describe(Rejected("title is too long", field="title", code="too_long"))

    assert fields == {
        "error_type": "Rejected",
        "code": "too_long",
        "detail": "title is too long",
        "field": "title",
    }
