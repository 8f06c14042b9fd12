"""Whether a reader sees the text of an element: by what its attributes say, and those around it.

What is inherited may be said anew further in; what takes an element away with all that is in it may
not. Rules of style sheets, variables and scripts are not applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias

from chancery.extract.css_lengths import colour, pixels, plain_number
from chancery.extract.css_longhands import Style, style_of, wide_word
from chancery.extract.css_values import Said, Token, Value, declarations
from chancery.extract.html_boxes import is_put_away

LEAST_OPACITY: Final = 0.05
LEAST_FONT_PIXELS: Final = 1.0
"""Text that is fainter or smaller is there for nobody."""

AWAY_PIXELS: Final = -999.0
"""Further left of the page than this begins what is meant to be out of sight."""

_USUAL_FONT: Final = 16.0
_STYLES_KEPT: Final = 256
"""The elements of a document have few styles, each many times."""

_CONTROLS: Final = frozenset(("button", "input", "select", "textarea"))
"""They have a font, a colour and an indent of their own."""

_PRESENTED: Final = ("display", "visibility", "opacity", "font-size", "fill", "fill-opacity")
"""What an attribute of an element in SVG says as a style does."""

Attributes: TypeAlias = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Look:
    """What an element hands on to the text in it.

    `is_clear` and `is_unpainted` say of its colour that there is none, in HTML and in SVG.
    """

    is_visible: bool = True
    opacity: float = 1.0
    font: float = _USUAL_FONT
    indent: float = 0.0
    is_clear: bool = False
    in_svg: bool = False
    is_unpainted: bool = False

    @property
    def shows_text(self) -> bool:
        """Tell whether text that stands here is seen."""
        return (
            self.is_visible
            and self.opacity >= LEAST_OPACITY
            and self.font >= LEAST_FONT_PIXELS
            and self.indent > AWAY_PIXELS
            and not (self.is_unpainted if self.in_svg else self.is_clear)
        )


def look_of(tag: str, attributes: Attributes, around: Look) -> Look | None:
    """Return how an element looks inside `around`, None when nothing in it is seen."""
    around = _begun(tag, around)
    hidden = attributes.get("hidden", "") or ""
    if "hidden" in attributes and hidden.strip().lower() == "until-found":
        return None
    style = _style_of(attributes, around)
    if _has_no_box(tag, attributes, style):
        return None
    if not style:
        return around
    if around.in_svg:
        return _styled(tag, style, around)
    return _styled_again(tag, attributes.get("style") or "", around)


def _begun(tag: str, around: Look) -> Look:
    if tag == "svg":
        return replace(around, in_svg=True)
    if tag == "foreignobject":
        return replace(around, in_svg=False)
    if tag in _CONTROLS:
        return replace(around, font=_USUAL_FONT, indent=0.0, is_clear=False)
    return around


def _style_of(attributes: Attributes, around: Look) -> Style:
    written = attributes.get("style") or ""
    if not around.in_svg:
        return _style(written) if written else {}
    said = [each for name in _PRESENTED for each in _presented(name, attributes.get(name))]
    return style_of((*said, *declarations(written)))


@lru_cache(_STYLES_KEPT)
def _style(written: str) -> Style:
    return style_of(declarations(written))


def _presented(name: str, written: str | None) -> list[Said]:
    """Return what an attribute says as a style, which is one value and never important."""
    found = list(declarations(f"{name}:{written or ''}"))
    return found if len(found) == 1 and not found[0].is_important else []


def _has_no_box(tag: str, attributes: Attributes, style: Style) -> bool:
    """Tell whether an element is not displayed; a style that displays it overrides its kind."""
    if "display" in style:
        return style["display"] == (Token("ident", "none"),)
    is_closed = tag == "dialog" and "open" not in attributes
    return is_closed or "hidden" in attributes or "popover" in attributes


@lru_cache(_STYLES_KEPT)
def _styled_again(tag: str, written: str, around: Look) -> Look | None:
    return _styled(tag, _style(written), around)


def _styled(tag: str, style: Style, around: Look) -> Look | None:
    look = _inside(style, around)
    return None if is_put_away(tag, style, look.font) else look


def _inside(style: Style, around: Look) -> Look:
    font = _font(style.get("font-size"), around.font)
    return replace(
        around,
        is_visible=_word(style.get("visibility"), around.is_visible),
        opacity=around.opacity * _opacity(style),
        font=font,
        indent=_indent(style.get("text-indent"), around.indent, font),
        is_clear=_is_clear(style, around.is_clear),
        is_unpainted=_is_unpainted(style, around.is_unpainted),
    )


def _word(value: Value | None, inherited: bool) -> bool:  # noqa: FBT001 - a property's value
    if value is None or wide_word(value) not in {None, "initial"}:
        return inherited
    return value[0].name in {"visible", "initial"} or value[0].kind == "function"


def _opacity(style: Style) -> float:
    own = plain_number(style.get("opacity", ()))
    found = 1.0 if own is None else own
    for token in style.get("filter", ()):
        amount = plain_number(token.inner) if token.name == "opacity" else None
        found *= 1.0 if amount is None else amount
    return min(1.0, max(0.0, found))


def _font(value: Value | None, inherited: float) -> float:
    if value is None or wide_word(value) not in {None, "initial"}:
        return inherited
    found = pixels(value, font=inherited, whole=inherited)
    if found is not None:
        return max(0.0, found)
    return inherited if value[0].name in {"smaller", "larger"} else _USUAL_FONT


def _indent(value: Value | None, inherited: float, font: float) -> float:
    if value is None or wide_word(value) not in {None, "initial"}:
        return inherited
    return pixels(value[:1], font=font) or 0.0


def _is_clear(style: Style, inherited: bool) -> bool:  # noqa: FBT001 - a property's value
    """Tell whether text has no colour, or that of the ground which its own element gives it."""
    value = style.get("text-fill-color", style.get("color"))
    if value is None or wide_word(value) not in {None, "initial"}:
        return inherited
    if _paints_otherwise(style):
        return False
    found, ground = colour(value), colour(style.get("background-color", ()))
    if found is None:
        return value == style.get("background-color") and value[0].kind == "ident"
    return found[3] < 255 * LEAST_OPACITY or found == ground


def _paints_otherwise(style: Style) -> bool:
    """Tell whether text without a colour is seen by its ground, its shadow or a picture behind."""
    none = (Token("ident", "none"),)
    return (
        style.get("background-clip") == (Token("ident", "text"),)
        or style.get("text-shadow", none) != none
        or style.get("background-image", none) != none
    )


def _is_unpainted(style: Style, inherited: bool) -> bool:  # noqa: FBT001 - a property's value
    amount = plain_number(style.get("fill-opacity", ()))
    if amount is not None and amount < LEAST_OPACITY:
        return True
    value = style.get("fill")
    if value is None or wide_word(value) not in {None, "initial"}:
        return inherited
    found = colour(value)
    return value == (Token("ident", "none"),) or (found is not None and found[3] == 0)
