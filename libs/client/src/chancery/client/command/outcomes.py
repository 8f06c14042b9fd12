"""What became of the files that were published, each by itself and all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from chancery.client.command.file_ids import readable
from chancery.client.command.items import Item
from chancery.client.command.output import EXIT_DONE, error_document, exit_code
from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError, Rejected

WITHDRAWN: Final = "withdrawn"
"""The code of what is refused since it was withdrawn."""


class NotIndexed(Rejected):
    """The file was published, but nothing can be answered from it."""

    code = "not_indexed"


@dataclass(frozen=True, slots=True)
class Published:
    """What became of one file: what was told of it, or why it failed."""

    item: Item
    told: Mapping[str, Json]
    error: ChanceryError | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the outcome as a JSON object."""
        told: dict[str, Json] = {"path": readable(self.item.path), **self.told}
        return told if self.error is None else {**told, "error": error_document(self.error)}


@dataclass(frozen=True, slots=True)
class Summary:
    """How many files there were, and how they ended; `unchanged` ones served their content before.

    Of the failed ones `withdrawn` are so; the rest of all was not finished.
    """

    files: int
    ready: int
    failed: int
    unchanged: int
    withdrawn: int = 0

    @property
    def unfinished(self) -> int:
        """Return how many had not ended when the rest was given up."""
        return self.files - self.ready - self.failed

    def to_json(self) -> dict[str, Json]:
        """Return the counts as a JSON object."""
        return {
            "files": self.files,
            "ready": self.ready,
            "failed": self.failed,
            "unchanged": self.unchanged,
            "withdrawn": self.withdrawn,
            "not_finished": self.unfinished,
        }

    def sentence(self) -> str:
        """Return the counts for people."""
        left = f", {self.unfinished} not finished (run the same command again)"
        return (
            f"{self.files} files: {self.ready} ready ({self.unchanged} unchanged), "
            f"{self.failed} failed{self._kept_away()}{left if self.unfinished else ''}"
        )

    def _kept_away(self) -> str:
        if not self.withdrawn:
            return ""
        return f" ({self.withdrawn} withdrawn; with --restore they serve again)"


def summary(files: int, outcomes: Iterable[Published]) -> Summary:
    """Return the counts of what ended, of so many files."""
    ended = list(outcomes)
    good = [each for each in ended if each.error is None]
    unchanged = sum(each.told.get("changed") is False for each in good)
    withdrawn = sum(each.error is not None and each.error.code == WITHDRAWN for each in ended)
    return Summary(files, len(good), len(ended) - len(good), unchanged, withdrawn)


def exit_code_of(outcomes: Iterable[Published]) -> int:
    """Return 0 when every file can be asked about, 3 when repeating may help, else 1."""
    return max((exit_code(each.error) for each in outcomes if each.error), default=EXIT_DONE)
