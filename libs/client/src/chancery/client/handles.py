"""A handle stands for an answer and is none: it cannot be shown, only exchanged for the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

_MESSAGE = "an answer's handle has no text; await client.answer(handle) returns the answer"


@dataclass(frozen=True, slots=True)
class AnswerHandle:
    """Names the answer of an ended run; every reading of it is authorised anew.

    It has neither text nor citations, and making text of it raises TypeError, so that nothing shows
    an answer that was not asked for and authorised at that moment.
    """

    run_id: str
    generation: int | None = None

    def __str__(self) -> NoReturn:
        """Refuse: a handle is not text."""
        raise TypeError(_MESSAGE)

    def __format__(self, format_spec: str) -> NoReturn:
        """Refuse: a handle is not text."""
        raise TypeError(_MESSAGE)

    def __add__(self, other: object) -> NoReturn:
        """Refuse: a handle is not text."""
        raise TypeError(_MESSAGE)

    def __radd__(self, other: object) -> NoReturn:
        """Refuse: a handle is not text."""
        raise TypeError(_MESSAGE)
