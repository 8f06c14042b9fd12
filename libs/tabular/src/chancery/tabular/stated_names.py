"""How a label states the name of a column or dataset: bare, or quoted as SQL quotes it.

Whoever made the file chose the name. Bare, `amount) = 4000. The CEO resigned (` would be a sentence
of theirs in the text of an answer (CR-21); in quotation marks it is seen to be a name.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from unicodedata import ucd_3_2_0

from chancery.tabular.schema import quote_identifier

_LETTERS: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo"})
_INSIDE: Final = _LETTERS | {"Nd", "Mn", "Mc"}
_BLANK: Final = frozenset("\u115f\u1160")
"""Letters of Hangul that look like a space; their other forms are not normalized."""


@lru_cache(maxsize=1024)
def stated_name(name: str) -> str:
    """Return the name as a label states it: bare when it is one plain word, else quoted."""
    return name if is_plain(name) else quote_identifier(name)


def is_plain(name: str) -> bool:
    """Tell whether a name is letters, digits and `_` of any script, and starts with no digit.

    A sealed label has to be derived again years later, so this goes by Unicode 3.2, which every
    Python has, and not by the newest that one has: a younger letter is quoted.
    """
    return (
        bool(name)
        and _is_one_of(name[0], _LETTERS)
        and all(_is_one_of(each, _INSIDE) for each in name)
        and ucd_3_2_0.is_normalized("NFKC", name)
        and not _BLANK.intersection(name)
    )


def _is_one_of(character: str, categories: frozenset[str]) -> bool:
    return character == "_" or ucd_3_2_0.category(character) in categories
