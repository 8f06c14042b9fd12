"""The request/reply subjects of the topology: who answers what, asked by whom."""

from __future__ import annotations

from typing import Final

from chancery.events.topology_rows import RequestTopic, Service


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


PARKING: Final[tuple[Service, ...]] = ("indexing", "retrieval", "execution", "release")
"""The services that park messages; ingestion tells the sender of a submission instead."""


def _of_operator(server: Service) -> tuple[RequestTopic, ...]:
    return tuple(
        RequestTopic(
            subject=subject, server=server, clients=("operator",), request=request, reply=reply
        )
        for subject, request, reply in (
            (query_subject(server, "parked"), "FindParked", "ParkedEntries"),
            (command_subject(server, "retry-parked"), "RetryParked", "ParkedRetried"),
            (command_subject(server, "discard-parked"), "DiscardParked", "DiscardOutcome"),
        )
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
        ("publish-documents", "PublishDocuments", "DocumentsPublished"),
        ("declare-dataset", "DeclareDataset", "Outcome"),
        ("publish-snapshot", "PublishSnapshot", "PublishedOutcome"),
        ("save-draft", "SaveDraft", "DraftSavedOutcome"),
        ("publish-draft", "PublishDraft", "VersionPublishedOutcome"),
        ("declare-corpus", "DeclareCorpus", "Outcome"),
        ("upload-file", "UploadFile", "Outcome"),
        ("delete-file", "DeleteFile", "Outcome"),
        ("grant", "ChangeGrant", "Outcome"),
        ("revoke-grant", "ChangeGrant", "Outcome"),
        ("withdraw", "ChangeServing", "Outcome"),
        ("restore", "ChangeServing", "Outcome"),
    ),
    *_queries(
        "ingestion",
        ("upload-permission", "CheckUpload", "Outcome"),
        ("bulk-permission", "CheckBulkUpload", "Outcome"),
    ),
    *_commands(
        "release",
        ("create-conversation", "CreateConversation", "ConversationCreated"),
        ("post-message", "PostMessage", "MessagePosted"),
        ("retry-run", "RetryRun", "RunRetried"),
        ("ask-corpus", "AskCorpus", "RunBegun"),
    ),
    *_queries(
        "release",
        ("identity", "WhoAmI", "Identity"),
        ("authorise", "OfResource", "PinnedRevision"),
        ("sources", "OfWorkspace", "ResourceList"),
        ("source", "OfResource", "ResourceView"),
        ("datasets", "OfWorkspace", "DatasetScope"),
        ("search-scope", "SearchScopeOf", "SearchScope"),
        ("credential", "OfCredential", "CredentialView"),
        ("policy", "OfWorkspace", "PolicyView"),
        ("run", "OfRun", "Document"),
        ("answer", "OfRun", "Document"),
        ("audit", "OfRun", "Document"),
        ("bundle", "OfRun", "Document"),
        ("events", "EventsAfter", "EventRows"),
        ("conversation", "OfConversation", "Document"),
        ("items", "OfWorkspace", "ItemList"),
        ("item", "OfResource", "ItemView"),
        ("files", "OwnFiles", "FileList"),
        ("corpus", "OfCorpus", "CorpusView"),
        ("corpus-run", "OfCorpusRun", "RunBegun"),
        ("corpus-record", "OfRecord", "RecordStatus"),
        ("available", "OfCorpusAnswer", "Availability"),
    ),
    *_queries(
        "retrieval",
        ("search", "Search", "SearchResult"),
        ("confirm", "ConfirmRevision", "RevisionConfirmed"),
    ),
    *_commands(
        "indexing",
        ("refresh", "RefreshRevision", "WorkAccepted"),
        ("reconcile", "ReconcileSource", "WorkAccepted"),
    ),
    *_queries(
        "execution",
        ("sql", "RunQuery", "QueryResult"),
        ("schema", "PinnedRevision", "DatasetSchema"),
    ),
    *(topic for server in PARKING for topic in _of_operator(server)),
)
"""Every request/reply subject."""
