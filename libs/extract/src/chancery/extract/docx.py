"""Word documents: paragraphs and table cells in document order, then footnotes and endnotes.

What a reader of the document does not see is left out: deleted and moved-away text, table rows and
cells, notes whose reference is one of these, field codes with what stands in them, text that is
hidden by itself or by its styles, comments. A paragraph whose end is deleted continues in the next
one. Text boxes follow the paragraph that they are anchored in.
Paragraphs are parted by an empty line, rows by a line break, cells by a tab.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from chancery.extract.archive import Package, xml_parser
from chancery.extract.refusals import refusal
from chancery.extract.word_seeing import STORIES, Seeing
from chancery.extract.word_styles import WORD, WordStyles, is_on
from chancery.kernel.blank import is_blank

_MATH: Final = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_UNSEEN: Final = frozenset(("del", "moveFrom", "Fallback", "pPr", "sectPr"))
_CHARACTERS: Final = {
    "tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011", "softHyphen": "\u00ad",
}  # fmt: skip
_NOTES: Final = {"footnotes": "footnote", "endnotes": "endnote"}
_REFERENCES: Final = {f"{note}Reference": note for note in _NOTES.values()}
_DELETED_MARKS: Final = (["p", "pPr", "rPr", "del"], ["p", "pPr", "rPr", "moveFrom"])
"""Where a paragraph says that its end is deleted."""

_DELETED_ROW: Final = ["tr", "trPr", "del"]
_DELETED_CELL: Final = ["tc", "tcPr", "cellDel"]
_SEPARATORS: Final = frozenset(("separator", "continuationSeparator", "continuationNotice"))
_PARAGRAPH_STYLE: Final = ["p", "pPr", "pStyle"]


def read_docx(data: bytes) -> str:
    """Return the text of a Word document.

    Raises:
        UnreadableDocument: see `Package`; code `wrong_media_type` when it is another kind of
            package, `ambiguous_table` when the style of a table hides some of its rows or columns,
            `no_text` when it shows nothing.
    """
    package = Package(data)
    main = package.main_part()
    related = package.related(main)
    styles = _styles(package, related.get("styles"))
    body = _read(package, main, "document", styles)
    if not body.is_story:
        raise refusal("wrong_media_type")
    blocks = [body.text]
    for kind in _NOTES:
        name = related.get(kind)
        if name is not None and package.has(name):
            blocks.append(_read(package, name, kind, styles, body.unseen_notes).text)
    text = "\n\n".join(block for block in blocks if block)
    if is_blank(text):
        raise refusal("no_text")
    return text


def _styles(package: Package, name: str | None) -> WordStyles:
    styles = WordStyles()
    if name is not None and package.has(name):
        parser = xml_parser()
        styles.listen(parser)
        package.parse(name, parser)
    return styles


def _read(
    package: Package,
    name: str,
    root: str,
    styles: WordStyles,
    left_out: AbstractSet[tuple[str, str]] = frozenset(),
) -> _Story:
    """Read a part; once more when a field in it has no end, which was taken for one until then."""
    story = _Story(root, Seeing(styles), left_out)
    _parse(package, name, story)
    unended = story.unended
    if unended:
        story = _Story(root, Seeing(styles, unended), left_out)
        _parse(package, name, story)
    return story


def _parse(package: Package, name: str, story: _Story) -> None:
    parser = xml_parser()
    parser.StartElementHandler = story.start
    parser.EndElementHandler = story.end
    parser.CharacterDataHandler = story.characters
    package.parse(name, parser)


class _Story:
    """Follows the elements of one part; `text` is what it shows."""

    def __init__(
        self,
        root: str,
        seeing: Seeing,
        left_out: AbstractSet[tuple[str, str]],
    ) -> None:
        self.is_story = False
        self._seeing = seeing
        self._left_out = left_out
        self._references: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
        self._unfinished: list[str] = []
        self._ends_deleted: list[bool] = []
        self._rows_deleted: list[bool] = []
        self._cells_deleted: list[bool] = []
        self._root = root
        self._path: list[str] = []
        self._unseen_from: int | None = None
        self._paragraphs: list[list[str]] = []
        self._anchored: list[str] = []
        self._tables: list[list[str]] = []
        self._rows: list[list[str]] = []
        self._cells: list[list[str]] = []
        self._blocks: list[str] = []

    @property
    def text(self) -> str:
        """Return the blocks of the whole part."""
        self._finish()
        return "\n\n".join(self._blocks)

    @property
    def unended(self) -> AbstractSet[int]:
        """Return the numbers of the fields that have no end."""
        return self._seeing.unended()

    @property
    def unseen_notes(self) -> AbstractSet[tuple[str, str]]:
        """Return the kind and id of each note to which nothing refers but what is left out."""
        return self._references[False] - self._references[True]

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Enter an element."""
        namespace, _, name = tag.rpartition(" ")
        is_word = namespace in WORD
        if not self._path:
            self.is_story = is_word and name == self._root
        self._path.append(name if is_word or (namespace == _MATH and name == "t") else "")
        if is_word:
            self._note_field(name, attributes.get(f"{namespace} fldCharType", ""))
            self._note_deletion()
            self._note_style(attributes.get(f"{namespace} val"))
            self._note_reference(name, attributes.get(f"{namespace} id", ""))
        if self._unseen_from is not None:
            return
        note = (name, attributes.get(f"{namespace} id", ""))
        if name in _UNSEEN or note in self._left_out or _is_separator(namespace, attributes):
            self._unseen_from = len(self._path)
        elif is_word:
            self._enter(name)

    def end(self, _tag: str) -> None:
        """Leave an element."""
        depth = len(self._path)
        name = self._path.pop()
        if name in STORIES:
            self._seeing.end_story()
        if self._unseen_from is not None:
            if self._unseen_from == depth:
                self._unseen_from = None
            return
        match name:
            case "r":
                self._seeing.end_run()
            case "p" if self._paragraphs:
                self._seeing.paragraphs.pop()
                self._end_paragraph()
            case "tc" | "tr" | "tbl":
                self._end_of_table(name)
            case _:
                pass

    def characters(self, data: str) -> None:
        """Keep the text of a visible run."""
        if self._unseen_from is None and self._path and self._path[-1] == "t":
            self._write(data)

    def _note_field(self, name: str, kind: str) -> None:
        if name in STORIES:
            self._seeing.begin_story()
        elif name == "fldChar":
            self._seeing.field(kind)

    def _note_deletion(self) -> None:
        """Note what says of its row, its cell or its paragraph that it is deleted."""
        if self._unseen_from is None:
            if self._path[-3:] == _DELETED_ROW and self._rows_deleted:
                self._rows_deleted[-1] = True
            elif self._path[-3:] == _DELETED_CELL and self._cells_deleted:
                self._cells_deleted[-1] = True
        elif self._unseen_from == len(self._path) - 2 and self._path[-4:] in _DELETED_MARKS:
            self._ends_deleted[-1:] = [True] if self._ends_deleted else []

    def _note_style(self, value: str | None) -> None:
        """Note what says by which styles, or by itself, text is hidden."""
        seeing = self._seeing
        if self._unseen_from is None:
            match self._path[-3:]:
                case ["r", "rPr", "rStyle"]:
                    seeing.style_run(value)
                case ["r", "rPr", "vanish"]:
                    seeing.hide_run(hidden=is_on(value))
                case ["tbl", "tblPr", "tblStyle"] if seeing.tables:
                    seeing.tables[-1] = value
                case _:
                    pass
        elif self._unseen_from == len(self._path) - 1 and self._path[-3:] == _PARAGRAPH_STYLE:
            seeing.paragraphs[-1:] = [value] if seeing.paragraphs else []

    def _note_reference(self, name: str, note: str) -> None:
        if name in _REFERENCES:
            is_left_out = self._unseen_from is not None or self._seeing.is_hidden()
            is_left_out = is_left_out or any(self._rows_deleted) or any(self._cells_deleted)
            self._references[not is_left_out].add((_REFERENCES[name], note))

    def _enter(self, name: str) -> None:
        within = self._path[-2] if len(self._path) > 1 else ""
        match name:
            case "p":
                self._paragraphs.append([])
                self._seeing.paragraphs.append(None)
                self._ends_deleted.append(False)
            case "tbl":
                self._finish()
                self._tables.append([])
                self._seeing.tables.append(None)
            case "tr":
                self._rows.append([])
                self._rows_deleted.append(False)
            case "tc":
                self._cells.append([])
                self._cells_deleted.append(False)
            case "r":
                self._seeing.begin_run()
            case _ if within == "r" and name in _CHARACTERS:
                self._write(_CHARACTERS[name])
            case _:
                pass

    def _write(self, text: str) -> None:
        if self._paragraphs and not self._seeing.is_hidden():
            self._paragraphs[-1].append(text)

    def _end_paragraph(self) -> None:
        text = "".join(self._paragraphs.pop())
        is_end_deleted = self._ends_deleted.pop()
        if self._paragraphs:
            self._anchored.append(text)
            return
        self._unfinished.append(text)
        if not is_end_deleted:
            self._finish()

    def _finish(self) -> None:
        """Keep the paragraph that is read, and what is anchored in it."""
        if self._paragraphs:
            return
        text, self._unfinished = "".join(self._unfinished), []
        anchored, self._anchored = self._anchored, []
        self._keep([each for each in (text, *anchored) if each.strip()])

    def _end_of_table(self, name: str) -> None:
        if name == "tc" and self._cells and self._rows:
            self._finish()
            cell = " ".join(self._cells.pop()).replace("\n", " ")
            self._rows[-1].extend([] if self._cells_deleted.pop() else [cell])
        elif name == "tr" and self._rows and self._tables:
            row = "\t".join(self._rows.pop())
            is_deleted = self._rows_deleted.pop()
            self._tables[-1].extend([row] if row.strip() and not is_deleted else [])
        elif name == "tbl" and self._tables:
            rows = self._tables.pop()
            if self._seeing.end_table() and rows:
                raise refusal("ambiguous_table")
            self._keep(["\n".join(rows)] if rows else [])

    def _keep(self, blocks: list[str]) -> None:
        (self._cells[-1] if self._cells else self._blocks).extend(blocks)


def _is_separator(namespace: str, attributes: dict[str, str]) -> bool:
    return attributes.get(f"{namespace} type") in _SEPARATORS
