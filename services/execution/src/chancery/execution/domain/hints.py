"""What kind of answer a question wants, as far as its question word says so."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

Wanted: TypeAlias = Literal["name", "number", "date"]

_NUMBER: Final = re.compile(
    r"\bhow (?:many|much|long|old|far|large|big|tall|high|often)\b"
    r"|\b(?:what|which) (?:percent|percentage|number|amount|share)\b"
    r"|\bwie ?(?:viele?|vielen|lange|alt|weit|groß|hoch|oft)\b",
    re.IGNORECASE,
)
_DATE: Final = re.compile(
    r"\b(?:when|wann)\b"
    r"|\b(?:what|which) (?:year|date|month|day|century|decade)\b"
    r"|\bwelche[mnrs]? (?:jahr|datum|monat|tag|jahrhundert)\b",
    re.IGNORECASE,
)
_NAME: Final = re.compile(
    r"\b(?:who|whose|whom|where|wer|wem|wen|wessen|wo)\b"
    r"|\b(?:what|which) (?:city|country|state|place|county|region)\b"
    r"|\bwelche[mnrs]? (?:stadt|land|staat|ort|region)\b",
    re.IGNORECASE,
)
_HAS_NUMBER: Final = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred"
    r"|thousand|million|billion|half|third|quarter|twice|once"
    r"|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|hundert|tausend|millionen"
    r"|milliarden|hälfte|drittel|viertel|einmal|zweimal)\b",
    re.IGNORECASE,
)
_HAS_DATE: Final = re.compile(
    r"\d|\b(?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December|century|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
    r"|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember|Jahrhundert|Montag|Dienstag"
    r"|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag)\b"
)
_CAPITAL: Final = "[A-ZÀ-ÖØ-Þ]"
_PROPER: Final = re.compile(
    rf"(?:(?<=[^\W\d_] )|(?<=[,;:'’\"“(] )){_CAPITAL}\w+|^{_CAPITAL}\w+ {_CAPITAL}\w+"
)
"""Words with a capital inside a sentence, or two at its beginning."""


def wanted(question: str) -> Wanted | None:
    """Return what a question asks for, or None when its words do not say."""
    if _NUMBER.search(question):
        return "number"
    if _DATE.search(question):
        return "date"
    return "name" if _NAME.search(question) else None


def offers(text: str, kind: Wanted, asked: str) -> bool:
    """Tell whether `text` has what is wanted; a name counts only when `asked` does not say it."""
    match kind:
        case "number":
            return _HAS_NUMBER.search(text) is not None
        case "date":
            return _HAS_DATE.search(text) is not None
        case "name":
            return _new_name(text, asked.casefold())


def _new_name(text: str, asked: str) -> bool:
    return any(
        word.casefold() not in asked for found in _PROPER.findall(text) for word in found.split()
    )
