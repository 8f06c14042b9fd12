"""Numbers, lengths and colours of style attributes, as far as the attribute alone tells them.

Source: CSS Values and Units Module Level 4; CSS Color Module Level 4.
"""

from __future__ import annotations

import math
from typing import Final

from chancery.extract.css_values import Token, Value

_UNITS: Final = {
    "px": 1.0,
    "pt": 4 / 3,
    "pc": 16.0,
    "in": 96.0,
    "cm": 96 / 2.54,
    "mm": 9.6 / 2.54,
    "q": 2.4 / 2.54,
    "rem": 16.0,
    **dict.fromkeys(("vw", "vh", "vmin", "vmax", "svw", "svh", "lvw", "lvh", "dvw", "dvh"), 10.0),
}
"""Pixels; a viewport is taken for one of a thousand of them, a letter for one of the usual size."""

_OF_FONT: Final = {"em": 1.0, "ex": 0.5, "ch": 0.5, "ic": 1.0, "cap": 0.7, "lh": 1.2}
_ARITHMETIC: Final = frozenset({"calc", "min", "max", "clamp"})
_WITHOUT_ALPHA: Final = 4
_HEX_LENGTHS: Final = {3: 1, 4: 1, 6: 2, 8: 2}
_COLOURS: Final = {
    "white": (255, 255, 255, 255),
    "black": (0, 0, 0, 255),
    "transparent": (0, 0, 0, 0),
}

_NAMED_COLOURS: Final = """
aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue blueviolet
brown burlywood cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan
darkblue darkcyan darkgoldenrod darkgray darkgreen darkgrey darkkhaki darkmagenta darkolivegreen
darkorange darkorchid darkred darksalmon darkseagreen darkslateblue darkslategray darkslategrey
darkturquoise darkviolet deeppink deepskyblue dimgray dimgrey dodgerblue firebrick floralwhite
forestgreen fuchsia gainsboro ghostwhite gold goldenrod gray green greenyellow grey honeydew
hotpink indianred indigo ivory khaki lavender lavenderblush lawngreen lemonchiffon lightblue
lightcoral lightcyan lightgoldenrodyellow lightgray lightgreen lightgrey lightpink lightsalmon
lightseagreen lightskyblue lightslategray lightslategrey lightsteelblue lightyellow lime
limegreen linen magenta maroon mediumaquamarine mediumblue mediumorchid mediumpurple
mediumseagreen mediumslateblue mediumspringgreen mediumturquoise mediumvioletred midnightblue
mintcream mistyrose moccasin navajowhite navy oldlace olive olivedrab orange orangered orchid
palegoldenrod palegreen paleturquoise palevioletred papayawhip peachpuff peru pink plum
powderblue purple rebeccapurple red rosybrown royalblue saddlebrown salmon sandybrown seagreen
seashell sienna silver skyblue slateblue slategray slategrey snow springgreen steelblue tan teal
thistle tomato transparent turquoise violet wheat white whitesmoke yellow yellowgreen
currentcolor canvas canvastext linktext visitedtext activetext buttonface buttontext
buttonborder field fieldtext highlight highlighttext selecteditem selecteditemtext mark marktext
graytext accentcolor accentcolortext
"""
_NAMED: Final = frozenset(_NAMED_COLOURS.split())
_MIXING: Final = frozenset(
    ("rgb", "rgba", "hsl", "hsla", "hwb", "lab", "lch", "oklab", "oklch", "color", "color-mix")
)

Colour = tuple[int, int, int, int]
"""Red, green, blue and alpha, 0 to 255."""


def pixels(value: Value, *, font: float, whole: float = 100.0) -> float | None:
    """Return a length, a percentage of `whole`, or a sum of them; None for anything else."""
    return _amount(value, font, whole) if len(value) == 1 else None


def plain_number(value: Value) -> float | None:
    """Return a number or percentage, as `0.5` and `50%`; None for anything else."""
    if len(value) != 1 or (value[0].kind == "number" and value[0].name not in {"", "%"}):
        return None
    return _amount(value, 0.0, 1.0, is_plain=True)


