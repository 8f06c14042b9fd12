"""Separate salts for each hashed object of a release, all derived from one stored secret."""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

from pydantic import Field

from chancery.events.envelope import Many
from chancery.evidence.record import Record
from chancery.kernel.canonical import salted_hash

SEED_BYTES: Final = 16
Salt = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
"""128 bit in hex; without it a short text could be guessed from its hash."""


class ResultSalts(Record):
    """The salts of one executed query; `rows` is absent where the rows are not carried."""

    query: Salt
    preview: Salt
    rows: Salt | None


class Salts(Record):
    """The salts that a bundle discloses; those of question and snapshots stay with the key."""

    core: Salt
    text: Salt
    statements: Salt
    citations: Salt
    cards: Salt
    results: Many[ResultSalts] = Field(default=(), max_length=20)


def derive_salts(seed: bytes, results: int) -> Salts:
    """Return the salts of a release with `results` executed queries; the same for one seed.

    `seed` is 16 random bytes that are stored, and erased, with the release's key.
    """
    return Salts(
        core=derive_salt(seed, "core"),
        text=derive_salt(seed, "text"),
        statements=derive_salt(seed, "statements"),
        citations=derive_salt(seed, "citations"),
        cards=derive_salt(seed, "cards"),
        results=tuple(
            ResultSalts(
                query=derive_salt(seed, f"query.{number}"),
                preview=derive_salt(seed, f"preview.{number}"),
                rows=derive_salt(seed, f"rows.{number}"),
            )
            for number in range(results)
        ),
    )


def question_salt(seed: bytes) -> str:
    """Return the salt of the question's hash."""
    return derive_salt(seed, "question")


def snapshot_salt(seed: bytes) -> str:
    """Return the salt of the hashes of snapshots."""
    return derive_salt(seed, "snapshot")


def derive_salt(seed: bytes, name: str) -> str:
    """Return the salt `name`; knowing one tells nothing about the seed or the others.

    Raises:
        ValueError: for a seed that is not 16 bytes.
    """
    if len(seed) != SEED_BYTES:
        message = "a salt seed is 16 bytes"
        raise ValueError(message)
    label = b"chancery.salt/1\n" + name.encode()
    return hashlib.blake2b(label, key=seed, digest_size=16).hexdigest()


def commitment(salt: str, sha256: str) -> str:
    """Return the salted form of a blob's hash, so that the blob can be neither guessed nor found.

    It is over the 32 bytes of the plain hash: nobody has to read the blob again to make it.
    """
    return salted_hash(salt, bytes.fromhex(sha256))
