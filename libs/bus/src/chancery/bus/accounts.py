"""The NATS accounts, rendered from the topology table: who can reach which subject at all.

LOG holds the streams; every service has an account of its own and imports from LOG just the
subjects that it produces, its own consumers, and reads of its streams. Permissions inside one
account would be no boundary, since a reply subject bypasses them; an account is one: a subject
that it does not import reaches nothing but its own clients. EDGE is for those who submit; each of
its users may publish below its own prefix, and read what became of that, only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from chancery.bus.connection import API_PREFIX
from chancery.bus.provision import streams_of
from chancery.events import topology
from chancery.events.topology import Client, Consumer
from chancery.kernel.canonical import canonical_bytes
from chancery.kernel.ids import parse_id

LOG: Final = "LOG"
EDGE: Final = "EDGE"
ADMIN: Final = "chancery"
"""The operator's user in LOG, which provisions: all-powerful, and no service's."""

SERVICE_API_PREFIX: Final = "LOG.API"
"""Under what a service finds the JetStream API; an import of the same name is refused."""

PASSWORD_VARIABLE: Final = "CHANCERY_NATS_PASSWORD"  # noqa: S105 - the name of a variable

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]")
_ACKS: Final = "$JS.ACK"
_TERMINATED: Final = "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED"

Secret = Callable[[str], str]
"""Returns how the configuration names a user's password: the quoted word, or a variable."""


@dataclass(frozen=True, slots=True)
class Producer:
    """A principal that submits over the bus; its NATS user may publish below its prefix only."""

    tenant: str
    principal: str

    @property
    def user(self) -> str:
        """Return the name of its NATS user."""
        return f"{self.tenant}.{self.principal}"

    @property
    def inbox_prefix(self) -> str:
        """Return the prefix that its client must use for inboxes; nobody else can read there."""
        return f"_INBOX.{self.user}"


@dataclass(frozen=True, slots=True)
class Access:
    """A subject that `owner` exports to `clients`, which find it as `subject` or under `alias`."""

    kind: Literal["service", "stream"]
    owner: str
    subject: str
    clients: tuple[str, ...]
    alias: str | None = None
    streamed: bool = False


def account_of(party: Client) -> str:
    """Return the name of a service's account; the operator is the user that provisions."""
    return LOG if party == "operator" else party.upper()


def create_producer(tenant: str, principal: str) -> Producer:
    """Return the producer of these ids.

    Raises:
        Rejected: for an id that is none.
    """
    return Producer(
        parse_id(tenant, field="tenant"),
        parse_id(principal, field="principal"),
    )


def accesses() -> tuple[Access, ...]:
    """Return every subject that crosses a border, each once, in a stable order."""
    found: dict[tuple[str, str, str], Access] = {}
    for access in _all_accesses():
        key = (access.kind, access.owner, access.subject)
        before = found.get(key)
        clients = access.clients if before is None else before.clients + access.clients
        found[key] = Access(
            access.kind,
            access.owner,
            access.subject,
            tuple(dict.fromkeys(clients)),
            access.alias,
            access.streamed,
        )
    return tuple(found.values())


def render_accounts(secret: Secret, producers: Sequence[Producer] = ()) -> str:
    """Return the part of a server's configuration that makes the accounts and their users."""
    crossing = accesses()
    lines = ["# Rendered from the topology table; changes here are lost.", "accounts {"]
    lines += _account(LOG, [_user(ADMIN, secret)], crossing, jetstream=True)
    for service in topology.SERVICES:
        lines += _account(account_of(service), [_user(service, secret)], crossing)
    users = [_producer_user(producer, secret) for producer in producers]
    lines += _account(EDGE, users, crossing)
    return "\n".join([*lines, "}", ""])


def from_environment(user: str) -> str:
    """Return the variable that holds a user's password where a server is configured by hand."""
    own = "" if user == ADMIN else f"_{_NOT_IN_NAMES.sub('_', user).upper()}"
    return f"${PASSWORD_VARIABLE}{own}"


def quoted(text: str) -> str:
    """Return `text` as the configuration quotes it."""
    return canonical_bytes(text).decode()


