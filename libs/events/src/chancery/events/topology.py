"""The one table of streams, consumers, subjects and requests; nothing else spells a subject.

`chancery streams apply` makes a server match it; AsyncAPI, topology.json and the accounts are
rendered from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

DAY_S: Final = 86_400

Service = Literal["gateway", "ingestion", "indexing", "retrieval", "execution", "release"]
SERVICES: Final[tuple[Service, ...]] = (
    "gateway",
    "ingestion",
    "indexing",
    "retrieval",
    "execution",
    "release",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A stream as it has to be: file storage, discard new, deny delete and purge.

    `max_age_s` 0 keeps for ever. `append_only` streams refuse deletes and purges.
    """

    name: str
    subjects: tuple[str, ...]
    description: str
    max_age_s: int = 0
    append_only: bool = True
    allow_atomic: bool = True
    allow_msg_ttl: bool = False
    allow_direct: bool = False
    duplicate_window_s: int = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """A durable pull consumer; a `reader` acknowledges nothing and is reset at each start.

    `ack_wait_s` and `max_ack_pending` hold for workers only.
    """

    name: str
    stream: str
    service: Service
    subjects: tuple[str, ...]
    reader: bool = False
    ack_wait_s: float = 30
    max_ack_pending: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """An event type: where it is stored, who produces it, who consumes it."""

    type: str
    stream: str
    subject: str
    producer: Service
    consumers: tuple[Service, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTopic:
    """A request/reply subject: who answers, who may ask, and the models of both directions.

    `request` and `reply` name classes of chancery.events.commands or chancery.events.queries.
    """

    subject: str
    server: Service
    clients: tuple[Service, ...]
    request: str
    reply: str


AUTHORITY: Final = "AUTHORITY"
INDEX: Final = "INDEX"
RUNS: Final = "RUNS"
RELEASES: Final = "RELEASES"
FENCE_SUBJECT: Final = "fence"

STREAMS: Final[tuple[Stream, ...]] = (
    Stream(
        name=AUTHORITY,
        subjects=("authority.>", "cut.*", FENCE_SUBJECT),
        description="Everything a release decision depends on, and the cuts.",
        allow_msg_ttl=True,
    ),
    Stream(
        name=INDEX,
        subjects=("index.>",),
        description="Extractions and index state of every published revision.",
    ),
    Stream(
        name=RUNS,
        subjects=("run.>",),
        description="The stages of every run.",
        max_age_s=30 * DAY_S,
        append_only=False,
    ),
    Stream(
        name=RELEASES,
        subjects=("release.>",),
        description="What was sealed and what was refused, by hash.",
    ),
)

INDEXING_PUBLICATIONS: Final = "indexing-publications"
RETRIEVAL_INDEX: Final = "retrieval-index"
RETRIEVAL_RUNS: Final = "retrieval-runs"
EXECUTION_RUNS: Final = "execution-runs"
RELEASE_AUTHORITY: Final = "release-authority"
RELEASE_INDEX: Final = "release-index"
RELEASE_REQUESTED: Final = "release-requested"
RELEASE_GATHERED: Final = "release-gathered"
RELEASE_PROPOSED: Final = "release-proposed"
RELEASE_CANCELLED: Final = "release-cancelled"
RELEASE_ACTIVITY: Final = "release-activity"

CONSUMERS: Final[tuple[Consumer, ...]] = (
    Consumer(
        name=INDEXING_PUBLICATIONS,
        stream=AUTHORITY,
        service="indexing",
        subjects=("authority.*.source.*", "authority.*.dataset.*"),
        max_ack_pending=64,
    ),
    Consumer(
        name=RETRIEVAL_INDEX, stream=INDEX, service="retrieval", subjects=("index.>",), reader=True
    ),
    Consumer(
        name=RETRIEVAL_RUNS,
        stream=RUNS,
        service="retrieval",
        subjects=("run.*.*.admitted",),
    ),
    Consumer(name=EXECUTION_RUNS, stream=RUNS, service="execution", subjects=("run.*.*.gathered",)),
    Consumer(
        name=RELEASE_AUTHORITY, stream=AUTHORITY, service="release", subjects=(">",), reader=True
    ),
    Consumer(
        name=RELEASE_INDEX, stream=INDEX, service="release", subjects=("index.>",), reader=True
    ),
    Consumer(
        name=RELEASE_REQUESTED, stream=RUNS, service="release", subjects=("run.*.*.requested",)
    ),
    Consumer(name=RELEASE_GATHERED, stream=RUNS, service="release", subjects=("run.*.*.gathered",)),
    Consumer(name=RELEASE_PROPOSED, stream=RUNS, service="release", subjects=("run.*.*.proposed",)),
    Consumer(
        name=RELEASE_CANCELLED, stream=RUNS, service="release", subjects=("run.*.*.cancelled",)
    ),
    Consumer(name=RELEASE_ACTIVITY, stream=RUNS, service="release", subjects=("run.*.*.activity",)),
)


def stream(name: str) -> Stream:
    """Return the stream called `name`; an unknown name is a bug (KeyError)."""
    return {item.name: item for item in STREAMS}[name]


def consumer(name: str) -> Consumer:
    """Return the consumer called `name`; an unknown name is a bug (KeyError)."""
    return {item.name: item for item in CONSUMERS}[name]


def authority_subject(tenant: str, kind: str, aggregate_id: str) -> str:
    """Return the literal subject of one aggregate."""
    return f"authority.{tenant}.{kind}.{aggregate_id}"


def cut_subject(tenant: str) -> str:
    """Return the subject of a tenant's cuts."""
    return f"cut.{tenant}"


def index_subject(tenant: str, kind: str, key: str) -> str:
    """Return the literal subject of one resource's index events."""
    return f"index.{tenant}.{kind}.{key}"


def run_subject(tenant: str, run_id: str, event: str) -> str:
    """Return the subject of one stage's event, for example `requested`."""
    return f"run.{tenant}.{run_id}.{event}"


def release_subject(tenant: str, run_id: str, event: str) -> str:
    """Return the subject of `sealed` or `refused`."""
    return f"release.{tenant}.{run_id}.{event}"


def nudge_subject(tenant: str, run_id: str) -> str:
    """Return the core NATS subject that says: there is something new of this run."""
    return f"nudge.{tenant}.{run_id}"


def command_subject(service: Service, verb: str) -> str:
    """Return the request subject of a command, version 1."""
    return f"command.{service}.{verb}.v1"


def query_subject(service: Service, noun: str) -> str:
    """Return the request subject of a read-only question, version 1."""
    return f"query.{service}.{noun}.v1"


def _commands(server: Service, *verbs: tuple[str, str, str]) -> tuple[RequestTopic, ...]:
    return tuple(
        RequestTopic(
            subject=command_subject(server, verb),
            server=server,
            clients=("gateway",),
            request=request,
            reply=reply,
        )
        for verb, request, reply in verbs
    )


def _queries(server: Service, *nouns: tuple[str, str, str]) -> tuple[RequestTopic, ...]:
    return tuple(
        RequestTopic(
            subject=query_subject(server, noun),
            server=server,
            clients=("gateway",),
            request=request,
            reply=reply,
        )
        for noun, request, reply in nouns
    )


REQUESTS: Final[tuple[RequestTopic, ...]] = (
    *_commands(
        "ingestion",
        ("create-workspace", "CreateWorkspace", "Outcome"),
        ("close-workspace", "CloseWorkspace", "Outcome"),
        ("add-member", "AddMember", "Outcome"),
        ("remove-member", "RemoveMember", "Outcome"),
        ("join-group", "JoinGroup", "Outcome"),
        ("leave-group", "LeaveGroup", "Outcome"),
        ("issue-credential", "IssueCredential", "CredentialIssuedOutcome"),
        ("revoke-credential", "RevokeCredential", "Outcome"),
        ("revise-policy", "RevisePolicy", "Outcome"),
        ("declare-source", "DeclareSource", "Outcome"),
        ("publish-revision", "PublishRevision", "PublishedOutcome"),
        ("declare-dataset", "DeclareDataset", "Outcome"),
        ("publish-snapshot", "PublishSnapshot", "PublishedOutcome"),
        ("grant", "ChangeGrant", "Outcome"),
        ("revoke-grant", "ChangeGrant", "Outcome"),
        ("withdraw", "ChangeServing", "Outcome"),
        ("restore", "ChangeServing", "Outcome"),
    ),
    *_queries("ingestion", ("upload-permission", "CheckUpload", "Outcome")),
    *_commands(
        "release",
        ("create-conversation", "CreateConversation", "ConversationCreated"),
        ("post-message", "PostMessage", "MessagePosted"),
    ),
    *_queries(
        "release",
        ("identity", "WhoAmI", "Identity"),
        ("authorise", "OfResource", "PinnedRevision"),
        ("sources", "OfWorkspace", "ResourceList"),
        ("source", "OfResource", "ResourceView"),
        ("datasets", "OfWorkspace", "DatasetScope"),
        ("credential", "OfCredential", "CredentialView"),
        ("policy", "OfWorkspace", "PolicyView"),
        ("run", "OfRun", "Document"),
        ("answer", "OfRun", "Document"),
        ("audit", "OfRun", "Document"),
        ("bundle", "OfRun", "Document"),
        ("events", "EventsAfter", "EventRows"),
        ("conversation", "OfConversation", "Document"),
    ),
    *_queries(
        "execution",
        ("sql", "RunQuery", "QueryResult"),
        ("schema", "PinnedRevision", "DatasetSchema"),
    ),
)
"""Every request/reply subject."""


def _topics(
    stream_name: str, producer: Service, *rows: tuple[str, str, tuple[Service, ...]]
) -> tuple[Topic, ...]:
    return tuple(
        Topic(type=type_, stream=stream_name, subject=subject, producer=producer, consumers=to)
        for type_, subject, to in rows
    )


_AUTHORITY_TYPES: Final = {
    "tenant": ("created", "suspended", "resumed"),
    "workspace": ("created", "closed"),
    "principal": (
        "credential-issued",
        "credential-revoked",
        "member-added",
        "member-removed",
        "group-joined",
        "group-left",
        "tenant-admin-granted",
        "tenant-admin-revoked",
    ),
    "source": (
        "declared",
        "authority-set",
        "revision-published",
        "revision-withdrawn",
        "restored",
        "visibility-changed",
        "granted",
        "grant-revoked",
    ),
    "dataset": ("declared", "snapshot-published", "withdrawn", "granted", "grant-revoked"),
    "policy": ("revised",),
}

_INDEX_TYPES: Final = ("pending", "extracted", "ready", "failed", "excluded", "unavailable")

TOPICS: Final[tuple[Topic, ...]] = (
    *(
        Topic(
            type=f"chancery.{kind}.{event}.v1",
            stream=AUTHORITY,
            subject=f"authority.*.{kind}.*",
            producer="ingestion",
            consumers=("indexing", "release") if kind in ("source", "dataset") else ("release",),
        )
        for kind, events in _AUTHORITY_TYPES.items()
        for event in events
    ),
    *_topics(
        AUTHORITY,
        "release",
        ("chancery.cut.taken.v1", "cut.*", ("release",)),
        ("chancery.fence.raised.v1", FENCE_SUBJECT, ("release",)),
    ),
    *(
        Topic(
            type=f"chancery.index.revision-{state}.v1",
            stream=INDEX,
            subject="index.*.*.*",
            producer="indexing",
            consumers=("retrieval", "release"),
        )
        for state in _INDEX_TYPES
    ),
    *_topics(
        RUNS,
        "gateway",
        ("chancery.run.requested.v1", "run.*.*.requested", ("release",)),
        ("chancery.run.cancelled.v1", "run.*.*.cancelled", ("release",)),
    ),
    *_topics(
        RUNS,
        "release",
        ("chancery.run.admitted.v1", "run.*.*.admitted", ("retrieval", "execution")),
        ("chancery.run.expired.v1", "run.*.*.expired", ()),
    ),
    *_topics(
        RUNS,
        "retrieval",
        ("chancery.run.gathered.v1", "run.*.*.gathered", ("execution", "release")),
    ),
    *_topics(
        RUNS,
        "execution",
        ("chancery.run.activity-recorded.v1", "run.*.*.activity", ("release",)),
        ("chancery.run.proposed.v1", "run.*.*.proposed", ("release",)),
    ),
    *_topics(
        RELEASES,
        "release",
        ("chancery.release.sealed.v1", "release.*.*.sealed", ()),
        ("chancery.release.refused.v1", "release.*.*.refused", ()),
    ),
)
"""Every event type with its stream, subject, producer and consumers."""
