"""Traces across HTTP, requests and events; W3C `traceparent` is what travels.

Span ids are always made, so that a trace is never cut; spans leave the process only when an OTLP
endpoint or a spans file is configured. Attributes are ids, codes and counts, never content.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    Tracer,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from chancery.kernel.canonical import canonical_bytes
from chancery.kernel.errors import ChanceryError
from chancery.runtime.settings import ServiceSettings

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan

HANDLE: Final = "handle"
"""Span of a worker's handler: `handle <consumer>`."""

ANSWER: Final = "answer"
"""Span of a responder: `answer <subject>`."""

SEAL: Final = "seal"
"""Span of the sealing protocol of one run."""

Attribute = str | int | bool | float
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_FLUSH_MS: Final = 3000


@dataclass(frozen=True, slots=True)
class Telemetry:
    """One service's tracer and what sends its spans; without an exporter there is no tracer."""

    provider: TracerProvider
    tracer: Tracer | None
    closed: Event = field(default_factory=Event)

    def close(self) -> None:
        """Send what is left, within a few seconds; blocks, so call it at the very end."""
        # A context that outlives the service makes spans that go nowhere, not ones that complain.
        self.closed.set()
        self.provider.force_flush(_FLUSH_MS)
        self.provider.shutdown()


def create_telemetry(service: str, settings: ServiceSettings) -> Telemetry:
    """Return the tracer of `service` with the exporters that the settings ask for."""
    resource = Resource({SERVICE_NAME: f"chancery-{service}", "service.namespace": "chancery"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    if settings.spans_file is not None:
        exporter = SpansFile(service, settings.spans_file)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
    if settings.otlp_endpoint:
        provider.add_span_processor(BatchSpanProcessor(_otlp_exporter(settings.otlp_endpoint)))
    is_seen = settings.spans_file is not None or bool(settings.otlp_endpoint)
    return Telemetry(provider, provider.get_tracer("chancery") if is_seen else None)


def _otlp_exporter(endpoint: str) -> SpanExporter:
    # The exporter and protobuf cost several MB, so they are loaded only when asked for.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )

    return OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=5)


_current: ContextVar[Telemetry | None] = ContextVar("chancery_telemetry", default=None)
_IDS: Final = RandomIdGenerator()


def use(telemetry: Telemetry) -> None:
    """Make `span` use this tracer in the running task and those that it starts."""
    _current.set(telemetry)


def _tracer() -> Tracer | None:
    """Return the tracer in use, or None when nobody would ever see its spans."""
    used = _current.get()
    return None if used is None or used.closed.is_set() else used.tracer


def _unrecorded(context: Context | None) -> Span:
    """Return a span that is nothing but its ids, below the current one or that of a context."""
    above = trace.get_current_span(context).get_span_context()
    trace_id = above.trace_id if above.is_valid else _IDS.generate_trace_id()
    flags = above.trace_flags if above.is_valid else TraceFlags(TraceFlags.SAMPLED)
    span_id = _IDS.generate_span_id()
    return NonRecordingSpan(SpanContext(trace_id, span_id, is_remote=False, trace_flags=flags))


@contextmanager
def span(
    name: str,
    *,
    parent: str | None = None,
    kind: SpanKind = SpanKind.INTERNAL,
    ids: Mapping[str, Attribute] | None = None,
) -> Generator[Span]:
    """Run the block in a span below `parent` (a traceparent), or below the current span.

    An error is recorded by its type and code only.
    """
    context = context_of(parent) if parent is not None else None
    tracer = _tracer()
    if tracer is None:
        with trace.use_span(
            _unrecorded(context), record_exception=False, set_status_on_exception=False
        ) as opened:
            yield opened
        return
    with tracer.start_as_current_span(
        name,
        context=context,
        kind=kind,
        attributes=ids,
        record_exception=False,
        set_status_on_exception=False,
    ) as opened:
        try:
            yield opened
        except Exception as error:
            mark_failed(opened, error)
            raise


def mark_failed(opened: Span, error: BaseException) -> None:
    """Note on a span that it failed, by type and code."""
    code = error.code if isinstance(error, ChanceryError) else type(error).__name__
    opened.set_attribute("error.type", code)
    opened.set_status(StatusCode.ERROR)


def current_traceparent() -> str | None:
    """Return the traceparent of the current span, for an event or a request; None outside."""
    return traceparent_of(trace.get_current_span())


def traceparent_of(opened: Span) -> str | None:
    """Return a span's traceparent (W3C Trace Context, section 3.2), or None without valid ids."""
    found = opened.get_span_context()
    if not found.is_valid:
        return None
    return f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"


def current_trace_id() -> str:
    """Return the trace id of the current span in hex, 32 zeros outside."""
    return trace.format_trace_id(trace.get_current_span().get_span_context().trace_id)


def context_of(traceparent: str) -> Context:
    """Return the context that a traceparent names; a malformed one starts a new trace."""
    return _PROPAGATOR.extract({"traceparent": traceparent})


class SpansFile(SpanExporter):
    """Appends each span as one JSON line to a file: for end-to-end tests and benchmarks."""

    def __init__(self, service: str, path: Path) -> None:
        """Write spans of `service` to `path`, which several processes may share."""
        self._service = service
        # Opened for as long as the process lives: opening takes longer than writing.
        self._file = path.open("ab", buffering=0)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append one line per span in one write."""
        lines = b"".join(canonical_bytes(self._fields(item)) + b"\n" for item in spans)
        self._file.write(lines)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Close the file."""
        self._file.close()

    def _fields(self, item: ReadableSpan) -> dict[str, str | int | float | dict[str, str] | None]:
        context = item.get_span_context()
        parent = item.parent
        return {
            "service": self._service,
            "name": item.name,
            "trace_id": trace.format_trace_id(context.trace_id) if context else None,
            "span_id": trace.format_span_id(context.span_id) if context else None,
            "parent_id": trace.format_span_id(parent.span_id) if parent else None,
            "start_us": (item.start_time or 0) // 1000,
            "end_us": (item.end_time or 0) // 1000,
            "attributes": {key: str(value) for key, value in (item.attributes or {}).items()},
        }
