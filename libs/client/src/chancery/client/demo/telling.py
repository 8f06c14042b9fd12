"""How a demo is told while it is played, and what it expects at each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError


class Narrator(Protocol):
    """Shows a demo to somebody."""

    def begin(self, title: str) -> None:
        """Say what is done next."""
        ...

    def tell(self, line: str) -> None:
        """Say one thing that happened."""
        ...

    def show(self, content: str) -> None:
        """Show content exactly as the server sent it."""
        ...

    def end(self, step: Step) -> None:
        """Say that the step is done."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was played; `result` is what came out of it, for machines."""

    name: str
    seconds: float
    result: Mapping[str, Json]


class Unmet(ChanceryError):
    """The demo expected something else; the detail says what."""

    code = "expectation"


def expect(condition: object, expectation: str) -> None:
    """Go on when `condition` holds.

    Raises:
        Unmet: naming the expectation.
    """
    if not condition:
        raise Unmet(expectation)
