"""`parked`: messages that no retry could help; each is asked of the service that parked it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chancery.bus.connection import Connection
from chancery.client.command.operator import ask_owner, operator_bus
from chancery.client.command.output import (
    EXIT_DONE,
    EXIT_REFUSED,
    EXIT_UNAVAILABLE,
    WrongUsage,
    error_document,
    tell,
    tell_error,
    tell_json,
)
from chancery.client.command.settings import load_settings
from chancery.events.parked import (
    DiscardOutcome,
    DiscardParked,
    FindParked,
    OfParked,
    ParkedEntries,
    ParkedEntry,
    ParkedRetried,
    RetryParked,
)
from chancery.events.topology import (
    CONSUMERS,
    PARKING,
    Service,
    command_subject,
    query_subject,
)
from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError, NotFound, Unavailable

RETRY_TIMEOUT_S: Final = 80.0
"""Longer than a service tries."""

_SERVICES: Final[dict[str, Service]] = {consumer.name: consumer.service for consumer in CONSUMERS}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which parked messages a command means; None stands for any."""

    service: str | None = None
    consumer: str | None = None
    reason: str | None = None
    is_resolved_too: bool = False

    @property
    def services(self) -> tuple[Service, ...]:
        """Return whom to ask."""
        owner = None if self.consumer is None else _SERVICES[self.consumer]
        wanted = {name for name in (self.service, owner) if name is not None}
        return tuple(each for each in PARKING if wanted <= {each})

    def check(self) -> None:
        """Refuse what names nothing that there is.

        Raises:
            WrongUsage: naming the service or consumer.
        """
        if self.service is not None and self.service not in PARKING:
            message = f"--service is one of {', '.join(PARKING)}"
            raise WrongUsage(message, field="--service", code="unknown_service")
        if self.consumer is not None and self.consumer not in _SERVICES:
            message = f"there is no consumer {self.consumer}"
            raise WrongUsage(message, field="--consumer", code="unknown_consumer")
        if self.service is not None and self.consumer is not None and not self.services:
            message = f"{self.consumer} is no consumer of {self.service}"
            raise WrongUsage(message, field="--consumer", code="unknown_consumer")


@dataclass(frozen=True, slots=True)
class Found:
    """What the services told, and which of them did not answer."""

    entries: list[tuple[Service, ParkedEntry]]
    failures: dict[str, ChanceryError]


async def run_list(wanted: Wanted, data_dir: Path | None, *, as_json: bool) -> int:
    """List parked messages; 3 when a service did not answer."""
    wanted.check()
    async with _bus(data_dir) as bus:
        found = await find_parked(bus, wanted)
    if as_json:
        _tell_found(found)
    else:
        for service, entry in found.entries:
            tell(_line(service, entry))
        if not found.entries and not found.failures:
            tell("nothing is parked")
        for service, error in found.failures.items():
            tell_error(error, as_json=False, about=service)
    return EXIT_UNAVAILABLE if found.failures else EXIT_DONE


