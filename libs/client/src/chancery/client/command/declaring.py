"""What a file's source or dataset is declared as: what it has stays, unless something is asked."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from http import HTTPStatus

from chancery.client.command.items import Item
from chancery.client.errors import ProblemError
from chancery.client.replies import Resource
from chancery.client.workspace import Table, Workspace
from chancery.events.authority import Visibility


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for by name; None keeps what there is.

    Something withdrawn serves again only when `restore` is asked for.
    """

    title: str | None = None
    visibility: Visibility | None = None
    restore: bool = False

    def differs_from(self, found: Resource) -> bool:
        """Tell whether something was asked for that `found` does not have."""
        return (self.title or found.title, self.visibility or found.visibility) != (
            found.title,
            found.visibility,
        )


@dataclass(frozen=True, slots=True)
class Declared:
    """Who may read it now, and who could before; None when it is new."""

    visibility: Visibility
    before: Visibility | None


async def declare_source(workspace: Workspace, item: Item, wanted: Wanted) -> Declared:
    """Declare a new source, or change of an existing one what was asked for by name."""
    found = await _found(workspace.source(item.id))
    if found is None:
        visibility = wanted.visibility or "workspace"
        await workspace.declare_source(item.id, wanted.title or item.title, visibility=visibility)
        return Declared(visibility, None)
    if not wanted.differs_from(found):
        return Declared(found.visibility, found.visibility)
    visibility = wanted.visibility or found.visibility
    await workspace.declare_source(
        item.id,
        wanted.title or found.title,
        visibility=visibility,
        authority=found.authority,
        date=found.date,
    )
    return Declared(visibility, found.visibility)


async def declare_dataset(workspace: Workspace, item: Item, wanted: Wanted) -> Declared:
    """Declare a new dataset, or change of an existing one what was asked for by name.

    Its columns, row filters and measures stay as they are.
    """
    found = await _found(workspace.dataset(item.id))
    if found is None:
        visibility = wanted.visibility or "workspace"
        table = Table(title=wanted.title or item.title, visibility=visibility)
        await workspace.declare_dataset(item.id, table)
        return Declared(visibility, None)
    visibility = wanted.visibility or found.visibility
    if wanted.differs_from(found):
        table = Table(title=wanted.title or found.title, visibility=visibility)
        await workspace.declare_dataset(item.id, table)
    return Declared(visibility, found.visibility)


async def _found(asked: Awaitable[Resource]) -> Resource | None:
    try:
        return await asked
    except ProblemError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise
