"""The bodies of commands and of their outcomes; only the gateway sends them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from chancery.events.authority import (
    Grantee,
    Language,
    Mode,
    Role,
    Standing,
    Title,
    Visibility,
)
from chancery.events.commands_bulk import (
    BulkDocument,
    BulkPublished,
    CheckBulkUpload,
    DocumentsPublished,
    PublishDocuments,
)
from chancery.events.commands_knowledge import (
    DeclareCorpus,
    DeleteFile,
    DraftSavedOutcome,
    EvidenceName,
    PublishDraft,
    SaveDraft,
    UploadFile,
    VersionPublishedOutcome,
)
from chancery.events.days import Day
from chancery.events.declarations import PartialDeclaration
from chancery.events.envelope import Id, Many, Moment, Sha256
from chancery.events.index import ResourceKind
from chancery.events.requests import Message
from chancery.events.run import Bounds, Filters, Selection

__all__ = (
    "AddMember",
    "BulkDocument",
    "BulkPublished",
    "ChangeGrant",
    "ChangeServing",
    "CheckBulkUpload",
    "CheckUpload",
    "CloseWorkspace",
    "ConversationCreated",
    "CreateConversation",
    "CreateWorkspace",
    "CredentialIssuedOutcome",
    "DeclareCorpus",
    "DeclareDataset",
    "DeclareSource",
    "DeleteFile",
    "DocumentsPublished",
    "DraftSavedOutcome",
    "EvidenceName",
    "GovernedKind",
    "IssueCredential",
    "JoinGroup",
    "LeaveGroup",
    "MessagePosted",
    "Outcome",
    "PostMessage",
    "PublishDocuments",
    "PublishDraft",
    "PublishRevision",
    "PublishSnapshot",
    "PublishedOutcome",
    "RemoveMember",
    "ResourceKind",
    "RetryRun",
    "RevisePolicy",
    "RevokeCredential",
    "RunRetried",
    "SaveDraft",
    "UploadFile",
    "VersionPublishedOutcome",
)

GovernedKind = Literal["source", "dataset", "item"]
"""What belongs to a workspace and has grants; a private file has neither."""


class Outcome(Message):
    """What a command did; `changed` is false when the state already was as asked.

    `sequence` is the position of its (last) event on AUTHORITY, or of the confirming fence.
    """

    sequence: int = Field(ge=0)
    event_id: Id | None = None
    changed: bool


class CreateWorkspace(Message):
    """Create a workspace; the caller, a tenant administrator, becomes its first admin."""

    workspace_id: Id
    title: Title


class CloseWorkspace(Message):
    """Close a workspace for good."""

    workspace_id: Id


class AddMember(Message):
    """Give a principal a role in a workspace, or another role than before."""

    workspace_id: Id
    principal: Id
    role: Role


class RemoveMember(Message):
    """Take a principal out of a workspace."""

    workspace_id: Id
    principal: Id


class JoinGroup(Message):
    """Put a principal into a group of the tenant."""

    group: Id
    principal: Id


class LeaveGroup(Message):
    """Take a principal out of a group of the tenant."""

    group: Id
    principal: Id


class IssueCredential(Message):
    """Let a principal authenticate; the gateway derives the token from the returned id.

    `tenant` other than the caller's is for the operator (tenant administrator of `default`): an
    unknown one is created with `principal` as its administrator.
    """

    principal: Id
    tenant: Id | None = None
    expires_at: Moment | None = None


class CredentialIssuedOutcome(Message):
    """The credential that now exists; its token is derived from the ids and the token key."""

    tenant: Id
    principal: Id
    credential_id: Id
    expires_at: Moment | None = None
    sequence: int = Field(ge=0)


class RevokeCredential(Message):
    """End a credential; its owner or a tenant administrator may."""

    principal: Id
    credential_id: Id


class RevisePolicy(Message):
    """Set the answer policy of a workspace."""

    workspace_id: Id
    policy_revision: str = Field(min_length=1, max_length=200)
    modes: Many[Mode] = Field(default=("auto", "rag", "data"), min_length=1, max_length=4)
    language: Language = "en"


class DeclareSource(Message):
    """Declare a document source, or declare it again: None keeps what it has.

    A new one is for the members of the workspace when nothing is said.
    """

    workspace_id: Id
    source_id: Id
    title: Title
    visibility: Visibility | None = None
    authority: Standing | None = None
    date: Day | None = None


class PublishRevision(Message):
    """Publish raw bytes, already stored as a blob, as the next revision of a source.

    A withdrawn source serves again only when `restore` asks for that.
    """

    workspace_id: Id
    source_id: Id
    content_sha256: Sha256
    media_type: str = Field(min_length=1, max_length=100)
    size_bytes: int = Field(ge=1)
    restore: bool = False


class PublishedOutcome(Message):
    """The revision that now serves; unchanged content returns the one that already did."""

    key: Id
    revision: int = Field(ge=1)
    sequence: int = Field(ge=1)
    content_sha256: Sha256
    event_id: Id
    changed: bool


class ChangeGrant(Message):
    """Grant or end a grant of a restricted source, dataset or item."""

    workspace_id: Id
    kind: GovernedKind
    resource_id: Id
    grantee: Grantee


class ChangeServing(Message):
    """Withdraw a source, dataset or item, or restore a source."""

    workspace_id: Id
    kind: GovernedKind
    resource_id: Id


class DeclareDataset(PartialDeclaration, Message):
    """Declare a dataset with its column policy and measures, or declare it again.

    None keeps what it has. A new one is for the members of the workspace when nothing is said.
    """

    workspace_id: Id
    dataset_id: Id
    title: Title
    visibility: Visibility | None = None


class PublishSnapshot(Message):
    """Publish raw bytes, already stored as a blob, as the next snapshot of a dataset.

    `after` is the number of the snapshot that they continue: it still has to be the newest one. A
    withdrawn dataset serves again only when `restore` asks for that.
    """

    workspace_id: Id
    dataset_id: Id
    content_sha256: Sha256
    media_type: str = Field(min_length=1, max_length=100)
    size_bytes: int = Field(ge=1)
    after: int | None = Field(default=None, ge=0)
    restore: bool = False


class CreateConversation(Message):
    """Open a conversation of the caller in a workspace."""

    workspace_id: Id


class ConversationCreated(Message):
    """The conversation that now exists."""

    conversation_id: Id


class PostMessage(Message):
    """Record a question of the caller; its text is the run's blob `question_sha256`."""

    conversation_id: Id
    run_id: Id
    question_sha256: Sha256
    sources: Selection = ()
    items: Selection = ()
    datasets: Selection = ()
    files: Selection = ()
    mode: Mode = "auto"
    bounds: Bounds = Field(default_factory=Bounds)
    corpus: Id | None = None
    filters: Filters = Field(default_factory=Filters)


class MessagePosted(Message):
    """The message's number and what `run.requested` has to say; the gateway publishes it.

    `requested_at` is fixed at the first call, so that a repeat publishes the same bytes. The asker
    of a corpus is told the conversation, which release opens for it.
    """

    run_id: Id
    message_id: Id
    message: int = Field(ge=1)
    workspace_id: Id
    requested_at: Moment
    conversation_id: Id | None = None


class RetryRun(Message):
    """Answer a question of the caller once more, in a new generation of its run."""

    run_id: Id


class RunRetried(Message):
    """The new generation and what `run.requested` has to say; a repeat returns the same."""

    generation: int = Field(ge=2)
    message: int = Field(ge=1)
    workspace_id: Id
    requested_at: Moment
    credential_id: Id
    asked: PostMessage


class CheckUpload(Message):
    """Ask, before bytes are stored, whether the caller may add content.

    To a source or dataset a publisher may; to an item, also one that its first draft makes, a
    curator; anybody authenticated may upload a file, whose `workspace_id` says nothing.
    """

    workspace_id: Id
    kind: ResourceKind
    resource_id: Id
