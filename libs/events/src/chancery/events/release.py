"""A run ended: the events of the RELEASES stream, version 1; hashes and codes only."""

from __future__ import annotations

from typing import ClassVar, Literal

from chancery.events.envelope import EventData, Id, Ordinal, Position, Sha256

Coverage = Literal["complete", "incomplete", "unavailable"]
Outcome = Literal[
    "insufficient_evidence",
    "source_access",
    "rlm_unsupported",
    "access_changing",
    "scope_too_wide",
    "unavailable",
]
"""Why a run was refused; each has one fixed explanation per language."""


class ReleaseSealed(EventData):
    """An answer was sealed; `receipt_sha256` names its receipt, `cut_sequence` its cut."""

    TYPE: ClassVar[str] = "chancery.release.sealed.v1"
    run_id: Id
    generation: Ordinal
    release_id: Id
    receipt_sha256: Sha256
    cut_sequence: Position


class ReleaseRefused(EventData):
    """A run ended without an answer; `cut_sequence` is 0 for an outcome that needs no cut."""

    TYPE: ClassVar[str] = "chancery.release.refused.v1"
    run_id: Id
    generation: Ordinal
    release_id: Id
    outcome: Outcome
    receipt_sha256: Sha256
    cut_sequence: Position


MODELS: tuple[type[EventData], ...] = (ReleaseSealed, ReleaseRefused)
"""Every event of the RELEASES stream."""
