"""What of a style can hide text: its properties one by one, each with its last valid value.

A declaration whose value the property does not take counts as not there, as in a browser; one of a
variable counts, and says nothing that is known here.
Source: CSS Cascading and Inheritance Level 4, sections 3 and 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from chancery.extract.css_lengths import is_colour, pixels, plain_number
from chancery.extract.css_values import Said, Token, Value

Style: TypeAlias = "dict[str, Value]"

_WIDE: Final = frozenset(("inherit", "initial", "unset", "revert", "revert-layer"))
_WORDS: Final = {
    name: frozenset(words.split())
    for name, words in {
        "display": """
            none contents block inline inline-block flow flow-root flex inline-flex grid inline-grid
            table inline-table table-row table-cell table-row-group table-header-group
            table-footer-group table-column table-column-group table-caption list-item run-in ruby
            ruby-base ruby-text ruby-base-container ruby-text-container math -webkit-box
            -webkit-inline-box -webkit-flex -webkit-inline-flex
            """,
        "visibility": "visible hidden collapse",
        "content-visibility": "visible auto hidden",
        "position": "static relative absolute fixed sticky -webkit-sticky",
        "float": "left right none inline-start inline-end",
        "overflow-x": "visible hidden clip scroll auto overlay",
        "overflow-y": "visible hidden clip scroll auto overlay",
        "background-clip": "border-box padding-box content-box text border-area",
    }.items()
}
_SIZES: Final = f"xx-small x-small small medium large x-large xx-large {'x' * 3}-large"
_LENGTHS: Final = {
    name: frozenset(words.split())
    for name, words in {
        "font-size": f"{_SIZES} smaller larger",
        "text-indent": "hanging each-line",
        **dict.fromkeys(("left", "top", "right", "bottom", "margin-left", "margin-top"), "auto"),
        **dict.fromkeys(("width", "height"), "auto min-content max-content fit-content stretch"),
        **dict.fromkeys(("max-width", "max-height"), "none min-content max-content fit-content"),
        **dict.fromkeys(("min-width", "min-height"), "auto min-content max-content fit-content"),
        **dict.fromkeys(("padding-left", "padding-top", "padding-right", "padding-bottom"), ""),
    }.items()
}
_NEVER_NEGATIVE: Final = frozenset(
    name for name in _LENGTHS if name.endswith(("width", "height", "size")) or "padding" in name
)
_NUMBERS: Final = frozenset(("opacity", "fill-opacity"))
_COLOURS: Final = frozenset(("color", "background-color", "fill", "text-fill-color"))
_AS_WRITTEN: Final = frozenset(
    (
        *("clip", "clip-path", "transform", "translate", "scale", "filter"),
        *("text-shadow", "background-image"),
    )
)
_PREFIX: Final = "-webkit-"
_PREFIXED: Final = frozenset(
    f"{_PREFIX}{name}"
    for name in (
        "background-clip",
        "clip-path",
        "filter",
        "opacity",
        "text-fill-color",
        "transform",
    )
)
_KNOWN: Final = frozenset((*_WORDS, *_LENGTHS, *_NUMBERS, *_COLOURS, *_AS_WRITTEN))
_SIDES: Final = ("top", "right", "bottom", "left")
_SIDE_OF: Final = ((0, 0, 0, 0), (0, 1, 0, 1), (0, 1, 2, 1), (0, 1, 2, 3))
"""Which of one to four values is that of each side."""

_SIDES_MAX: Final = 4


def style_of(said: Iterable[Said]) -> Style:
    """Return what counts of these declarations."""
    style: Style = {}
    important = set[str]()
    for each in said:
        for name, value in _longhands(_bare(each.name), each.value):
            if each.is_important:
                important.add(name)
            elif name in important:
                continue
            style[name] = value
    return style


def _bare(name: str) -> str:
    """Return the name of a property without the prefix that browsers know it by as well."""
    return name.removeprefix(_PREFIX) if name in _PREFIXED else name


def wide_word(value: Value) -> str | None:
    """Return the word when a value is one of those that every property takes."""
    is_word = len(value) == 1 and value[0].kind == "ident" and value[0].name in _WIDE
    return value[0].name if is_word else None


def _longhands(name: str, value: Value) -> Iterator[tuple[str, Value]]:
    is_wide = wide_word(value) is not None
    for longhand, own in _expanded(name, value, is_wide=is_wide):
        if longhand in _KNOWN and (is_wide or _is_taken(longhand, own)):
            yield longhand, own


def _expanded(name: str, value: Value, *, is_wide: bool) -> Iterator[tuple[str, Value]]:
    match name:
        case "all" if is_wide:
            yield from ((each, value) for each in _KNOWN)
        case "font":
            yield "font-size", value if is_wide else _font_size(value)
        case "overflow":
            yield from (("overflow-x", value[:1]), ("overflow-y", value[-1:]))
        case "margin" | "padding" | "inset" if len(value) <= _SIDES_MAX:
            prefix = "" if name == "inset" else f"{name}-"
            places = _SIDE_OF[len(value) - 1]
            yield from (
                (f"{prefix}{side}", (value[place],))
                for side, place in zip(_SIDES, places, strict=True)
            )
        case "background":
            yield from _background(value, is_wide=is_wide)
        case _:
            yield name, value


def _font_size(value: Value) -> Value:
    """Return the size in a `font`: with a unit, zero or a word; a weight has no unit."""
    for token in value:
        is_length = token.kind == "number" and (token.name != "" or token.number == 0)
        is_word = token.kind == "ident" and token.name in _LENGTHS["font-size"]
        if is_length or is_word or token.kind == "function":
            return (token,)
    return ()


def _background(value: Value, *, is_wide: bool) -> Iterator[tuple[str, Value]]:
    colours = [each for each in value if is_colour((each,))]
    images = [each for each in value if each.kind in {"text", "function"} and each not in colours]
    is_text = Token("ident", "text") in value
    plain = (colours or [Token("ident", "transparent")])[-1]
    yield "background-color", value if is_wide else (plain,)
    yield "background-image", tuple(images) or (Token("ident", "none"),)
    yield "background-clip", (Token("ident", "text" if is_text else "border-box"),)


def _is_taken(name: str, value: Value) -> bool:
    if not value:
        return False
    if any(each.kind == "function" and each.name in {"var", "env", "attr"} for each in value):
        return True
    if name in _WORDS:
        return all(each.kind == "ident" and each.name in _WORDS[name] for each in value)
    if name in _NUMBERS:
        return plain_number(value) is not None or value[0].kind == "function"
    if name in _COLOURS:
        return is_colour(value) or value == (Token("ident", "none"),)
    if name in _LENGTHS:
        return _is_length(name, value)
    return True


def _is_length(name: str, value: Value) -> bool:
    found = pixels(value[:1], font=1.0)
    if found is not None:
        return found >= 0 or name not in _NEVER_NEGATIVE or value[0].kind == "function"
    token = value[0]
    return token.kind == "function" or (token.kind == "ident" and token.name in _LENGTHS[name])
