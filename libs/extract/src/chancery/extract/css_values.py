"""The declarations in a `style` attribute, as a browser reads them with comments and escapes.

Values are tokens without white space, names and units in lower case; what is in brackets is inside
its token. What is no declaration is passed over up to its end.
Source: CSS Syntax Module Level 3, sections 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

DEPTH_MAX: Final = 32
"""What stands in more brackets than this is passed over; no value has so many."""

_ESCAPE: Final = r"\\(?:[0-9a-fA-F]{1,6}(?:\r\n|[ \t\r\n\f])?|[^0-9a-fA-F\r\n\f])"
_NAME: Final = rf"(?:[A-Za-z0-9_\u0080-\U0010ffff-]|{_ESCAPE})"
_IDENT: Final = rf"(?:--|-?(?:[A-Za-z_\u0080-\U0010ffff]|{_ESCAPE})){_NAME}*"
_STRINGS: Final = r""""(?:[^"\\]|\\.)*(?:"|\\?\Z)|'(?:[^'\\]|\\.)*(?:'|\\?\Z)"""
_TOKEN: Final = re.compile(
    rf"""(?P<blank>(?:/\*.*?(?:\*/|\Z)|[ \t\r\n\f])+)
    |(?P<address>[uU][rR][lL]\([ \t\r\n\f]*(?!["' \t\r\n\f])(?:[^)\\]|\\.)*(?:\)|\\?\Z))
    |(?P<string>{_STRINGS})
    |\#(?P<hash>{_NAME}+)
    |(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?P<unit>%|{_IDENT})?
    |(?P<ident>{_IDENT})(?P<call>\()?
    |(?P<sign>.)""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPED: Final = re.compile(_ESCAPE, re.DOTALL)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_SCALARS: Final = range(1, 0x110000)

Kind: TypeAlias = Literal["ident", "function", "number", "hash", "text", "block", "sign"]
Value: TypeAlias = "tuple[Token, ...]"


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `name` is that of a function, the unit of a number, the bracket of a block."""

    kind: Kind
    name: str
    number: float = 0.0
    inner: tuple[Token, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """One declaration, whether or not any property takes its value."""

    name: str
    value: Value
    is_important: bool


def declarations(style: str) -> Iterator[Said]:
    """Yield the declarations of a style attribute in their order."""
    found: list[Token] = []
    for token in (*_nested(style), Token("sign", ";")):
        if token == Token("sign", ";"):
            yield from _declaration(found)
            found = []
            continue
        found.append(token)
        if token.kind == "block" and token.name == "{" and not _is_custom(found):
            found = []  # A rule is no declaration, and ends without a sign.


def _is_custom(found: list[Token]) -> bool:
    return found[0].kind == "ident" and found[0].name.startswith("--")


def _declaration(found: list[Token]) -> Iterator[Said]:
    head, value = found[:2], found[2:]
    if [each.kind for each in head] != ["ident", "sign"] or head[1].name != ":":
        return
    is_important = value[-2:] == [Token("sign", "!"), Token("ident", "important")]
    value = value[:-2] if is_important else value
    if value:
        yield Said(head[0].name, tuple(value), is_important)


def _nested(style: str) -> list[Token]:
    """Return the tokens with those in brackets inside; what is not closed ends with the text."""
    levels: list[tuple[Token, list[Token]]] = [(Token("block", ""), [])]
    for token in _tokens(style):
        opened, inner = levels[-1]
        closing = _CLOSING["(" if opened.kind == "function" else opened.name] if opened.name else ""
        if token.kind in {"function", "block"}:
            levels.append((token, []))
        elif token.kind == "sign" and token.name == closing:
            _close(levels)
        else:
            inner.append(token)
    while len(levels) > 1:
        _close(levels)
    return levels[0][1]


def _close(levels: list[tuple[Token, list[Token]]]) -> None:
    opened, inner = levels.pop()
    if len(levels) > DEPTH_MAX:
        inner = []
    levels[-1][1].append(Token(opened.kind, opened.name, inner=tuple(inner)))


def _tokens(style: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(style):
        kind = match.lastgroup
        if kind == "blank":
            continue
        if match["number"] is not None:
            yield Token("number", _plain(match["unit"] or ""), float(match["number"]))
        elif match["ident"] is not None:
            yield Token("function" if match["call"] else "ident", _plain(match["ident"]))
        elif match["hash"] is not None:
            yield Token("hash", _plain(match["hash"]))
        elif kind == "sign":
            yield Token("block" if match["sign"] in _CLOSING else "sign", match["sign"])
        else:
            yield Token("text", "")


def _plain(name: str) -> str:
    return _ESCAPED.sub(_meant, name).lower()


def _meant(match: re.Match[str]) -> str:
    digits = match[0][1:].rstrip(" \t\r\n\f")
    if not digits or not re.fullmatch("[0-9a-fA-F]{1,6}", digits):
        return match[0][1:]
    code = int(digits, 16)
    is_scalar = code in _SCALARS and not 0xD800 <= code < 0xE000  # noqa: PLR2004 - surrogates
    return chr(code) if is_scalar else "\ufffd"
