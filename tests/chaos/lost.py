"""Tells which published documents an index has lost: each is searched by words of its own."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from chancery.client.workspace import Workspace
from chancery.evidence.parts import PART_CHARACTERS

AT_ONCE: Final = 4
K: Final = 50
"""What one search returns at most: passages with other forms of a word may come before its own."""

_WORD: Final = re.compile(r"(?<!\S)[a-z]{7,14}(?!\S)")
"""A plain word between blanks: no analyzer takes it for anything else, or leaves it out."""

_BEGINNING: Final = 5
_ANY: Final = re.compile(r"[^\W_]+")


def own_words(text: str) -> list[str]:
    """Return the first and the last word of a text that one passage alone can be found by.

    No other word begins as it does, or an analyzer may take the two for one; and it stands in one
    part, which ends after so many characters, in the middle of a word or not.
    """
    times = Counter(each.lower()[:_BEGINNING] for each in _ANY.findall(text))
    words = [
        found.group()
        for found in _WORD.finditer(text)
        if times[found.group()[:_BEGINNING]] == 1
        and found.start() // PART_CHARACTERS == (found.end() - 1) // PART_CHARACTERS
    ]
    return [words[0], words[-1]] if words else []


async def lost(
    desk: Workspace, words: Mapping[str, Sequence[str]], *, within_s: float
) -> list[str]:
    """Return the sources that are not found by one of their words, with a passage that has it."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def is_lost(source: str) -> bool:
        async with slots:
            for word in words[source]:
                found = await desk.search(word, k=K, sources=[source])
                if not any(word in hit.excerpt.lower() for hit in found.hits):
                    return True
        return False

    async with asyncio.timeout(within_s), asyncio.TaskGroup() as group:
        tasks = {source: group.create_task(is_lost(source)) for source in words}
    return [source for source, task in tasks.items() if task.result()]
