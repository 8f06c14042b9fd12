"""Whether an element is put where nobody sees it: cut to nothing, shrunk, or out of the page."""

from __future__ import annotations

from typing import Final

from chancery.extract.css_lengths import pixels, plain_number
from chancery.extract.css_longhands import Style
from chancery.extract.css_values import Token, Value

FAR_PIXELS: Final = 999.0
"""Nobody scrolls left of a page or above it; this far is no overlap and no small shift."""

CUT_PIXELS: Final = 1.0
"""A box of one pixel, as pages have it for programs that read aloud, shows no text."""

_HALF: Final = 50.0
_INLINE: Final = """
a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp
small span strike strong sub sup time tt u var
"""
_INLINE_TAGS: Final = frozenset(_INLINE.split())
_BOXED: Final = frozenset(("absolute", "fixed"))
_PLACED: Final = _BOXED | {"relative"}


_TABLE_TAGS: Final = frozenset(("caption", "table", "tbody", "td", "tfoot", "th", "thead", "tr"))
"""What is in them makes them as large as it needs."""

_GROWING: Final = {
    "height": ("min-height", "padding-top", "padding-bottom"),
    "width": ("min-width", "padding-left", "padding-right"),
}
"""What gives a box room where its size is nothing, as pages keep a shape open for a picture."""

_OF_ANYTHING: Final = 1e6
"""What a share is of that is not known: none of it is nothing, and one in a hundred is not."""


def is_put_away(tag: str, style: Style, font: float) -> bool:
    """Tell whether nothing of an element is seen because of its box."""
    return (
        style.get("content-visibility") == (Token("ident", "hidden"),)
        or _is_clipped(style, font)
        or _is_cut(tag, style, font)
        or _is_placed_away(style, font)
        or _is_moved_away(style, font)
    )


def _is_clipped(style: Style, font: float) -> bool:
    clip = style.get("clip", ())
    if len(clip) == 1 and clip[0].name == "rect" and _word(style, "position") in _BOXED:
        top, right, bottom, left = (*_lengths(clip[0], font), None, None, None, None)[:4]
        for low, high in ((top, bottom), (left, right)):
            if low is not None and high is not None and high - low <= CUT_PIXELS:
                return True
    return any(_leaves_nothing(each, font) for each in style.get("clip-path", ()))


def _leaves_nothing(shape: Token, font: float) -> bool:
    """Tell whether a shape that text is cut to is empty."""
    found = _lengths(shape, font)
    sizes = [each for each in found if each is not None]
    match shape.name:
        case "inset":
            edges = [each for each in shape.inner if each.kind == "number"][:4]
            return bool(edges) and all(each.name == "%" and each.number >= _HALF for each in edges)
        case "circle":
            return bool(sizes) and found[0] == 0
        case "ellipse":
            return 0 in sizes[:2]
        case "polygon":
            return bool(sizes) and len(set(sizes)) == 1 and len(sizes) == len(found)
        case _:
            return False


def _is_cut(tag: str, style: Style, font: float) -> bool:
    """Tell whether what overflows a box of no size is hidden; what is inline has no size."""
    is_boxed = (
        tag not in _INLINE_TAGS | _TABLE_TAGS
        or _word(style, "position") in _BOXED
        or _word(style, "float") not in {None, "none"}
        or _word(style, "display") not in {None, "inline", "contents"}
    )
    if not is_boxed:
        return False
    for size, overflow in (("height", "overflow-y"), ("width", "overflow-x")):
        named = (style.get(name, ()) for name in (size, f"max-{size}"))
        least = [pixels(each, font=font, whole=_OF_ANYTHING) for each in named]
        is_small = any(each is not None and each <= CUT_PIXELS for each in least)
        is_hiding = is_small and _word(style, overflow) in {"hidden", "clip"}
        if is_hiding and not _is_grown(style, size, font):
            return True
    return False


def _is_grown(style: Style, size: str, font: float) -> bool:
    """Tell whether a box has room in spite of its size: a least one, or inside its border."""
    named = (style.get(name, ()) for name in _GROWING[size])
    given = (value for value in named if value and value != (Token("ident", "auto"),))
    rooms = [pixels(value, font=font, whole=_OF_ANYTHING) for value in given]
    return any(room is None or room > CUT_PIXELS for room in rooms)


def _is_placed_away(style: Style, font: float) -> bool:
    position = _word(style, "position")
    for side in ("left", "top"):
        margin = pixels(style.get(f"margin-{side}", ()), font=font)
        if margin is not None and margin <= -FAR_PIXELS:
            return True
        found = pixels(style.get(side, ()), font=font)
        if position in _PLACED and found is not None and found <= -FAR_PIXELS:
            return True
        if position == "fixed" and found is not None and found >= 10 * FAR_PIXELS:
            return True
    for side in ("right", "bottom"):
        found = pixels(style.get(side, ()), font=font)
        if position in _PLACED and found is not None and found >= FAR_PIXELS:
            return True
        if position == "fixed" and found is not None and found <= -FAR_PIXELS:
            return True
    return False


def _is_moved_away(style: Style, font: float) -> bool:
    """Tell whether a transformation shrinks an element to nothing, or moves it out of the page."""
    if any(plain_number((each,)) == 0 for each in style.get("scale", ())[:2]):
        return True
    moved = [*style.get("translate", ())[:2]]
    for each in style.get("transform", ()):
        arguments = tuple(token for token in each.inner if token != Token("sign", ","))
        if each.name in {"scale", "scalex", "scaley", "scale3d"}:
            if any(plain_number((token,)) == 0 for token in arguments[:2]):
                return True
        elif each.name in {"translate", "translatex", "translatey", "translate3d"}:
            moved += arguments[:2]
    found = (pixels((each,), font=font) for each in moved)
    return any(each is not None and each <= -FAR_PIXELS for each in found)


def _lengths(function: Token, font: float) -> list[float | None]:
    parts = (each for each in function.inner if each != Token("sign", ","))
    return [pixels((each,), font=font) for each in parts]


def _word(style: Style, name: str) -> str | None:
    value: Value = style.get(name, ())
    return value[0].name if value and value[0].kind == "ident" else None
