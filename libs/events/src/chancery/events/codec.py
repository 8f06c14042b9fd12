"""Bytes to events and back; older versions are upcast here, newer or unknown ones refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from pydantic import ValidationError

from chancery.events import (
    authority,
    authority_knowledge,
    index,
    index_v1,
    intake,
    parked,
    release,
    run,
)
from chancery.events.envelope import SIZE_BYTES_MAX, Envelope, Event, EventData
from chancery.kernel.canonical import Json, exact_bytes, parse_json
from chancery.kernel.errors import Corrupt

Upcaster: TypeAlias = "Callable[[Mapping[str, Json]], Mapping[str, Json]]"
"""Turns the data of version N into the data of version N + 1."""

MODELS: Mapping[str, type[EventData]] = {
    model.TYPE: model
    for model in (
        *authority.MODELS,
        *authority_knowledge.MODELS,
        *index.MODELS,
        *index_v1.MODELS,
        *run.MODELS,
        *release.MODELS,
        *intake.MODELS,
        *parked.MODELS,
    )
}
"""Every event type and version that this build reads; it writes the newest of each."""


def _unchanged(data: Mapping[str, Json]) -> Mapping[str, Json]:
    return data


UPCASTERS: Mapping[str, tuple[str, Upcaster]] = {
    **{
        old.TYPE: (new.TYPE, _unchanged)
        for old, new in zip(index_v1.MODELS, index.MODELS, strict=True)
    },
    intake.RevisionSubmitted.TYPE: (intake.DocumentSubmitted.TYPE, _unchanged),
    intake.WithdrawalSubmitted.TYPE: (
        intake.ResourceWithdrawalSubmitted.TYPE,
        intake.resource_withdrawal_of,
    ),
}
"""From an old type to its successor's type and the function that converts the data."""


class UndecodableEvent(Corrupt):
    """The bytes are no event that this build can read; a newer version denies, never guesses."""

    code = "undecodable_event"


def encode(event: Event) -> bytes:
    """Return the structured-mode JSON of `event`; the same event gives the same bytes.

    Raises:
        UndecodableEvent: with code `event_too_large` above 256 KiB.
    """
    attributes: dict[str, Json] = event.envelope.model_dump(mode="json", exclude_none=True)
    data: dict[str, Json] = event.data.model_dump(mode="json", exclude_none=True)
    encoded = exact_bytes({**attributes, "data": data})
    if len(encoded) > SIZE_BYTES_MAX:
        message = "the event is larger than 256 KiB; carry its text as a blob"
        raise UndecodableEvent(message, code="event_too_large")
    return encoded


def decode(payload: bytes) -> Event:
    """Return the event in `payload`, upcast to its newest version.

    Raises:
        UndecodableEvent: code `malformed_event`, `unknown_event_type` or `invalid_event`.
    """
    fields = _fields(payload)
    try:
        envelope = Envelope.model_validate(fields)
    except ValidationError as error:
        message = f"the CloudEvents attributes are invalid: {_places(error)}"
        raise UndecodableEvent(message, code="invalid_event") from error
    data = fields.get("data")
    if not isinstance(data, dict):
        message = "the event has no data object"
        raise UndecodableEvent(message, field="data", code="invalid_event")
    return _decode_data(envelope, data)


def stated_type(payload: bytes) -> str | None:
    """Return the type that `payload` states, None when it states none; nothing else is checked."""
    try:
        stated = _fields(payload).get("type")
    except UndecodableEvent:
        return None
    return stated if isinstance(stated, str) else None


def _fields(payload: bytes) -> Mapping[str, Json]:
    try:
        fields = parse_json(payload)
    except Corrupt as error:
        message = "the message is not JSON"
        raise UndecodableEvent(message, code="malformed_event") from error
    if not isinstance(fields, dict):
        message = "the message is not a JSON object"
        raise UndecodableEvent(message, code="malformed_event")
    return fields


def _decode_data(envelope: Envelope, data: Mapping[str, Json]) -> Event:
    type_name = envelope.type
    decoded = _validated(type_name, data)
    while type_name in UPCASTERS:
        type_name, upcast = UPCASTERS[type_name]
        data = upcast(data)
        decoded = _validated(type_name, data)
    if type_name != envelope.type:
        envelope = envelope.model_copy(update={"type": type_name})
    return Event(envelope=envelope, data=decoded)


def _validated(type_name: str, data: Mapping[str, Json]) -> EventData:
    model = MODELS.get(type_name)
    if model is None:
        message = "the event type is unknown or newer than this build"
        raise UndecodableEvent(message, field="type", code="unknown_event_type")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        message = f"the event data is invalid: {_places(error)}"
        raise UndecodableEvent(message, code="invalid_event") from error


def _places(error: ValidationError) -> str:
    places = sorted({".".join(str(step) for step in item["loc"]) for item in error.errors()})
    return ", ".join(places)
