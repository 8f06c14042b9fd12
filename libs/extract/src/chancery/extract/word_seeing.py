"""Whether a reader of a Word document sees the text at a place.

It is hidden by the styles around it, by itself, by the hidden run that its text box is anchored in,
or as the code of a field. A field whose end is missing in its story is none. Source: ISO/IEC
29500-1, section 17.16.18.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from chancery.extract.word_styles import WordStyles

STORIES: Final = frozenset(("txbxContent", "footnote", "endnote"))
"""The elements with a text of their own, in which a field ends that begins there."""


@dataclass(slots=True)
class _Run:
    style: str | None = None
    hidden: bool | None = None


@dataclass(slots=True)
class _Field:
    number: int
    is_code: bool = True


@dataclass(slots=True)
class _Scope:
    """A story with the runs and fields that are open in it, and whether all of it is hidden."""

    is_hidden: bool = False
    runs: list[_Run] = field(default_factory=list[_Run])
    fields: list[_Field] = field(default_factory=list[_Field])


class Seeing:
    """Follows what decides whether text is seen; `unended` are the fields that have no end.

    Fields are numbered as they begin, in deleted text too: what a tracked change deletes still
    begins and ends them.
    """

    def __init__(self, styles: WordStyles, unended: AbstractSet[int] = frozenset()) -> None:
        self.tables: list[str | None] = []
        self.paragraphs: list[str | None] = []
        self._styles = styles
        self._unended = unended
        self._found_unended: set[int] = set()
        self._begun = 0
        self._scopes = [_Scope()]

    def begin_story(self) -> None:
        """Enter a text box or a note: it is hidden with the run that it is anchored in."""
        self._scopes.append(_Scope(self.is_hidden()))

    def end_story(self) -> None:
        """Leave a text box or a note with what is open in it."""
        self._found_unended.update(each.number for each in self._scopes.pop().fields)

    def unended(self) -> AbstractSet[int]:
        """Return, at the end of the part, the fields that began and did not end in their story."""
        return self._found_unended.union(each.number for each in self._scopes[-1].fields)

    def end_table(self) -> bool:
        """Leave a table and tell whether its style hides some of its rows or columns."""
        return self._styles.hides_parts(self.tables.pop())

    def begin_run(self) -> None:
        """Enter a run."""
        self._scopes[-1].runs.append(_Run())

    def end_run(self) -> None:
        """Leave a run with what it says of itself."""
        self._scopes[-1].runs.pop()

    def style_run(self, style: str | None) -> None:
        """Take in the style of the run that is read."""
        if self._scopes[-1].runs:
            self._scopes[-1].runs[-1].style = style

    def hide_run(self, *, hidden: bool) -> None:
        """Take in what the run that is read says of itself."""
        if self._scopes[-1].runs:
            self._scopes[-1].runs[-1].hidden = hidden

    def field(self, kind: str) -> None:
        """Begin the code of a field, go on to what it shows, or leave it."""
        fields = self._scopes[-1].fields
        if kind == "begin":
            if self._begun not in self._unended:
                fields.append(_Field(self._begun))
            self._begun += 1
        elif fields and kind == "separate":
            fields[-1].is_code = False
        elif fields and kind == "end":
            fields.pop()

    def is_hidden(self) -> bool:
        """Tell whether text that stands here is hidden; what a run says of itself decides."""
        scope = self._scopes[-1]
        if scope.is_hidden or any(each.is_code for each in scope.fields):
            return True
        return any(map(self._hides, scope.runs or (_Run(),)))

    def _hides(self, run: _Run) -> bool:
        if run.hidden is not None:
            return run.hidden
        around = {"table": self.tables[-1]} if self.tables else {}
        return self._styles.hides(
            paragraph=self.paragraphs[-1] if self.paragraphs else None,
            character=run.style,
            **around,
        )
