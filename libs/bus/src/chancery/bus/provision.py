"""Makes a server's streams and consumers equal to the topology table, or says how they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from pydantic import BaseModel, JsonValue

from chancery.bus.connection import ApiRefused, Connection
from chancery.events import topology
from chancery.events.topology import Consumer, Service, Stream
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Rejected, Unavailable

Settings: TypeAlias = "dict[str, Json]"

_NANOSECONDS: Final = 1_000_000_000
_TIMEOUT_S: Final = 10.0
_UNCHANGEABLE: Final[Mapping[str, frozenset[str]]] = {
    "stream": frozenset({"storage", "retention"}),
    "consumer": frozenset({"ack_policy", "deliver_policy", "replay_policy"}),
}
_ONE_WAY: Final = frozenset({"deny_delete", "deny_purge", "allow_msg_ttl"})


class TopologyMismatch(Rejected):
    """The server's streams or consumers differ from the table in a way we do not change."""

    code = "topology_mismatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to provision: the table, with what a deployment may choose.

    `ack_wait_s` replaces every worker's (tests use 2 s); `replicas` is 1 or an odd number.
    """

    streams: tuple[Stream, ...] = topology.STREAMS
    consumers: tuple[Consumer, ...] = topology.CONSUMERS
    replicas: int = 1
    ack_wait_s: float | None = None


DEFAULT_PLAN: Final = Plan()


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting: what it is on the server and what the table says."""

    setting: str
    actual: Json
    wanted: Json


@dataclass(frozen=True, slots=True)
class Change:
    """What `apply` does to one stream or consumer; `sentence` is for people."""

    kind: Literal["stream", "consumer"]
    name: str
    action: Literal["create", "update"]
    stream: str
    differences: tuple[Difference, ...] = ()
    settings: Settings = field(default_factory=dict[str, Json], compare=False)

    @property
    def sentence(self) -> str:
        """Return one line that names the thing and its settings."""
        if self.action == "create":
            return f"create {self.kind} {self.name}"
        settings = ", ".join(
            f"{item.setting} from {item.actual!r} to {item.wanted!r}" for item in self.differences
        )
        return f"update {self.kind} {self.name}: {settings}"


class _Info(BaseModel):
    config: dict[str, JsonValue]


async def diff(connection: Connection, plan: Plan = DEFAULT_PLAN) -> list[Change]:
    """Return what `apply` would do, streams first.

    Raises:
        TopologyMismatch: when a setting differs that cannot be changed without losing messages.
    """
    changes: list[Change] = []
    for stream in plan.streams:
        change = await _stream_change(connection, stream, plan.replicas)
        changes.extend([change] if change is not None else [])
    missing = {change.name for change in changes if change.action == "create"}
    for consumer in plan.consumers:
        chosen = _chosen(consumer, plan)
        change = await _consumer_change(connection, chosen, is_new=consumer.stream in missing)
        changes.extend([change] if change is not None else [])
    return changes


async def apply(connection: Connection, plan: Plan = DEFAULT_PLAN) -> list[Change]:
    """Make the server equal the table and return what was changed; a second call changes nothing.

    Raises:
        TopologyMismatch: before anything is changed.
    """
    changes = await diff(connection, plan)
    for change in changes:
        await _carry_out(connection, change)
    return changes


async def check(connection: Connection, service: Service, plan: Plan = DEFAULT_PLAN) -> None:
    """Refuse to start without the streams and consumers that `service` uses.

    A different `ack_wait` or number of replicas is the operator's choice and accepted.

    Raises:
        Unavailable: something is missing; `chancery streams apply` makes it.
        TopologyMismatch: something has other settings.
    """
    needed = Plan(
        streams=tuple(item for item in plan.streams if item.name in streams_of(service)),
        consumers=tuple(item for item in plan.consumers if item.service == service),
    )
    changes = [_without_choices(change) for change in await diff(connection, needed)]
    missing = [change.name for change in changes if change is not None and _creates(change)]
    if missing:
        message = f"NATS lacks {', '.join(missing)}; run chancery streams apply"
        raise Unavailable(message, code="topology_missing")
    wrong = [change.sentence for change in changes if change is not None]
    if wrong:
        message = f"NATS differs from the table: {'; '.join(wrong)}; run chancery streams apply"
        raise TopologyMismatch(message)


def streams_of(service: Service) -> frozenset[str]:
    """Return the streams that `service` reads or writes."""
    written = {topic.stream for topic in topology.TOPICS if topic.producer == service}
    read = {consumer.stream for consumer in topology.CONSUMERS if consumer.service == service}
    return frozenset(written | read)


def stream_settings(stream: Stream, replicas: int) -> Settings:
    """Return the server's settings of `stream`; times in nanoseconds."""
    return _republish(stream) | {
        "name": stream.name,
        "description": stream.description,
        "subjects": list(stream.subjects),
        "retention": "limits",
        "storage": "file",
        "discard": "new",
        "num_replicas": replicas,
        "max_age": stream.max_age_s * _NANOSECONDS,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_msgs_per_subject": stream.subject_messages_max or -1,
        "duplicate_window": round(stream.duplicate_window_s * _NANOSECONDS),
        "deny_delete": stream.append_only,
        "deny_purge": stream.append_only,
        "allow_atomic": stream.allow_atomic,
        "allow_direct": stream.allow_direct,
        "allow_msg_ttl": stream.allow_msg_ttl,
    }


