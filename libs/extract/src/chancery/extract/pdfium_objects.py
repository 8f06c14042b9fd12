"""What a page paints, object by object, as PDFium holds it; those of form XObjects included.

Boxes are in points of the page, colours 0 to 255 with alpha. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from ctypes import addressof, c_float, c_int, c_uint
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final, Literal, TypeAlias

import pypdfium2

Box: TypeAlias = tuple[float, float, float, float]
"""Left, bottom, right and top in points."""

Colour: TypeAlias = tuple[int, int, int, int]
Matrix: TypeAlias = tuple[float, float, float, float, float, float]
Kind: TypeAlias = Literal["text", "path", "image", "shading"]

DEPTH_MAX: Final = 16
"""Forms in forms that are looked into; PDFium parses no more than twice as many."""

_raw: Final[Any] = pypdfium2.raw
_UNMOVED: Final[Matrix] = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_TEXT, _PATH, _IMAGE, _SHADING, _FORM = 1, 2, 3, 4, 5
_KINDS: Final[dict[int, Kind]] = {
    _TEXT: "text",
    _PATH: "path",
    _IMAGE: "image",
    _SHADING: "shading",
}

_SIDES: Final = tuple(c_float() for _ in range(4))
_PARTS: Final = tuple(c_uint() for _ in range(4))
"""What PDFium writes into; it is used by one thread at a time, and so is this."""


@dataclass(frozen=True, slots=True)
class PageObject:
    """One object; `matrix` takes what is said of it to the page."""

    kind: Kind
    handle: Any
    matrix: Matrix

    @property
    def address(self) -> int:
        """Return what tells it from others of its page."""
        return address_of(self.handle)

    def box(self) -> Box:
        """Return the smallest upright box around it, of no size where PDFium knows none."""
        for side in _SIDES:
            side.value = 0.0
        _raw.FPDFPageObj_GetBounds(self.handle, *_SIDES)
        left, bottom, right, top = (side.value for side in _SIDES)
        if self.matrix is _UNMOVED:
            return left, bottom, right, top
        corners = [_moved(self.matrix, x, y) for x in (left, right) for y in (bottom, top)]
        across, up = zip(*corners, strict=True)
        return min(across), min(up), max(across), max(up)

    def fill(self) -> Colour | None:
        """Return the colour that it is filled with, None for a pattern."""
        return _colour(_raw.FPDFPageObj_GetFillColor, self.handle)

    def stroke(self) -> Colour | None:
        """Return the colour of its outline, None for a pattern."""
        return _colour(_raw.FPDFPageObj_GetStrokeColor, self.handle)

    def text_mode(self) -> int:
        """Return how a text is rendered. Source: ISO 32000-1, table 106."""
        return int(_raw.FPDFTextObj_GetTextRenderMode(self.handle))

    def is_stroked(self) -> bool:
        """Tell whether a path has an outline."""
        return self._draws()[1]

    def is_filled(self) -> bool:
        """Tell whether a path is filled."""
        return self._draws()[0]

    def font_points(self) -> float:
        """Return the size of a text's font on the page."""
        size = c_float()
        _raw.FPDFTextObj_GetFontSize(self.handle, size)
        return abs(size.value) * _scale(_matrix(self.handle)) * _scale(self.matrix)

    def _draws(self) -> tuple[bool, bool]:
        filled, stroked = c_int(), c_int()
        known = _raw.FPDFPath_GetDrawMode(self.handle, filled, stroked)
        return not known or bool(filled.value), not known or bool(stroked.value)


def objects_of(page: Any, kinds: Collection[Kind]) -> Iterator[PageObject]:
    """Yield what a page paints of these kinds."""
    number = int(_raw.FPDFPage_CountObjects(page))
    wanted: dict[int, Kind] = {code: kind for code, kind in _KINDS.items() if kind in kinds}
    yield from _all(page, _raw.FPDFPage_GetObject, number, _Place(wanted, _UNMOVED, 0))


def address_of(handle: Any) -> int:
    """Return what tells the object of a handle from others, 0 for none."""
    return addressof(handle.contents) if handle else 0


@dataclass(frozen=True, slots=True)
class _Place:
    """What is looked for, and where: `matrix` leads from there to the page."""

    wanted: Mapping[int, Kind]
    matrix: Matrix
    depth: int

    def inside(self, form: Any) -> _Place:
        return _Place(self.wanted, _joined(_matrix(form), self.matrix), self.depth + 1)


def _all(holder: Any, get: Any, number: int, place: _Place) -> Iterator[PageObject]:
    for index in range(number):
        handle = get(holder, index)
        kind = int(_raw.FPDFPageObj_GetType(handle))
        if kind in place.wanted:
            yield PageObject(place.wanted[kind], handle, place.matrix)
        elif kind == _FORM and place.depth < DEPTH_MAX:
            inner = int(_raw.FPDFFormObj_CountObjects(handle))
            yield from _all(handle, _raw.FPDFFormObj_GetObject, inner, place.inside(handle))


def _matrix(handle: Any) -> Matrix:
    found = _raw.FS_MATRIX()
    if not _raw.FPDFPageObj_GetMatrix(handle, found):
        return _UNMOVED
    return found.a, found.b, found.c, found.d, found.e, found.f


def _joined(first: Matrix, then: Matrix) -> Matrix:
    a, b, c, d, e, f = first
    corner = _moved(then, e, f)
    x, y = (_moved((*then[:4], 0.0, 0.0), *each) for each in ((a, b), (c, d)))
    return (*x, *y, *corner)


def _moved(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _scale(matrix: Matrix) -> float:
    a, b, c, d, _, _ = matrix
    return sqrt(abs(a * d - b * c))


def _colour(get: Any, handle: Any) -> Colour | None:
    if not get(handle, *_PARTS):
        return None
    red, green, blue, alpha = (each.value for each in _PARTS)
    return red, green, blue, alpha
