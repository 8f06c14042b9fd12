"""Whether a text has anything that a reader sees."""

from __future__ import annotations

import re
from typing import Final

_UNSEEN: Final = (
    r"\s\x00-\x1f\x7f-\x9f"
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""White space, controls, and the code points that Unicode lets a renderer ignore.

Source: `DerivedCoreProperties.txt`, Default_Ignorable_Code_Point; and the empty braille pattern.
"""

_SEEN: Final = re.compile(f"[^{_UNSEEN}]")


def is_blank(text: str) -> bool:
    """Tell whether a reader sees nothing of a text: only space, marks, joiners, soft hyphens."""
    return _SEEN.search(text) is None
