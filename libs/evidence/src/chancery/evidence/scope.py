"""The authorised scope of a run: the blob that `RunAdmitted.scope_sha256` names."""

from __future__ import annotations

from typing import Final, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from chancery.events.authority import Title
from chancery.events.envelope import Id, Many, Sha256
from chancery.events.index import REASON_PATTERN, ResourceKind
from chancery.events.queries import IndexState
from chancery.evidence.knowledge import VersionPin
from chancery.evidence.record import Record
from chancery.kernel.canonical import sha256_hex

SCOPE_ENTRIES_MAX: Final = 1000

RowFilters: TypeAlias = Many[tuple[str, Many[str | int | bool]]]
"""Column and allowed values; a row shows when every filter allows it."""


def _is_empty(names: tuple[str, ...]) -> bool:
    return not names


class ScopeEntry(Record):
    """One eligible revision with its pinned hashes; null extraction means not ready.

    `state` is the index state that release knew at admission, `index_sequence` its position on
    INDEX (0 when it knew none), `reason` why it failed or is unavailable (null when the
    asker may not be told: a dataset's, for who only reads). `hidden_measures` rest on
    hidden columns: for the run there are none of these names, neither to be found nor to be chosen
    (left out of the bytes when empty). `pin` is of an item, whose `revision` is the number of its
    version.
    """

    kind: ResourceKind
    key: Id
    id: Id
    title: Title
    revision: int = Field(ge=1)
    content_sha256: Sha256
    media_type: str = Field(min_length=1, max_length=100)
    extraction_sha256: Sha256 | None = None
    manifest_sha256: Sha256 | None = None
    state: IndexState
    index_sequence: int = Field(default=0, ge=0)
    reason: str | None = Field(
        default=None, pattern=REASON_PATTERN, exclude_if=lambda reason: reason is None
    )
    hidden_columns: Many[str] = ()
    row_filters: RowFilters = ()
    hidden_measures: Many[str] = Field(default=(), exclude_if=_is_empty)
    pin: VersionPin | None = Field(default=None, exclude_if=lambda pin: pin is None)

    @model_validator(mode="after")
    def _an_item_has_its_pin(self) -> Self:
        if (self.kind == "item") != (self.pin is not None):
            message = "an item stands with the pin of its version, nothing else has one"
            raise ValueError(message)
        return self


class Scope(Record):
    """Every revision that the run may use, by kind and key, each once."""

    format: Literal["chancery.scope/1"] = "chancery.scope/1"
    entries: Many[ScopeEntry] = Field(max_length=SCOPE_ENTRIES_MAX)

    @model_validator(mode="after")
    def _entries_are_distinct(self) -> Self:
        names = [(entry.kind, entry.key) for entry in self.entries]
        if names != sorted(set(names)):
            message = "entries must be sorted by kind and key, each once"
            raise ValueError(message)
        return self

    @property
    def sha256(self) -> str:
        """Return the hash of the canonical bytes."""
        return sha256_hex(self.to_bytes())

    def entry(self, kind: ResourceKind, key: str) -> ScopeEntry | None:
        """Return the entry of a resource, or None when the run may not use it."""
        return next((one for one in self.entries if (one.kind, one.key) == (kind, key)), None)

    def document(self, key: str) -> ScopeEntry | None:
        """Return the entry of the source, item or file `key`, or None; their keys are distinct."""
        return next((one for one in self.entries if one.key == key and one.kind != "dataset"), None)


def build_scope(entries: tuple[ScopeEntry, ...]) -> Scope:
    """Return the scope of `entries`, in the order that a scope has."""
    return Scope(entries=tuple(sorted(entries, key=lambda entry: (entry.kind, entry.key))))
