"""JSON Schemas (2020-12) of the models: each event with its envelope, receipts and answers."""

from __future__ import annotations

from typing import Final, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from chancery.events.codec import MODELS
from chancery.events.envelope import Envelope, EventData
from chancery.events.intake import SUBMISSIONS
from chancery.evidence.bundle import Bundle
from chancery.evidence.receipt import Receipt
from chancery.kernel.canonical import Json
from chancery.testkit.contracts.answers import RefusedAnswer, SealedAnswer, WithheldAnswer

Schema: TypeAlias = "dict[str, Json]"

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
REQUIRED: Final = ("specversion", "id", "source", "type", "subject", "time", "tenant", "data")
SUBMITTED: Final = ("specversion", "id", "source", "type", "data")
"""What is demanded of other services: what CloudEvents 1.0.2 demands, and the data."""

RECEIPTS: Final[dict[str, type[BaseModel]]] = {
    "receipt": Receipt,
    "bundle": Bundle,
    "answer-sealed": SealedAnswer,
    "answer-refused": RefusedAnswer,
    "answer-withheld": WithheldAnswer,
}


def short_name(type_name: str) -> str:
    """Return a type's name in file names: without the leading `chancery.`."""
    return type_name.removeprefix("chancery.")


def event_path(type_name: str) -> str:
    """Return the path of an event's schema below contracts/."""
    return f"events/{short_name(type_name)}.schema.json"


def event_schema(model: type[EventData]) -> Schema:
    """Return the schema of the whole CloudEvent: envelope and data.

    Further attributes and fields are allowed everywhere: readers ignore what they do not know.
    """
    envelope = _schema_of(Envelope)
    data = _schema_of(model)
    definitions = data.pop("$defs", {})
    properties = _object(envelope["properties"])
    properties["type"] = {"const": model.TYPE, "type": "string"}
    schema: Schema = {
        "$schema": DIALECT,
        "$id": f"urn:chancery:event:{short_name(model.TYPE)}",
        "title": model.TYPE,
        "description": data.pop("description"),
        "type": "object",
        "properties": {**properties, "data": data},
        "required": list(SUBMITTED if model in SUBMISSIONS else REQUIRED),
    }
    return {**schema, "$defs": definitions} if definitions else schema


def event_schemas() -> dict[str, Schema]:
    """Return the schema of every event type by its path."""
    return {event_path(name): event_schema(model) for name, model in sorted(MODELS.items())}


def receipt_schemas() -> dict[str, Schema]:
    """Return the schemas of the receipt, the bundle and the answers, by path."""
    return {f"receipts/{name}.schema.json": _named(name, model) for name, model in RECEIPTS.items()}


def component_schemas(models: list[type[BaseModel]]) -> Schema:
    """Return the schemas of `models` and of what they hold, by name, for an AsyncAPI document."""
    _, found = models_json_schema(
        [(model, "validation") for model in models],
        ref_template="#/components/schemas/{model}",
    )
    return _object(_untitled(found.get("$defs", {})))


def _named(name: str, model: type[BaseModel]) -> Schema:
    schema = _schema_of(model)
    title = name.replace("-", " ")
    return {
        "$schema": DIALECT,
        "$id": f"urn:chancery:{name}",
        **schema,
        "title": f"Chancery {title}",
    }


def _schema_of(model: type[BaseModel]) -> Schema:
    return _object(_untitled(model.model_json_schema()))


def _untitled(value: Json) -> Json:
    """Leave out pydantic's titles, which only repeat the name of a field or a model."""
    match value:
        case dict():
            kept = {key: item for key, item in value.items() if not _is_title(key, item)}
            return {key: _untitled(item) for key, item in kept.items()}
        case list():
            return [_untitled(item) for item in value]
        case _:
            return value


def _is_title(key: str, value: Json) -> bool:
    # A field that is called title has a schema, not a text.
    return key == "title" and isinstance(value, str)


def _object(value: Json) -> Schema:
    assert isinstance(value, dict)
    return value