async def run_show(name: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Show one parked message: ids, numbers and hashes of its envelope, never its content."""
    service, place = parse_name(name)
    wish = FindParked(consumer=place.consumer, sequence=place.sequence, resolved=True)
    async with _bus(data_dir) as bus:
        found = await ask_owner(bus, query_subject(service, "parked"), wish, ParkedEntries)
    if not found.entries:
        message = f"{name} is not parked in {service}"
        raise NotFound(message, code="parked_not_found")
    document = _document(service, found.entries[0])
    if as_json:
        tell_json(document)
        return
    attributes = document.pop("attributes")
    assert isinstance(attributes, dict)
    named = {f"envelope.{key}": value for key, value in attributes.items()}
    for key, value in (document | named).items():
        if value is not None:
            tell(f"{key:<24} {value}")


async def run_retry(
    names: Sequence[str], wanted: Wanted, data_dir: Path | None, *, as_json: bool
) -> int:
    """Retry the named messages, or all that are wanted; 1 when one failed again."""
    if not names and wanted == Wanted():
        message = "name what to retry, or say --service, --consumer or --reason"
        raise WrongUsage(message, code="nothing_named")
    if names and wanted != Wanted():
        message = "name what to retry, or say which ones, not both"
        raise WrongUsage(message, code="named_twice")
    wanted.check()
    places = [parse_name(name) for name in names]
    codes = [EXIT_DONE]
    async with _bus(data_dir) as bus:
        if not names:
            found = await find_parked(bus, wanted)
            places = list[tuple[Service, OfParked]](found.entries)
            for silent, error in found.failures.items():
                tell_error(error, as_json=as_json, about=silent)
                codes.append(EXIT_UNAVAILABLE)
        for service, place in places:
            codes.append(await _retry(bus, service, place, as_json=as_json))
    if not places and not as_json:
        tell("nothing is parked")
    return max(codes)


async def run_discard(name: str, reason: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Give a parked message up; the event that says so is published first."""
    service, place = parse_name(name)
    if not reason.strip():
        message = "--reason says why, in a few words of your own"
        raise WrongUsage(message, field="--reason", code="reason_missing")
    body = DiscardParked(consumer=place.consumer, sequence=place.sequence, reason=reason.strip())
    subject = command_subject(service, "discard-parked")
    async with _bus(data_dir) as bus:
        outcome = await ask_owner(bus, subject, body, DiscardOutcome)
    if as_json:
        tell_json({"id": name, **outcome.model_dump(mode="json")})
        return
    before = "" if outcome.changed else " before"
    tell(f"{name} was discarded{before}; event {outcome.event_id} says so")


async def find_parked(bus: Connection, wanted: Wanted) -> Found:
    """Ask every wanted service at once; one that does not answer is named."""
    found, services = Found([], {}), wanted.services

    async def look(service: Service) -> None:
        try:
            async for entry in _pages(bus, service, wanted):
                found.entries.append((service, entry))
        except Unavailable as error:
            found.failures[service] = error

    async with asyncio.TaskGroup() as group:
        for service in services:
            group.create_task(look(service))
    found.entries.sort(key=lambda each: (each[0], each[1].consumer, each[1].sequence))
    return found


def parse_name(name: str) -> tuple[Service, OfParked]:
    """Return the owner and the place that a name such as `release-proposed-17` stands for.

    Raises:
        WrongUsage: it is no such name.
    """
    consumer, _, number = name.rpartition("-")
    if consumer not in _SERVICES or not (number.isascii() and number.isdigit()) or int(number) < 1:
        message = f"{name} names no parked message; `chancery parked ls` shows the names"
        raise WrongUsage(message, field="NAME", code="invalid_name")
    return _SERVICES[consumer], OfParked(consumer=consumer, sequence=int(number))


def _bus(data_dir: Path | None) -> AbstractAsyncContextManager[Connection]:
    settings = load_settings()
    return operator_bus(settings, data_dir or settings.data_dir)


async def _pages(bus: Connection, service: Service, wanted: Wanted) -> AsyncGenerator[ParkedEntry]:
    after: OfParked | None = None
    while True:
        wish = FindParked(
            consumer=wanted.consumer,
            reason=wanted.reason,
            resolved=wanted.is_resolved_too,
            after=after,
        )
        page = await ask_owner(bus, query_subject(service, "parked"), wish, ParkedEntries)
        for entry in page.entries:
            yield entry
        if not page.has_more or not page.entries:
            return
        last = page.entries[-1]
        after = OfParked(consumer=last.consumer, sequence=last.sequence)


async def _retry(bus: Connection, service: Service, place: OfParked, *, as_json: bool) -> int:
    name = _name(place)
    body = RetryParked(consumer=place.consumer, sequence=place.sequence)
    subject = command_subject(service, "retry-parked")
    try:
        retried = await ask_owner(bus, subject, body, ParkedRetried, timeout_s=RETRY_TIMEOUT_S)
    except ChanceryError as error:
        if as_json:
            tell_json({"id": name, "error": error_document(error)})
        else:
            tell_error(error, as_json=False, about=name)
        return EXIT_UNAVAILABLE if isinstance(error, Unavailable) else EXIT_REFUSED
    if as_json:
        tell_json({"id": name, **retried.model_dump(mode="json")})
    elif retried.outcome == "handled":
        tell(f"{name} was handled")
    else:
        tell(f"{name} stays parked: {retried.reason}, after {retried.attempts} attempts in all")
    return EXIT_DONE if retried.outcome == "handled" else EXIT_REFUSED


def _tell_found(found: Found) -> None:
    tell_json(
        {
            "parked": [_document(*each) for each in found.entries],
            "unavailable": [
                {"service": service, **error_document(error)}
                for service, error in found.failures.items()
            ],
        }
    )


def _document(service: Service, entry: ParkedEntry) -> dict[str, Json]:
    told: dict[str, Json] = entry.model_dump(mode="json")
    return {"id": _name(entry), "service": service, **told}


def _name(place: OfParked) -> str:
    return f"{place.consumer}-{place.sequence}"


def _line(service: Service, entry: ParkedEntry) -> str:
    when = "" if entry.parked_at is None else f" {entry.parked_at:%Y-%m-%d %H:%M:%S}"
    what = entry.event_type or "an unreadable message"
    who = f"{service} {entry.stream} {entry.sequence}"
    why = f"{entry.reason} after {entry.attempts}" if entry.attempts else entry.reason
    return f"{_name(entry)}  {entry.state}{when}  {why}  {what}  ({who}, {entry.subject})"
