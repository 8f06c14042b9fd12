"""Server-sent events as they arrive: bytes in, one frame per event out.

Source: HTML Living Standard, section 9.2. Lines end at LF only, as our server ends them: the data
of an event may hold other line separators, which belong to it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from chancery.client.errors import NotReadable
from chancery.client.handles import AnswerHandle

EVENT_BYTES_MAX = 8 * 1024 * 1024

EventKind = Literal["activity", "state", "sealed", "refused", "withheld", "end"]
_KIND: TypeAdapter[EventKind] = TypeAdapter(EventKind)
_ANSWERS = frozenset({"sealed", "refused", "withheld"})


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it was sent."""

    id: str
    event: str
    data: str


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something that happened to a run; an answer is there as a handle, never as text.

    `id` resumes the stream behind this event; `told` holds stage, counts and durations.
    """

    id: str
    kind: EventKind
    run_id: str
    generation: int | None
    told: dict[str, JsonValue]
    handle: AnswerHandle | None = None


class _Data(BaseModel):
    model_config = ConfigDict(extra="allow")

    run_id: str
    generation: int | None = None


async def frames(chunks: AsyncIterator[bytes]) -> AsyncIterator[Frame]:
    """Yield the events in a stream of bytes; comments are skipped, a torn last event is dropped.

    Raises:
        NotReadable: for an event of more than 8 MiB.
    """
    pending = bytearray()
    async for chunk in chunks:
        pending += chunk
        while (end := pending.find(b"\n\n")) >= 0:
            frame = _frame(bytes(pending[:end]))
            del pending[: end + 2]
            if frame is not None:
                yield frame
        if len(pending) > EVENT_BYTES_MAX:
            message = "an event of the run is larger than this client reads"
            raise NotReadable(message)


def run_event(frame: Frame) -> RunEvent:
    """Return the event in a frame; the content of an answer is left behind.

    Raises:
        NotReadable: for an event of another form.
    """
    try:
        kind = _KIND.validate_python(frame.event)
        data = _Data.model_validate_json(frame.data)
    except ValidationError as error:
        message = "the stream of the run holds an event that this client does not know"
        raise NotReadable(message) from error
    if kind in _ANSWERS:
        handle = AnswerHandle(data.run_id, data.generation)
        return RunEvent(frame.id, kind, data.run_id, data.generation, {}, handle)
    return RunEvent(frame.id, kind, data.run_id, data.generation, dict(data.model_extra or {}))


def _frame(block: bytes) -> Frame | None:
    fields: dict[str, str] = {}
    data: list[str] = []
    for line in block.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif name:
            fields[name] = value.removeprefix(" ")
    if not data:
        return None
    return Frame(fields.get("id", ""), fields.get("event", "message"), "\n".join(data))
