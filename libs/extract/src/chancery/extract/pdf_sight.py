"""Which texts of a page no reader sees: without colour, white on white, too small, or off the page.

Text that is rendered invisibly over a picture is kept: that is how the words of a scanned page come
with it, and a reader sees them there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from chancery.extract.pdfium_objects import Box, Colour, Kind, PageObject

LEAST_POINTS: Final = 0.5
"""Smaller letters are read by nobody, on paper or on a screen."""

WHITE_FROM: Final = 250
"""A colour whose parts are all at least this is white on paper."""

SHAPES_MAX: Final = 5_000
"""Of a page that paints more it is not asked what stands on nothing: all of its text is kept."""

_EVERYWHERE: Final = (float("-inf"), float("-inf"), float("inf"), float("inf"))

CLEAR_TO: Final = 12
"""An alpha of up to this, of 255, is seen by nobody."""

_TEXTS: Final = frozenset[Kind](("text",))
_SHAPES: Final = frozenset[Kind](("image", "path", "shading"))
_STROKED: Final = frozenset((1, 5))
_FILLED_AND_STROKED: Final = frozenset((2, 6))
_INVISIBLE: Final = 3
_CLIPPING: Final = 7


@dataclass(frozen=True, slots=True)
class Sight:
    """The texts of a page that are not simply seen: `outside` may be so in part."""

    unseen: frozenset[int]
    outside: frozenset[int]


def look_at(find: Callable[[Collection[Kind]], Iterable[PageObject]], page: Box) -> Sight:
    """Return which texts of a page are not seen.

    `find` gives its objects of some kinds, `page` is the visible box.
    """
    doubtful: list[tuple[PageObject, Box]] = []
    outside: list[int] = []
    for text in find(_TEXTS):
        box = text.box()
        if _is_doubtful(text, box):
            doubtful.append((text, box))
        if not _contains(page, box):
            outside.append(text.address)
    unseen = _unseen(doubtful, find(_SHAPES)) if doubtful else ()
    return Sight(frozenset(unseen), frozenset(outside))


def overlap(one: Box, other: Box) -> bool:
    """Tell whether two boxes have a place in common; one without a size has its place."""
    return all(one[n] <= other[n + 2] and other[n] <= one[n + 2] for n in (0, 1))


def _is_doubtful(text: PageObject, box: Box) -> bool:
    mode = text.text_mode()
    if mode in {_INVISIBLE, _CLIPPING} or _is_tiny(text, box):
        return True
    return all(_is_clear(each) or _is_white(each) for each in _colours(text, mode))


def _unseen(doubtful: list[tuple[PageObject, Box]], objects: Iterable[PageObject]) -> Iterable[int]:
    pictures: list[Box] = []
    grounds: list[Box] = []
    for each in objects:
        if each.kind == "image":
            pictures.append(each.box())
        elif _is_ground(each):
            grounds.append(each.box())
        if len(pictures) + len(grounds) > SHAPES_MAX:
            pictures = grounds = [_EVERYWHERE]
            break
    anything = [*pictures, *grounds]
    for text, box in doubtful:
        is_invisible = _is_invisible(text)
        behind, where = (pictures, _middle(box)) if is_invisible else (anything, box)
        if _is_tiny(text, box) or not any(overlap(where, each) for each in behind):
            yield text.address


def _is_invisible(text: PageObject) -> bool:
    """Tell whether only a picture can show what a text says."""
    mode = text.text_mode()
    clear = mode != _CLIPPING and all(map(_is_clear, _colours(text, mode)))
    return mode == _INVISIBLE or clear


def _is_ground(each: PageObject) -> bool:
    """Tell whether a shape shows white letters that stand on it, or shows through clear ones."""
    if each.kind != "path":
        return each.kind == "shading"
    colours = [each.fill()] if each.is_filled() else []
    colours += [each.stroke()] if each.is_stroked() else []
    return not all(_is_clear(found) or _is_white(found) for found in colours)


def _colours(text: PageObject, mode: int) -> list[Colour | None]:
    """Return the colours that a text is painted with."""
    if mode in _STROKED:
        return [text.stroke()]
    if mode in _FILLED_AND_STROKED:
        return [text.fill(), text.stroke()]
    return [text.fill()]


def _is_tiny(text: PageObject, box: Box) -> bool:
    left, bottom, right, top = box
    is_flat = top - bottom < LEAST_POINTS or right - left < LEAST_POINTS
    return is_flat and text.font_points() < LEAST_POINTS


def _is_clear(colour: Colour | None) -> bool:
    return colour is not None and colour[3] <= CLEAR_TO


def _is_white(colour: Colour | None) -> bool:
    return colour is not None and colour[0] >= WHITE_FROM and min(colour[:3]) >= WHITE_FROM


def _contains(outer: Box, inner: Box) -> bool:
    left, bottom, right, top = outer
    return left <= inner[0] and bottom <= inner[1] and inner[2] <= right and inner[3] <= top


def _middle(box: Box) -> Box:
    across, up = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return across, up, across, up
