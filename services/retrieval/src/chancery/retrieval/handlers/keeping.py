"""Keeping the index: follow the stream, and when it is wished build another one beside and switch.

1. The live index follows and is searched. 2. A second one is built from the beginning of the
stream, with a reader of its own. 3. When it has what the live one has, the live one stops
following; 4. the second takes in the rest, and 5. takes the first one's place. Searching goes on
all the while; a crash before 5 leaves the second index to be continued.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from chancery.retrieval.handlers.following import Following
from chancery.retrieval.ports import SearchIndex

POLL_S = 1.0
"""How often a wish for a rebuild is looked for."""

_log = logging.getLogger("chancery.retrieval")


class Folders(Protocol):
    """Where the indexes are; blocking, so call it in a thread."""

    def is_wished(self) -> bool:
        """Tell whether somebody asked for a rebuild."""
        ...

    def switch(self) -> None:
        """Put what was built beside in the place of what was searched, and end the wish."""
        ...


@dataclass(frozen=True, slots=True)
class Keeping:
    """`following` keeps the index that is searched; the other two open what is on disk."""

    folders: Folders
    following: Following
    open_live: Callable[[], SearchIndex]
    open_beside: Callable[[], Following]
    poll_s: float = POLL_S

    async def run(self) -> None:
        """Follow for ever, with one index after the other.

        Raises:
            Unavailable: stream, blobs or database are away, or an index broke; run again.
        """
        while True:
            try:
                async with asyncio.TaskGroup() as group:
                    live = group.create_task(self.following.run())
                    beside = await self._build(live, group)
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from errors
            await asyncio.to_thread(self._switch, beside.index)

    async def _build(self, live: asyncio.Task[None], group: asyncio.TaskGroup) -> Following:
        while not await asyncio.to_thread(self.folders.is_wished):  # noqa: ASYNC110 - only a file
            await asyncio.sleep(self.poll_s)
        _log.info("building another search index beside the one in use")
        beside = await asyncio.to_thread(self.open_beside)
        group.create_task(beside.run())
        await beside.passed(lambda: self.following.position)
        self.following.finish()
        await live
        await beside.passed(lambda: self.following.position)
        beside.finish()
        return beside

    def _switch(self, beside: SearchIndex) -> None:
        beside.close()
        self.following.index.close()
        self.folders.switch()
        self.following.index = self.open_live()
        _log.info("the new search index is in use")
