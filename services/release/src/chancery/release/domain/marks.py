"""How far a projection has come: a position, a rolling digest, and an anchor that names the log.

The digest covers every message but fences, which expire: SHA-256 over the digest before it, the
sequence as eight bytes, and the SHA-256 of the payload. The anchor is the last message that the
digest covers: it never expires, so that its hash tells this log from any other.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from chancery.kernel.clock import to_text
from chancery.release.errors import ForeignLog

EMPTY_DIGEST = bytes(32)
"""The digest before the first message."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a stream; `anchor_sequence` 0 means that nothing was covered yet."""

    sequence: int = 0
    digest: bytes = EMPTY_DIGEST
    anchor_sequence: int = 0
    anchor_sha256: str | None = None

    def cover(self, sequence: int, payload: bytes) -> Mark:
        """Return the mark after a message that the digest covers."""
        moving = MovingMark.at(self)
        moving.cover(sequence, payload)
        return moving.mark

    def skip(self, sequence: int) -> Mark:
        """Return the mark after a fence: the position moves, the digest stays."""
        assert sequence > self.sequence
        return Mark(sequence, self.digest, self.anchor_sequence, self.anchor_sha256)


@dataclass(slots=True)
class MovingMark:
    """A mark that moves with each message, where a new one for each would cost as much again."""

    sequence: int
    digest: bytes
    anchor_sequence: int
    anchor_sha256: str | None

    @classmethod
    def at(cls, mark: Mark) -> MovingMark:
        """Return one that stands where `mark` does."""
        return cls(mark.sequence, mark.digest, mark.anchor_sequence, mark.anchor_sha256)

    @property
    def mark(self) -> Mark:
        """Return where it stands."""
        return Mark(self.sequence, self.digest, self.anchor_sequence, self.anchor_sha256)

    def cover(self, sequence: int, payload: bytes) -> str:
        """Move as `Mark.cover` does, and return the hash of the payload."""
        assert sequence > self.sequence
        payload_hash = hashlib.sha256(payload)
        chained = self.digest + sequence.to_bytes(8, "big") + payload_hash.digest()
        self.digest = hashlib.sha256(chained).digest()
        self.sequence = self.anchor_sequence = sequence
        payload_sha256 = self.anchor_sha256 = payload_hash.hexdigest()
        return payload_sha256

    def skip(self, sequence: int) -> None:
        """Move as `Mark.skip` does."""
        assert sequence > self.sequence
        self.sequence = sequence


@dataclass(frozen=True, slots=True)
class LogIdentity:
    """What the stream says of itself; `anchor_sha256` is of its message at the mark's anchor."""

    created: datetime
    last: int
    anchor_sha256: str | None


def check_log(mark: Mark, created: str, log: LogIdentity, *, stream: str) -> None:
    """Refuse to go on with a log that is not the one this projection was built from.

    `created` is the stream's creation as the checkpoint remembers it.

    Raises:
        ForeignLog: recreated, regressed or different, saying which and what to do.
    """
    remedy = "restore the right NATS store, or rebuild the projections with an operator's consent"
    if to_text(log.created) != created:
        message = f"the stream {stream} was created again since the projection was built; {remedy}"
        raise ForeignLog(message, code="log_recreated")
    if log.last < mark.sequence:
        message = (
            f"the stream {stream} ends at {log.last}, before the projection's checkpoint"
            f" {mark.sequence}; {remedy}"
        )
        raise ForeignLog(message, code="log_regressed")
    if mark.anchor_sequence > 0 and log.anchor_sha256 != mark.anchor_sha256:
        message = (
            f"the stream {stream} holds another message at {mark.anchor_sequence} than the"
            f" projection read there; {remedy}"
        )
        raise ForeignLog(message, code="log_different")
