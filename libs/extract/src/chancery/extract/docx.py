"""Word documents: paragraphs and table cells in document order, then footnotes and endnotes.

What a reader of the document does not see is left out: deleted and moved-away text, field codes,
hidden runs, comments. Text boxes follow the paragraph that they are anchored in. Paragraphs are
parted by an empty line, rows by a line break, cells by a tab.
"""

from __future__ import annotations

from typing import Final

from chancery.extract.archive import Package, xml_parser
from chancery.extract.refusals import refusal

_WORD: Final = frozenset(
    (
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
)
_MATH: Final = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_UNSEEN: Final = frozenset(("del", "moveFrom", "Fallback", "pPr", "sectPr"))
_CHARACTERS: Final = {
    "tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011", "softHyphen": "\u00ad",
}  # fmt: skip
_NOTES: Final = ("footnotes", "endnotes")
_SEPARATORS: Final = frozenset(("separator", "continuationSeparator", "continuationNotice"))
_OFF: Final = frozenset(("0", "false", "off"))


def read_docx(data: bytes) -> str:
    """Return the text of a Word document.

    Raises:
        UnreadableDocument: see `Package`; code `wrong_media_type` when it is another kind of
            package, `no_text` when it shows nothing.
    """
    package = Package(data)
    main = package.main_part()
    body = _Story("document")
    _read(body, package, main)
    if not body.is_story:
        raise refusal("wrong_media_type")
    blocks = [body.text]
    related = package.related(main)
    for kind in _NOTES:
        name = related.get(kind)
        if name is not None and package.has(name):
            notes = _Story(kind)
            _read(notes, package, name)
            blocks.append(notes.text)
    text = "\n\n".join(block for block in blocks if block)
    if not text.strip():
        raise refusal("no_text")
    return text


def _read(story: _Story, package: Package, name: str) -> None:
    parser = xml_parser()
    parser.StartElementHandler = story.start
    parser.EndElementHandler = story.end
    parser.CharacterDataHandler = story.characters
    package.parse(name, parser)


class _Story:
    """Follows the elements of one part; `text` is what it shows."""

    def __init__(self, root: str) -> None:
        self.is_story = False
        self._root = root
        self._path: list[str] = []
        self._unseen_from: int | None = None
        self._hidden_run = False
        self._paragraphs: list[list[str]] = []
        self._anchored: list[str] = []
        self._tables: list[list[str]] = []
        self._rows: list[list[str]] = []
        self._cells: list[list[str]] = []
        self._blocks: list[str] = []

    @property
    def text(self) -> str:
        """Return the blocks so far."""
        return "\n\n".join(self._blocks)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Enter an element."""
        namespace, _, name = tag.rpartition(" ")
        is_word = namespace in _WORD
        if not self._path:
            self.is_story = is_word and name == self._root
        self._path.append(name if is_word or (namespace == _MATH and name == "t") else "")
        if self._unseen_from is not None:
            return
        if name in _UNSEEN or _is_separator(namespace, attributes):
            self._unseen_from = len(self._path)
        elif is_word:
            self._enter(name, namespace, attributes)

    def end(self, _tag: str) -> None:
        """Leave an element."""
        depth = len(self._path)
        name = self._path.pop()
        if self._unseen_from is not None:
            if self._unseen_from == depth:
                self._unseen_from = None
            return
        match name:
            case "r":
                self._hidden_run = False
            case "p" if self._paragraphs:
                self._end_paragraph()
            case "tc" | "tr" | "tbl":
                self._end_of_table(name)
            case _:
                pass

    def characters(self, data: str) -> None:
        """Keep the text of a visible run."""
        if self._unseen_from is None and self._path and self._path[-1] == "t":
            self._write(data)

    def _enter(self, name: str, namespace: str, attributes: dict[str, str]) -> None:
        within = self._path[-2] if len(self._path) > 1 else ""
        match name:
            case "p":
                self._paragraphs.append([])
            case "tbl":
                self._tables.append([])
            case "tr":
                self._rows.append([])
            case "tc":
                self._cells.append([])
            case "vanish" if within == "rPr" and "r" in self._path[-3:]:
                self._hidden_run = attributes.get(f"{namespace} val", "") not in _OFF
            case _ if within == "r" and name in _CHARACTERS:
                self._write(_CHARACTERS[name])
            case _:
                pass

    def _write(self, text: str) -> None:
        if self._paragraphs and not self._hidden_run:
            self._paragraphs[-1].append(text)

    def _end_paragraph(self) -> None:
        text = "".join(self._paragraphs.pop())
        if self._paragraphs:
            self._anchored.append(text)
            return
        anchored, self._anchored = self._anchored, []
        self._keep([each for each in (text, *anchored) if each.strip()])

    def _end_of_table(self, name: str) -> None:
        if name == "tc" and self._cells and self._rows:
            self._rows[-1].append(" ".join(self._cells.pop()).replace("\n", " "))
        elif name == "tr" and self._rows and self._tables:
            row = "\t".join(self._rows.pop())
            self._tables[-1].extend([row] if row.strip() else [])
        elif name == "tbl" and self._tables:
            rows = self._tables.pop()
            self._keep(["\n".join(rows)] if rows else [])

    def _keep(self, blocks: list[str]) -> None:
        (self._cells[-1] if self._cells else self._blocks).extend(blocks)


def _is_separator(namespace: str, attributes: dict[str, str]) -> bool:
    return attributes.get(f"{namespace} type") in _SEPARATORS
