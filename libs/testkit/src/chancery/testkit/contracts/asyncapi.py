"""AsyncAPI 3.0 of each service, from the topology table.

FastStream cannot write these: it knows neither our own readers nor request/reply bodies.
Source: AsyncAPI 3.0.0; NATS binding 0.1.0 (stream and durable stand in its `x-` extensions).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel

from chancery.events import commands, corpora, index_requests, parked, queries, search
from chancery.events.codec import MODELS
from chancery.events.requests import Message, Reply, Request
from chancery.events.topology import REQUESTS, SERVICES, TOPICS, Producer, RequestTopic, Topic
from chancery.kernel.canonical import Json
from chancery.testkit.contracts.schemas import Schema, component_schemas, event_path, short_name
from chancery.testkit.contracts.table import durables

REPLIES: Final = "replies"
EDGE: Final = "edge"
_BINDING: Final = "0.1.0"
_PARAMETERS: Final = {
    "authority": ("tenant", "aggregate_id"),
    "cut": ("tenant",),
    "fence": (),
    "index": ("tenant", "kind", "key"),
    "run": ("tenant", "run_id"),
    "release": ("tenant", "run_id"),
    "intake": ("tenant", "principal"),
    "intake-outcome": ("tenant", "principal", "event_id"),
    "parked": ("tenant", "parked_id"),
}
"""What the `*` of a subject stand for, in order, by the subject's first token."""


def documents() -> dict[str, Schema]:
    """Return the document of every service by its path."""
    return {f"asyncapi/{party}.json": document(party) for party in (*SERVICES, EDGE)}


def document(service: Producer) -> Schema:
    """Return what `service` sends, receives, answers and asks; the edge are services of others."""
    topics = [item for item in TOPICS if service == item.producer or service in item.consumers]
    requests = [item for item in REQUESTS if service == item.server or service in item.clients]
    channels: Schema = {**_event_channels(topics), **_request_channels(requests)}
    operations: Schema = {
        **_sends(service, topics),
        **_receives(service, topics),
        **dict(_request_operations(service, requests)),
    }
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": f"Chancery {service}",
            "version": "1",
            "description": f"What the service {service} exchanges over NATS.",
        },
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": {
            "messages": {**_event_messages(topics), **_request_messages(requests)},
            "schemas": component_schemas(_bodies(requests)),
        },
    }


def address(subject: str) -> str:
    """Return a subject pattern with its `*` named: `run.{tenant}.{run_id}.admitted`."""
    first, *rest = subject.split(".")
    names = iter(_PARAMETERS[first])
    return ".".join([first, *(f"{{{next(names)}}}" if item == "*" else item for item in rest)])


def _channel_name(subject: str) -> str:
    return ".".join(token for token in subject.split(".") if token != "*")


def _event_channels(topics: list[Topic]) -> Schema:
    channels: Schema = {}
    for subject in dict.fromkeys(topic.subject for topic in topics):
        inside = [topic for topic in topics if topic.subject == subject]
        first, *_ = subject.split(".")
        parameters: Schema = {name: {} for name in _PARAMETERS[first]}
        channels[_channel_name(subject)] = {
            "address": address(subject),
            "messages": {short_name(item.type): _message(short_name(item.type)) for item in inside},
            **({"parameters": parameters} if parameters else {}),
        }
    return channels


def _request_channels(requests: list[RequestTopic]) -> Schema:
    channels: Schema = {
        item.subject: {
            "address": item.subject,
            "messages": {"request": _message(f"{item.subject}.request")},
        }
        for item in requests
    }
    if requests:
        names = [f"{item.subject}.reply" for item in requests]
        channels[REPLIES] = {
            "address": None,
            "description": "The inbox that the request names.",
            "messages": {name: _message(name) for name in names},
        }
    return channels