def colour(value: Value) -> Colour | None:
    """Return a colour, of names those that hide text on nothing and on paper; else None."""
    if len(value) != 1:
        return None
    token = value[0]
    match token.kind:
        case "ident":
            return _COLOURS.get(token.name)
        case "hash" if len(token.name) in _HEX_LENGTHS:
            return _hex(token.name)
        case "function" if token.name in _MIXING:
            return _mixed(token)
        case _:
            return None


def is_colour(value: Value) -> bool:
    """Tell whether this is a colour, known here or not."""
    if len(value) != 1:
        return False
    token = value[0]
    is_known = token.kind == "ident" and token.name in _NAMED
    is_mixed = token.kind == "function" and token.name in _MIXING
    return is_known or is_mixed or colour(value) is not None


def _amount(value: Value, font: float, whole: float, *, is_plain: bool = False) -> float | None:
    token = value[0]
    if token.kind == "number":
        found = _one(token, font, whole, is_plain=is_plain)
    elif token.kind == "function" and token.name in _ARITHMETIC:
        found = _calculated(token, font, whole)
    else:
        return None
    return found if found is not None and math.isfinite(found) else None


def _one(token: Token, font: float, whole: float, *, is_plain: bool) -> float | None:
    if token.name == "%":
        return token.number * whole / 100
    if token.name in _UNITS:
        return token.number * _UNITS[token.name]
    if token.name in _OF_FONT:
        return token.number * _OF_FONT[token.name] * font
    is_number = token.name == "" and (is_plain or token.number == 0)
    return token.number if is_number else None


def _calculated(token: Token, font: float, whole: float) -> float | None:
    """Return what arithmetic without variables comes to."""
    parts: list[list[Token]] = [[]]
    for each in token.inner:
        if each == Token("sign", ","):
            parts.append([])
        else:
            parts[-1].append(each)
    found = [_sum(part, font, whole) for part in parts]
    numbers = [each for each in found if each is not None]
    if len(numbers) < len(found):
        return None
    match token.name, numbers:
        case "clamp", [low, middle, high]:
            return max(low, min(middle, high))
        case "min", _:
            return min(numbers)
        case "max", _:
            return max(numbers)
        case "calc", [only]:
            return only
        case _:
            return None


def _sum(tokens: list[Token], font: float, whole: float) -> float | None:
    """Return a sum of products; a number with a sign of its own is added."""
    total, product, operator = 0.0, None, "+"
    for token in tokens:
        if token.kind == "sign":
            operator = token.name
            continue
        is_inner = token.kind == "block" and token.name == "("
        factor = (
            _sum(list(token.inner), font, whole)
            if is_inner
            else _amount((token,), font, whole, is_plain=True)
        )
        if factor is None or (operator == "/" and factor == 0):
            return None
        if product is not None and operator in {"*", "/"}:
            product = product * factor if operator == "*" else product / factor
        else:
            total, product = total + (product or 0.0), -factor if operator == "-" else factor
        operator = "+"
    return None if product is None else total + product


def _hex(digits: str) -> Colour | None:
    width = _HEX_LENGTHS[len(digits)]
    try:
        parts = [int(digits[n : n + width], 16) for n in range(0, len(digits), width)]
    except ValueError:
        return None
    red, green, blue, alpha = (*(17 * each if width == 1 else each for each in parts), 255)[:4]
    return red, green, blue, alpha


def _mixed(token: Token) -> Colour | None:
    """Return the colour of rgb(), of others only how transparent it is."""
    parts = [each for each in token.inner if each.kind == "number"]
    if len(parts) < _WITHOUT_ALPHA - 1 or any(each.kind == "function" for each in token.inner):
        return None
    has_alpha = len(parts) >= _WITHOUT_ALPHA
    alpha = (_amount((parts[3],), 0.0, 1.0, is_plain=True) or 0.0) if has_alpha else 1.0
    if alpha > 0 and not token.name.startswith("rgb"):
        return None
    scale = [each.number * (2.55 if each.name == "%" else 1.0) for each in parts[:3]]
    red, green, blue, opaque = (_byte(each) for each in (*scale, 255 * alpha))
    return red, green, blue, opaque


def _byte(number: float) -> int:
    return round(max(0.0, min(255.0, number)))