def _republish(stream: Stream) -> Settings:
    if stream.republished_to is None:
        return {}
    return {"republish": {"src": ">", "dest": stream.republished_to}}


def consumer_settings(consumer: Consumer) -> Settings:
    """Return the server's settings of `consumer`; times in nanoseconds."""
    settings: Settings = {
        "durable_name": consumer.name,
        "deliver_policy": "all",
        "replay_policy": "instant",
        "ack_policy": "none" if consumer.reader else "explicit",
        "max_deliver": -1,
    }
    if not consumer.reader:
        settings["ack_wait"] = round(consumer.ack_wait_s * _NANOSECONDS)
        settings["max_ack_pending"] = consumer.max_ack_pending
    match consumer.subjects:
        case (">",):
            pass
        case (subject,):
            settings["filter_subject"] = subject
        case subjects:
            settings["filter_subjects"] = list(subjects)
    return settings


async def _stream_change(connection: Connection, stream: Stream, replicas: int) -> Change | None:
    settings = stream_settings(stream, replicas)
    actual = await _actual(connection, f"STREAM.INFO.{stream.name}")
    return _change("stream", stream.name, stream.name, settings, actual=actual)


async def _consumer_change(
    connection: Connection, consumer: Consumer, *, is_new: bool
) -> Change | None:
    verb = f"CONSUMER.INFO.{consumer.stream}.{consumer.name}"
    actual = None if is_new else await _actual(connection, verb)
    settings = consumer_settings(consumer)
    return _change("consumer", consumer.name, consumer.stream, settings, actual=actual)


async def _actual(connection: Connection, verb: str) -> Mapping[str, JsonValue] | None:
    try:
        reply = await connection.api(verb, None, _Info, timeout_s=_TIMEOUT_S)
    except ApiRefused as error:
        if error.is_missing:
            return None
        raise _refused(verb, error) from error
    return reply.config


def _change(
    kind: Literal["stream", "consumer"],
    name: str,
    stream: str,
    settings: Settings,
    *,
    actual: Mapping[str, JsonValue] | None,
) -> Change | None:
    if actual is None:
        return Change(kind, name, "create", stream, settings=settings)
    differences = _differences(settings, actual)
    if not differences:
        return None
    for item in differences:
        _refuse_destructive(kind, name, item)
    return Change(kind, name, "update", stream, differences, settings)


def _differences(settings: Settings, actual: Mapping[str, JsonValue]) -> tuple[Difference, ...]:
    filters = {"filter_subject", "filter_subjects"} & (settings.keys() | actual.keys())
    compared = [key for key in settings if key not in filters]
    found = [
        Difference(key, _plain(actual.get(key)), settings[key])
        for key in compared
        if not _equal(actual.get(key), settings[key])
    ]
    found += [
        Difference(key, _plain(actual.get(key)), settings.get(key))
        for key in sorted(filters)
        if not _equal(actual.get(key), settings.get(key))
    ]
    return tuple(found)


def _equal(actual: JsonValue, wanted: Json) -> bool:
    """Compare; the server leaves out what is false, empty or null."""
    if not actual and not wanted:
        return True
    if isinstance(wanted, list):
        return _plain(actual) == sorted(str(item) for item in wanted)
    return actual == wanted


def _plain(value: JsonValue) -> Json:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return sorted(str(item) for item in value)
        case _:
            return str(value)


def _refuse_destructive(kind: str, name: str, item: Difference) -> None:
    one_way = item.setting in _ONE_WAY and item.actual is True
    if item.setting in _UNCHANGEABLE[kind] or one_way:
        message = (
            f"the {kind} {name} has {item.setting} {item.actual!r} and cannot get {item.wanted!r} "
            f"without losing what it holds; move it away first"
        )
        raise TopologyMismatch(message)


def _chosen(consumer: Consumer, plan: Plan) -> Consumer:
    if plan.ack_wait_s is None or consumer.reader:
        return consumer
    return replace(consumer, ack_wait_s=plan.ack_wait_s)


def _creates(change: Change) -> bool:
    return change.action == "create"


def _without_choices(change: Change) -> Change | None:
    """Drop what an operator may choose; None when nothing else differs."""
    kept = tuple(
        item for item in change.differences if item.setting not in {"ack_wait", "num_replicas"}
    )
    if change.action == "update" and not kept:
        return None
    return replace(change, differences=kept)


async def _carry_out(connection: Connection, change: Change) -> None:
    match change.kind:
        case "stream":
            verb = f"STREAM.{change.action.upper()}.{change.name}"
            body: Settings = change.settings
        case "consumer":
            verb = f"CONSUMER.CREATE.{change.stream}.{change.name}"
            body = {
                "stream_name": change.stream,
                "config": change.settings,
                "action": change.action,
            }
    try:
        await connection.api(verb, body, _Info, timeout_s=_TIMEOUT_S)
    except ApiRefused as error:
        raise _refused(f"{change.action} {change.kind} {change.name}", error) from error


def _refused(what: str, error: ApiRefused) -> TopologyMismatch:
    message = f"NATS refused to {what}: {error.detail} (error {error.error_code})"
    return TopologyMismatch(message)
