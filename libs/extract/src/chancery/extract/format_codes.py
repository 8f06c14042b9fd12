"""Number format codes of workbooks: their sections, and which piece of each is what.

What is not read here is rendered nowhere: fractions, conditions, digits, names and calendars of
other languages, and what follows the settings of whoever looks (system dates and times).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

CODE_CHARACTERS_MAX: Final = 255
"""What Excel takes."""

SECTIONS_MAX: Final = 4

Piece: TypeAlias = tuple[str, str]
"""What it is (`digit`, `literal`, `year`, ...) and its text, which literals are shown as."""

Kind: TypeAlias = Literal["number", "date", "text", "general", "literal", "unknown"]

_PIECES: Final = re.compile(
    r"""
    "(?P<quoted>[^"]*)" | \\(?P<escaped>.) | _(?P<pad>.) | \*(?P<fill>.)
    | \[(?P<bracket>[^\]"]*)\]
    | (?P<general>[Gg][Ee][Nn][Ee][Rr][Aa][Ll]) | (?P<half>AM/PM|A/P) | (?P<exponent>E[+-])
    | (?P<date>[Yy]+|[Mm]+|[Dd]+|[Hh]+|[Ss]+)
    | (?P<digit>[0\#?]) | (?P<point>\.) | (?P<comma>,) | (?P<percent>%) | (?P<text>@)
    | (?P<slash>/) | (?P<section>;)
    | (?P<literal>[-$+():^&'~{}<>=\ \u00a0-\u00bf\u2010-\u2027\u202f\u20a0-\u20cf])
    """,
    re.VERBOSE | re.DOTALL,
)
_COLOUR: Final = re.compile(
    r"black|blue|cyan|green|magenta|red|white|yellow|color ?[0-9]{1,2}", re.IGNORECASE
)
_ELAPSED: Final = re.compile(r"hh?|mm?|ss?", re.IGNORECASE)
_MONEY: Final = re.compile(r"\$([^-]*)(?:-(.*))?")
_CONDITION: Final = ("<", ">", "=")
_EURO: Final = frozenset(("1", "2"))
_NUMERIC_ID: Final = re.compile(r"[0-9A-Fa-f]{3,4}")
_TAG: Final = re.compile(r"([a-z]{2})-[A-Za-z]{2,4}(?:-[A-Za-z]{2})?")
_INDIA: Final = frozenset(("4009", "en-IN"))
_UNITED_STATES: Final = frozenset(("409", "0409", "en-US"))
_LANGUAGE_BITS: Final = 0x3FF
_LANGUAGES: Final = {
    0x02: "bg", 0x03: "ca", 0x05: "cs", 0x06: "da", 0x07: "de", 0x08: "el", 0x09: "en", 0x0A: "es",
    0x0B: "fi", 0x0C: "fr", 0x0E: "hu", 0x0F: "is", 0x10: "it", 0x13: "nl", 0x14: "no", 0x15: "pl",
    0x16: "pt", 0x18: "ro", 0x19: "ru", 0x1A: "hr", 0x1B: "sk", 0x1D: "sv", 0x1F: "tr", 0x22: "uk",
    0x24: "sl", 0x25: "et", 0x26: "lv", 0x27: "lt", 0x04: "zh", 0x11: "ja", 0x12: "ko",
}  # fmt: skip
"""Languages that write numbers in these digits, in groups of three."""

_AMERICAN: Final = "en-US"
_OTHER_CALENDARS: Final = frozenset(("zh", "ja", "ko"))
_NAMED: Final = 3
"""From three letters on, a month or a day is shown by its name."""


class UnknownFormat(ValueError):
    """A code, or a section of one, that is not rendered."""


@dataclass(frozen=True, slots=True)
class Section:
    """One of the sections of a code."""

    kind: Kind
    pieces: tuple[Piece, ...] = ()


def sections_of(code: str) -> tuple[Section, ...]:
    """Return the sections of a code, of which some may be of kind `unknown`.

    Raises:
        UnknownFormat: when not even its sections are known, or conditions choose between them.
    """
    if not code or len(code) > CODE_CHARACTERS_MAX:
        raise UnknownFormat
    found: list[list[Piece]] = [[]]
    for kind, text in _pieces(code):
        if kind == "section":
            found.append([])
        else:
            found[-1].append((kind, text))
    if len(found) > SECTIONS_MAX:
        raise UnknownFormat
    return tuple(_section(pieces) for pieces in found)


def _pieces(code: str) -> Iterator[Piece]:
    at = 0
    while at < len(code):
        match = _PIECES.match(code, at)
        if match is None or match.lastgroup is None:
            raise UnknownFormat
        at = match.end()
        kind, text = match.lastgroup, match[match.lastgroup]
        match kind:
            case "quoted" | "escaped" | "slash" | "literal":
                yield ("slash" if kind == "slash" else "literal", text)
            case "pad":
                yield ("literal", " ")
            case "fill":
                pass
            case "bracket":
                yield from _bracket(text)
            case _:
                yield (kind, text)


def _bracket(text: str) -> Iterator[Piece]:
    if text.startswith(_CONDITION):
        raise UnknownFormat
    if _COLOUR.fullmatch(text):
        return
    money = _MONEY.fullmatch(text)
    if _ELAPSED.fullmatch(text):
        yield ("elapsed", text.lower())
    elif money is None:
        yield ("unknown", text)
    else:
        yield ("literal", money[1])
        if money[2] is not None and not (money[1] and money[2] in _EURO):
            yield ("language", _language(money[2]))


def _language(locale: str) -> str:
    """Return the language of a locale, `other` for all whose digits or groups may differ.

    English is that of the United States or of elsewhere: their short names are not all the same.
    """
    if locale in _INDIA:
        return "other"
    if locale in _UNITED_STATES:
        return _AMERICAN
    if _NUMERIC_ID.fullmatch(locale):
        return _LANGUAGES.get(int(locale, 16) & _LANGUAGE_BITS, "other")
    tag = _TAG.fullmatch(locale)
    return tag[1] if tag and tag[1] in _LANGUAGES.values() else "other"


def _section(pieces: list[Piece]) -> Section:
    languages = {text for kind, text in pieces if kind == "language"}
    kept = tuple(piece for piece in pieces if piece[0] != "language")
    kinds = {kind for kind, _ in kept}
    if "unknown" in kinds or "other" in languages:
        return Section("unknown")
    if kinds & {"date", "elapsed", "half"}:
        return _date_section(kept, languages)
    if "digit" in kinds:
        is_known = not kinds & {"slash", "text", "general"}
        return Section("number", kept) if is_known else Section("unknown")
    if kinds & {"point", "comma", "percent", "exponent"}:
        return Section("unknown")
    plain = tuple(("literal", text) if kind == "slash" else (kind, text) for kind, text in kept)
    if {"text", "general"} <= kinds:
        return Section("unknown")
    return Section("text" if "text" in kinds else "general" if "general" in kinds else "literal",
                   plain)  # fmt: skip


def _date_section(pieces: tuple[Piece, ...], languages: set[str]) -> Section:
    if {kind for kind, _ in pieces} & {"text", "general", "percent", "exponent"}:
        return Section("unknown")
    words = [_words(kind, text) for kind, text in pieces]
    foreign = languages - {_AMERICAN}
    is_known = not foreign & _OTHER_CALENDARS and (
        not any(words) or not foreign or (foreign == {"en"} and "short" not in words)
    )
    return Section("date", pieces) if is_known else Section("unknown")


def _words(kind: str, text: str) -> str:
    """Return whether a piece of a date is shown by a word, and by a short one."""
    if kind == "half":
        return "short"
    if kind != "date" or text[0] not in "mMdD" or len(text) < _NAMED:
        return ""
    return "short" if len(text) == _NAMED else "long"
