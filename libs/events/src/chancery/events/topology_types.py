"""The names of the event types that several rows of the topology have in common."""

from __future__ import annotations

from typing import Final

AUTHORITY_TYPES: Final = {
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
        "erased",
    ),
    "dataset": ("declared", "snapshot-published", "withdrawn", "granted", "grant-revoked"),
    "item": ("draft-saved", "version-published", "withdrawn", "granted", "grant-revoked"),
    "corpus": ("declared",),
    "file": ("uploaded", "deleted"),
    "policy": ("revised",),
}

INDEX_TYPES: Final = ("pending", "extracted", "ready", "failed", "excluded", "unavailable")

INDEX_VERSIONS: Final = (1, 2)
"""Events of version 1 stay on the stream; indexing writes version 2."""

SUBMISSIONS: Final = (
    "source-submitted.v1",
    "revision-submitted.v1",
    "revision-submitted.v2",
    "dataset-submitted.v1",
    "snapshot-submitted.v1",
    "draft-submitted.v1",
    "publication-submitted.v1",
    "withdrawal-submitted.v1",
    "withdrawal-submitted.v2",
    "file-submitted.v1",
    "file-deletion-submitted.v1",
)
