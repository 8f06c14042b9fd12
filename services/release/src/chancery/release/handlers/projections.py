"""What an operator does with projections: look, rebuild beside the live one, switch.

Everything is told as one mapping per line, for a command line to render.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from chancery.kernel.canonical import Json
from chancery.release.ports.table_sets import LogEnds, Progress, Rebuilding, TableSet, Waiting

Verb: TypeAlias = Literal["status", "rebuild", "switch"]
Say: TypeAlias = Callable[[Mapping[str, Json]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Projections:
    """Handler of the three verbs over the named projections."""

    rebuilds: Sequence[Rebuilding]
    table_sets: Callable[[], Awaitable[tuple[TableSet, ...]]]
    waiting: Callable[[], Awaitable[Waiting]]
    log_ends: LogEnds
    say: Say

    async def do(self, verb: Verb) -> None:
        """Do what the operator asked for.

        Raises:
            Rejected: there is nothing to switch to.
            Conflict: another process is rebuilding.
            Corrupt: the log or the digest is not the one that it has to be.
            Unavailable: bus or database are away.
        """
        match verb:
            case "status":
                await self._tell_status()
            case "rebuild":
                for rebuild in self.rebuilds:
                    await self._rebuild(rebuild)
            case "switch":
                for rebuild in self.rebuilds:
                    await self._switch(rebuild)

    async def _tell_status(self) -> None:
        names = {rebuild.name for rebuild in self.rebuilds}
        for each in await self.table_sets():
            if each.projection in names:
                last = await self.log_ends(each.projection)
                self.say(_status(each, last))
        waiting = await self.waiting()
        self.say({"event": "waiting", "quarantined": waiting.quarantined, "frozen": waiting.frozen})

    async def _rebuild(self, rebuild: Rebuilding) -> None:
        def report(progress: Progress) -> None:
            self.say(_progress(progress))

        rebuilt = await rebuild.rebuild(report)
        self.say(
            {
                "event": "rebuilt",
                "projection": rebuild.name,
                "table_set": rebuilt.table_set,
                "sequence": rebuilt.mark.sequence,
                "digest": rebuilt.mark.digest.hex(),
            }
        )

    async def _switch(self, rebuild: Rebuilding) -> None:
        switched = await rebuild.switch()
        self.say(
            {
                "event": "switched",
                "projection": switched.projection,
                "table_set": switched.after,
                "before": switched.before,
                "sequence": switched.sequence,
                "digest": switched.digest.hex(),
            }
        )


def _status(each: TableSet, last: int) -> Mapping[str, Json]:
    mark = each.checkpoint.mark
    return {
        "event": "status",
        "projection": each.projection,
        "table_set": each.checkpoint.table_set,
        "live": each.is_live,
        "sequence": mark.sequence,
        "last": last,
        "digest": mark.digest.hex(),
    }


def _progress(progress: Progress) -> Mapping[str, Json]:
    return {
        "event": "progress",
        "projection": progress.projection,
        "sequence": progress.sequence,
        "last": progress.last,
        "per_s": round(progress.per_s),
        "left_s": None if progress.left_s is None else round(progress.left_s, 1),
    }
