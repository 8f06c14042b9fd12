"""Files that were published under the ids of an earlier version keep these, where that is certain.

An earlier version left the suffix out of every id, and told two files apart only when they met in
one folder, so that an id could pass from one file to another one. What serves under such an id is
taken for a file's own when it has the file's title and media type and no other file of the folder
may say the same.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus

from chancery.client.command.file_ids import earlier_ids, hashed_id
from chancery.client.command.items import Item
from chancery.client.errors import ProblemError
from chancery.client.replies import Resource
from chancery.client.workspace import Workspace

LOOKS_AT_ONCE = 4


async def with_kept_ids(
    workspace: Workspace, items: Sequence[Item], sources: Mapping[str, Resource]
) -> list[Item]:
    """Return the items, each with the id that it has in the workspace already, or its new one.

    `sources` are those of the workspace.
    """
    rivals: dict[tuple[bool, str], list[Item]] = defaultdict(list)
    for item in items:
        rivals[item.is_table, earlier_ids(item.name)[1]].append(item)
    slots = asyncio.Semaphore(LOOKS_AT_ONCE)

    async def kept_by(item: Item) -> str:
        async with slots:
            among = rivals[item.is_table, earlier_ids(item.name)[1]]
            return await _Kept(workspace, sources, among, is_alone=len(items) == 1).id_of(item)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(kept_by(item)) for item in items]
    ids = [task.result() for task in tasks]
    claims = Counter(zip((item.is_table for item in items), ids, strict=True))
    return [
        replace(item, id=kept) if claims[item.is_table, kept] == 1 else item
        for item, kept in zip(items, ids, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Kept:
    """Finds the id of a file; `rivals` are the files that had one id with it, itself among them."""

    workspace: Workspace
    sources: Mapping[str, Resource]
    rivals: Sequence[Item]
    is_alone: bool

    async def id_of(self, item: Item) -> str:
        """Return the id under which the file serves, or is to serve."""
        apart, alone = earlier_ids(item.name)
        if item.id != alone:
            if await self._found(item, item.id) is not None:
                return item.id
            for each in (apart, alone):
                if await self._was(item, each):
                    return each
            return item.id
        if await self._found(item, hashed_id(item.name)) is not None:
            return hashed_id(item.name)
        if await self._was(item, apart):
            return apart
        is_contested = self.is_alone or len(self.rivals) > 1
        is_taken = is_contested and await self._is_of_another(item)
        is_taken = is_taken or await self._is_of_a_file_that_is_gone(item)
        return hashed_id(item.name) if is_taken else item.id

    async def _was(self, item: Item, identity: str) -> bool:
        """Tell whether the file was published under an id of earlier versions."""
        found = await self._found(item, identity)
        return found is not None and found.title == item.title and await self._is_like(item, found)

    async def _is_of_another(self, item: Item) -> bool:
        """Tell whether another file serves under the id of this one; a title may have changed."""
        found = await self._found(item, item.id)
        if found is None:
            return False
        titles = {each.title for each in self.rivals} - {item.title}
        return found.title in titles or not await self._is_like(item, found)

    async def _is_of_a_file_that_is_gone(self, item: Item) -> bool:
        """Tell whether another file had this id, since it is of another kind or its name fits."""
        found = await self._found(item, item.id)
        if found is None:
            return False
        if found.media_type is not None and not await self._is_like(item, found):
            return True
        return found.title != item.title and earlier_ids(found.title)[1] == item.id

    async def _is_like(self, item: Item, found: Resource) -> bool:
        """Tell whether what serves is of the file's media type; nothing is like anything."""
        if item.is_table or found.revision == 0:
            return True
        media_type = found.media_type
        if media_type is None:
            media_type = (await self.workspace.revision(found.id, found.revision)).media_type
        return media_type.partition(";")[0].strip().lower() == item.media_type

    async def _found(self, item: Item, identity: str) -> Resource | None:
        if not item.is_table:
            return self.sources.get(identity)
        try:
            return await self.workspace.dataset(identity)
        except ProblemError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