def _sends(service: Producer, topics: list[Topic]) -> Schema:
    mine = [topic for topic in topics if topic.producer == service]
    return {
        f"send.{_channel_name(subject)}": _operation("send", subject, mine, {})
        for subject in dict.fromkeys(topic.subject for topic in mine)
    }


def _receives(service: Producer, topics: list[Topic]) -> Schema:
    mine = [topic for topic in topics if service in topic.consumers]
    operations: Schema = {}
    for topic in mine:
        consumers = durables(service, topic)
        name = f"receive.{_channel_name(topic.subject)}"
        for consumer in consumers:
            durable: Schema = {"x-durable": consumer.name}
            operation = _operation("receive", topic.subject, mine, durable)
            operations[f"{name}.by.{consumer.name}"] = operation
        if not consumers:
            operations[name] = _operation("receive", topic.subject, mine, {})
    return operations


def _operation(action: str, subject: str, topics: list[Topic], extra: Schema) -> Schema:
    inside = [topic for topic in topics if topic.subject == subject]
    channel = f"#/channels/{_channel_name(subject)}"
    return {
        "action": action,
        "channel": {"$ref": channel},
        "messages": [{"$ref": f"{channel}/messages/{short_name(item.type)}"} for item in inside],
        "bindings": {"nats": {"bindingVersion": _BINDING, "x-stream": inside[0].stream, **extra}},
    }


def _request_operations(
    service: Producer, requests: list[RequestTopic]
) -> Iterator[tuple[str, Schema]]:
    for item in requests:
        serves = item.server == service
        channel = f"#/channels/{item.subject}"
        binding: Schema = {"bindingVersion": _BINDING, **({"queue": service} if serves else {})}
        yield (
            f"{'answer' if serves else 'ask'}.{item.subject}",
            {
                "action": "receive" if serves else "send",
                "channel": {"$ref": channel},
                "messages": [{"$ref": f"{channel}/messages/request"}],
                "reply": {
                    "address": {"location": "$message.header#/reply"},
                    "channel": {"$ref": f"#/channels/{REPLIES}"},
                    "messages": [{"$ref": f"#/channels/{REPLIES}/messages/{item.subject}.reply"}],
                },
                "bindings": {"nats": binding},
            },
        )


def _message(name: str) -> dict[str, Json]:
    return {"$ref": f"#/components/messages/{name}"}


def _event_messages(topics: list[Topic]) -> Schema:
    return {
        short_name(topic.type): {
            "name": topic.type,
            "summary": _summary(MODELS[topic.type]),
            "contentType": "application/cloudevents+json",
            "payload": {"$ref": f"../{event_path(topic.type)}"},
        }
        for topic in topics
    }


def _request_messages(requests: list[RequestTopic]) -> Schema:
    messages: Schema = {}
    for item in requests:
        request, reply = _models(item)
        messages[f"{item.subject}.request"] = _body_message(_class(item.request), request)
        messages[f"{item.subject}.reply"] = _body_message(_class(item.reply), reply)
    return messages


def _body_message(body: type[Message], whole: type[BaseModel]) -> Schema:
    name = f"{whole.__name__.partition('[')[0]}_{body.__name__}_"
    return {
        "name": body.__name__,
        "summary": _summary(body),
        "payload": {"$ref": f"#/components/schemas/{name}"},
    }


def _bodies(requests: list[RequestTopic]) -> list[type[BaseModel]]:
    found = {model.__name__: model for item in requests for model in _models(item)}
    return [found[name] for name in sorted(found)]


def _models(item: RequestTopic) -> tuple[type[BaseModel], type[BaseModel]]:
    request, reply = _class(item.request), _class(item.reply)
    return Request[request], Reply[reply]


def _class(name: str) -> type[Message]:
    homes = (commands, queries, corpora, search, index_requests, parked)
    model: object = next((vars(home)[name] for home in homes if name in vars(home)), None)
    assert isinstance(model, type)
    assert issubclass(model, Message)
    return model


def _summary(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").partition("\n")[0]
