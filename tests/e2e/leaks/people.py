"""Who the ten principals are, what each of them has, and the marks by which it is recognised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from chancery.events.authority import Role, Visibility

Place = Literal["hall", "annex", "attic", "abroad", "nowhere"]
"""Three workspaces of one tenant, the hall of the other tenant, and none at all."""

UNKNOWN_NUMBER = 7
"""Stands in ids where a principal's number would: nothing is called like that."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one of the ten is; the first ones share the workspace `hall`."""

    number: int
    place: Place
    role: Role
    visibility: Visibility


CAST = (
    Part(10, "hall", "admin", "private"),
    Part(11, "hall", "publisher", "restricted"),
    Part(12, "hall", "publisher", "private"),
    Part(13, "hall", "curator", "restricted"),
    Part(14, "hall", "reader", "private"),
    Part(15, "hall", "reader", "restricted"),
    Part(16, "annex", "admin", "workspace"),
    Part(17, "attic", "admin", "restricted"),
    Part(18, "nowhere", "reader", "private"),
    Part(19, "abroad", "admin", "workspace"),
)

KINDS = ("source", "dataset", "item", "corpus", "group", "principal")
"""What is called by a name of its owner's; all names of a kind have one length."""

RANDOM = ("draft", "file", "run", "conversation", "credential")
"""What has a random id."""


def word_of(number: int, tag: str) -> str:
    """Return the word that only one principal's things hold."""
    return f"vex{chr(ord('a') + number)}{tag}"


def names_of(number: int, tag: str) -> dict[str, str]:
    """Return the names of a principal's things; they hold its word."""
    return {kind: f"{kind[:3]}{word_of(number, tag)}" for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Person:
    """One of the ten: a token, the ids of what it has, and marks of what it alone may see.

    `flavours` are marks by where they were planted, so that each is known to be found by its owner.
    """

    part: Part
    token: str = field(repr=False)
    ids: Mapping[str, str]
    flavours: Mapping[str, str]
    marks: frozenset[str]

    @property
    def name(self) -> str:
        """The principal's name."""
        return self.ids["principal"]


@dataclass(frozen=True)
class Scene:
    """The ten, what the hall's members share, and what only some roles see of it."""

    tag: str
    people: tuple[Person, ...]
    shared: str
    by_role: Mapping[Role, frozenset[str]]
    marks: dict[int, dict[str, str]] = field(default_factory=dict[int, dict[str, str]])

    @cached_property
    def unknown(self) -> dict[str, str]:
        """Ids that nothing has, as long as those that something has."""
        named = names_of(UNKNOWN_NUMBER, self.tag)
        random = {kind: f"{n:08x}-0000-5000-8000-000000000000" for n, kind in enumerate(RANDOM, 1)}
        return {**named, **random, "ws": f"vexno-{self.tag}", "part": "0" * 32, "tenant": "nowhere"}

    def others(self, person: Person) -> tuple[Person, ...]:
        """Return everybody else."""
        return tuple(each for each in self.people if each is not person)

    def named(self, number: int) -> Person:
        """Return one of the ten."""
        return next(each for each in self.people if each.part.number == number)

    def foreign_marks(self, person: Person) -> dict[str, str]:
        """Return what `person` must never see, and whose it is."""
        if person.part.number not in self.marks:
            self.marks[person.part.number] = self._foreign_marks(person)
        return self.marks[person.part.number]

    def _foreign_marks(self, person: Person) -> dict[str, str]:
        found = {mark: each.name for each in self.others(person) for mark in each.marks}
        for role, marks in self.by_role.items():
            if person.part.place != "hall" or person.part.role != role:
                found |= dict.fromkeys(marks, f"rows for {role}")
        return found
