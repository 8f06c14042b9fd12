"""HTML: the text that a browser shows, in document order.

White space is collapsed as a browser does it (`pre` and `textarea` keep theirs); no-break spaces
and other characters stay. Left out is what no reader sees: scripts, styles, templates, comments,
fallbacks, and what attributes hide, see `html_looks`. Rules of style sheets are not applied.
"""

from __future__ import annotations

import re
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from chancery.extract.html_looks import Look, look_of
from chancery.extract.plain import read_plain_text
from chancery.extract.refusals import refusal
from chancery.kernel.blank import is_blank

_COLLAPSIBLE: Final = re.compile(r"[ \t\n\r\f]+")
_UNSEEN_TAGS: Final = """
head title script style template noscript iframe object embed applet audio video canvas datalist
noframes noembed metadata defs symbol desc annotation annotation-xml rp clippath filter marker mask
pattern lineargradient radialgradient
"""
_BLOCK_TAGS: Final = """
address article aside body caption center dd details dialog dir div dl dt fieldset figcaption figure
footer form header hgroup hr html legend li main menu nav optgroup option search section select
summary tbody tfoot thead tr
"""
_PARAGRAPH_TAGS: Final = "blockquote h1 h2 h3 h4 h5 h6 ol p pre table ul"
_UNSEEN: Final = frozenset(_UNSEEN_TAGS.split())
_BLOCKS: Final = frozenset(_BLOCK_TAGS.split())
_PARAGRAPHS: Final = frozenset(_PARAGRAPH_TAGS.split())
_KEPT: Final = frozenset(("pre", "textarea", "listing", "xmp"))
_CELLS: Final = frozenset(("td", "th"))


def read_html(data: bytes) -> str:
    """Return the text of an HTML document.

    Raises:
        UnreadableDocument: code `empty_document`, `invalid_utf8`, `nul_character`, or `no_text`
            when a browser would show nothing.
    """
    source = read_plain_text(data).removeprefix("\ufeff")
    root = LexborHTMLParser(source).root
    writer = _Writer()
    if root is not None:
        _walk(root, writer)
    text = writer.text
    if is_blank(text):
        raise refusal("no_text")
    return text


def _walk(root: LexborNode, writer: _Writer) -> None:
    """Visit every node below `root` in order; nesting may be as deep as it wants."""
    open_tags: list[str] = []
    looks = [Look()]
    node: LexborNode | None = root
    while node is not None:
        child = _enter(node, writer, looks)
        if child is not None:
            open_tags.append(node.tag or "")
            node = child
            continue
        following = node.next
        while following is None and open_tags:
            writer.close(open_tags.pop())
            looks.pop()
            node = node.parent
            if node is None or not open_tags:
                return
            following = node.next
        node = following


def _enter(node: LexborNode, writer: _Writer, looks: list[Look]) -> LexborNode | None:
    """Take in a node; return its first child when its children are to be visited."""
    around = looks[-1]
    if node.is_text_node:
        if around.shows_text:
            writer.write(node.text_content or "")
        return None
    tag = node.tag or ""
    look: Look | None = around
    if node.is_element_node:
        look = None if tag.lower() in _UNSEEN else look_of(tag.lower(), node.attributes, around)
    if look is None:
        return None
    writer.open(tag)
    if node.child is None:
        writer.close(tag)
        return None
    looks.append(look)
    return node.child


class _Writer:
    """Puts pieces of text together with the white space that is due between them."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._breaks = 0
        self._space = False
        self._tab = False
        self._first_cell = True
        self._begins_cell = False
        self._kept = 0

    @property
    def text(self) -> str:
        """Return the text so far."""
        return "".join(self._pieces)

    def open(self, tag: str) -> None:
        """Begin an element."""
        self._break(tag)
        if tag == "br":
            self._breaks = min(self._breaks + 1, 2)
        elif tag == "tr":
            self._first_cell = True
        elif tag in _CELLS:
            self._begins_cell = True
            self._tab = not self._first_cell
            self._first_cell = False
        self._kept += tag in _KEPT

    def close(self, tag: str) -> None:
        """End an element; what ends with a cell does not break its row."""
        self._break(tag)
        if tag in _CELLS:
            self._breaks = 0
            self._begins_cell = False
        self._kept -= tag in _KEPT

    def write(self, text: str) -> None:
        """Take in the text of a node."""
        if self._kept:
            self._put(text)
            return
        words = _COLLAPSIBLE.sub(" ", text)
        if words.startswith(" "):
            self._space = True
        inner = words.strip(" ")
        if inner:
            self._put(inner)
            self._space = words.endswith(" ")

    def _break(self, tag: str) -> None:
        if self._begins_cell:
            return
        if tag in _PARAGRAPHS:
            self._breaks = 2
        elif tag in _BLOCKS:
            self._breaks = max(self._breaks, 1)

    def _put(self, text: str) -> None:
        if self._pieces:
            self._pieces.append(self._due())
        self._pieces.append(text)
        self._breaks, self._space, self._tab = 0, False, False
        self._begins_cell = False

    def _due(self) -> str:
        if self._breaks:
            return "\n" * self._breaks
        if self._tab:
            return "\t"
        return " " if self._space else ""
