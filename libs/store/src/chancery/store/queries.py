"""Named SQL: every statement stands in a package's `sql/*.sql` and is looked up by its name.

A file is a row of entries, each with a name, one line that says what it is for, and the statement::

    -- name: insert_release
    -- Store one sealed answer.
    INSERT INTO release.release (...) VALUES ($1, $2);

Read the file once, at import, and look each name up there too, so that a missing one fails early::

    QUERIES = load_queries("chancery.release")
    INSERT_RELEASE = QUERIES["insert_release"]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

_NAME = re.compile(r"^-- name: (\S+)\s*$", re.MULTILINE)
_WORD = re.compile(r"[a-z][a-z0-9_]*")


class MalformedSql(ValueError):
    """A named SQL file breaks the format of this module; the message names file and entry."""


class UnknownQuery(KeyError):
    """No `sql/*.sql` of the package has a query of this name."""


@dataclass(frozen=True, slots=True)
class Queries(Mapping[str, str]):
    """The named statements of one package; unchangeable, and strict about names."""

    package: str
    statements: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        """Return the statement called `name`; raises `UnknownQuery` when there is none."""
        if name not in self.statements:
            message = f"{self.package} has no query {name!r} in its sql folder"
            raise UnknownQuery(message)
        return self.statements[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in the order of the files."""
        return iter(self.statements)

    def __len__(self) -> int:
        """Return how many statements there are."""
        return len(self.statements)


def load_queries(package: str) -> Queries:
    """Return every named statement in the `sql` folder of `package`.

    Raises:
        MalformedSql: for a duplicate name, a missing purpose or an empty statement.
    """
    folder = resources.files(package).joinpath("sql")
    found: dict[str, str] = {}
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.is_file() and entry.name.endswith(".sql"):
            _add(found, parse_queries(entry.read_text(encoding="utf-8"), file=entry.name))
    return Queries(package, found)


def parse_queries(text: str, *, file: str) -> dict[str, str]:
    """Return the named statements in `text`; `file` only names it in errors.

    Raises:
        MalformedSql: see `load_queries`.
    """
    head, *pieces = _NAME.split(text)
    if _without_comments(head):
        message = f"{file}: a statement stands before the first '-- name:' line"
        raise MalformedSql(message)
    found: dict[str, str] = {}
    for name, body in zip(pieces[::2], pieces[1::2], strict=True):
        _add(found, {name: _statement(name, body, file=file)})
    return found


def _add(found: dict[str, str], more: Mapping[str, str]) -> None:
    for name, statement in more.items():
        if name in found:
            message = f"the query {name!r} is defined twice"
            raise MalformedSql(message)
        found[name] = statement


def _statement(name: str, body: str, *, file: str) -> str:
    if _WORD.fullmatch(name) is None:
        message = f"{file}: the name {name!r} is not lower_case_words"
        raise MalformedSql(message)
    lines = body.strip().splitlines()
    if not lines or not lines[0].startswith("-- "):
        message = f"{file}: {name!r} has no line that says what it is for"
        raise MalformedSql(message)
    statement = "\n".join(lines[1:]).strip()
    if not _without_comments(statement):
        message = f"{file}: {name!r} has no statement"
        raise MalformedSql(message)
    return statement


def _without_comments(text: str) -> str:
    kept = (line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return "\n".join(kept).strip()