def _all_accesses() -> Iterator[Access]:
    for topic in topology.TOPICS:
        if topic.producer != "edge":
            client = account_of(topic.producer)
            yield Access("service", LOG, topic.subject, (client,))
    for service in topology.SERVICES:
        for stream in sorted(streams_of(service)):
            yield _api(f"STREAM.INFO.{stream}", account_of(service))
            yield _api(f"STREAM.MSG.GET.{stream}", account_of(service))
    for consumer in topology.consumers(topology.RETRIEVAL_REPLICAS_MAX):
        yield from _of_consumer(consumer)
    for service, stream in topology.TERMINATIONS:
        yield Access("stream", LOG, f"{_TERMINATED}.{stream}.*", (account_of(service),))
    for request in topology.REQUESTS:
        clients = tuple(account_of(client) for client in request.clients)
        yield Access("service", account_of(request.server), request.subject, clients)
    for signal in topology.SIGNALS:
        clients = tuple(account_of(client) for client in signal.consumers)
        yield Access("stream", account_of(signal.producer), signal.subject, clients)
    yield from _of_edge()


def _of_consumer(consumer: Consumer) -> Iterator[Access]:
    path, client = f"{consumer.stream}.{consumer.name}", account_of(consumer.service)
    yield _api(f"CONSUMER.INFO.{path}", client)
    yield _api(f"CONSUMER.MSG.NEXT.{path}", client, streamed=True)
    if consumer.reader:
        yield _api(f"CONSUMER.RESET.{path}", client)
    else:
        yield Access("service", LOG, f"{_ACKS}.{path}.>", (client,))


def _of_edge() -> Iterator[Access]:
    for subject in topology.stream(topology.INTAKE).subjects:
        yield Access("service", LOG, subject, (EDGE,))
    for subject in topology.stream(topology.OUTCOMES).subjects:
        yield _api(f"DIRECT.GET.{topology.OUTCOMES}.{subject}", EDGE)
    # What crosses one border as a request is not handed on across another, but what the stream
    # republishes is.
    told = f"{topology.TOLD_SUBJECT.removesuffix('>')}{topology.outcome_subject('*', '*', '*')}"
    alias = topology.outcome_subject("$1", "$2", "$3")
    yield Access("stream", LOG, told, (EDGE,), alias)


def _api(verb: str, client: str, *, streamed: bool = False) -> Access:
    alias = f"{SERVICE_API_PREFIX}.{verb}"
    return Access("service", LOG, f"{API_PREFIX}.{verb}", (client,), alias, streamed)


def _account(
    name: str, users: Sequence[str], crossing: Iterable[Access], *, jetstream: bool = False
) -> list[str]:
    exports = [_export(each) for each in crossing if each.owner == name]
    imports = [_import(each) for each in crossing if name in each.clients]
    return [
        f"  {name} {{",
        *(["    jetstream: enabled"] if jetstream else []),
        *_list("users", users),
        *_list("exports", exports),
        *_list("imports", imports),
        "  }",
    ]


def _list(name: str, items: Sequence[str]) -> list[str]:
    if not items:
        return []
    return [f"    {name}: [", *(f"      {item}" for item in items), "    ]"]


def _export(access: Access) -> str:
    streamed = ", response_type: stream" if access.streamed else ""
    clients = ", ".join(access.clients)
    return f"{{{access.kind}: {quoted(access.subject)}{streamed}, accounts: [{clients}]}}"


def _import(access: Access) -> str:
    alias = "" if access.alias is None else f", to: {quoted(access.alias)}"
    origin = f"{{account: {access.owner}, subject: {quoted(access.subject)}}}"
    return f"{{{access.kind}: {origin}{alias}}}"


def _user(name: str, secret: Secret) -> str:
    return f"{{user: {quoted(name)}, password: {secret(name)}}}"


def _producer_user(producer: Producer, secret: Secret) -> str:
    tenant, principal = producer.tenant, producer.principal
    outcomes = topology.outcome_subject(tenant, principal, "*")
    asked = f"{SERVICE_API_PREFIX}.DIRECT.GET.{topology.OUTCOMES}.{outcomes}"
    publish = _words(topology.intake_subject(tenant, principal, ">"), asked)
    subscribe = _words(f"{producer.inbox_prefix}.>", outcomes)
    permissions = f"{{publish: [{publish}], subscribe: [{subscribe}]}}"
    name, password = quoted(producer.user), secret(producer.user)
    return f"{{user: {name}, password: {password}, permissions: {permissions}}}"


def _words(*subjects: str) -> str:
    return ", ".join(quoted(subject) for subject in subjects)
