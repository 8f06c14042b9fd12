"""The commands that the tests of decisions give."""

from __future__ import annotations

from dataclasses import replace

from chancery.authority.credentials import (
    NewCredential,
)
from chancery.authority.states import WorkspaceState
from chancery.events import commands
from chancery.events.authority import Role
from tests.unit.authority.worlds import (
    DATASET_STATE,
    NOW,
    OTHER_SHA,
    SHA,
    SOURCE_STATE,
)

OPEN = WorkspaceState("Works", "pat")
CLOSED = replace(OPEN, closed=True)
NEW = NewCredential("fresh", SHA, NOW)
OPEN_SOURCE = replace(SOURCE_STATE, visibility="workspace")
OPEN_DATASET = replace(DATASET_STATE, visibility="workspace")
ROLES: tuple[Role, ...] = ("reader", "curator", "publisher", "admin")

SOURCE_BODY = commands.DeclareSource(workspace_id="ws", source_id="handbook", title="New")
DATASET_BODY = commands.DeclareDataset(workspace_id="ws", dataset_id="orders", title="New")
REVISION = commands.PublishRevision(
    workspace_id="ws",
    source_id="handbook",
    content_sha256=SHA,
    media_type="text/plain",
    size_bytes=1,
)
SNAPSHOT = commands.PublishSnapshot(
    workspace_id="ws",
    dataset_id="orders",
    content_sha256=OTHER_SHA,
    media_type="text/csv",
    size_bytes=1,
)
GRANT = commands.ChangeGrant(
    workspace_id="ws", kind="source", resource_id="handbook", grantee="nobody-yet"
)
SERVING = commands.ChangeServing(workspace_id="ws", kind="source", resource_id="handbook")
MEMBER = commands.AddMember(workspace_id="ws", principal="bob", role="reader")
REMOVAL = commands.RemoveMember(workspace_id="ws", principal="ada")
REVISE = commands.RevisePolicy(workspace_id="ws", policy_revision="p9")
