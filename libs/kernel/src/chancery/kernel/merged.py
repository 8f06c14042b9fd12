"""Which cells of a sheet lie below another one that is merged across them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

Place: TypeAlias = tuple[int, int]
"""The row and the column of a cell, from 0."""

Area: TypeAlias = tuple[Place, Place]
"""Two opposite corners, whichever they are."""


def covered(areas: Iterable[Area], places: Iterable[Place]) -> Iterator[Place]:
    """Yield which of the places, given row by row, lie in an area and are not its first cell.

    It takes no longer where areas overlap.
    """
    distinct = {_from_first_to_last(each) for each in areas}
    firsts = Counter(first for first, _ in distinct)
    changes = sorted(_changes(distinct), reverse=True)
    depths = _Depths(max((last[1] for _, last in distinct), default=0) + 1)
    reaching = 0
    for place in places:
        while changes and changes[-1][0] <= place[0]:
            _, left, right, step = changes.pop()
            depths.add(left, step)
            depths.add(right + 1, -step)
            reaching += step
        if reaching and depths.at(place[1]) > firsts[place]:
            yield place


def _from_first_to_last(area: Area) -> Area:
    (top, bottom), (left, right) = (sorted(each) for each in zip(*area, strict=True))
    return (top, left), (bottom, right)


def _changes(areas: Iterable[Area]) -> Iterator[tuple[int, int, int, int]]:
    """Yield from which row on how many areas more, or fewer, reach over which columns."""
    for (top, left), (bottom, right) in areas:
        yield top, left, right, 1
        yield bottom + 1, left, right, -1


class _Depths:
    """How many areas reach over each column, as sums over runs of columns (Fenwick, 1994)."""

    def __init__(self, columns: int) -> None:
        self._sums = [0] * (columns + 2)

    def add(self, column: int, step: int) -> None:
        """Let `step` more areas reach over this column and all that follow."""
        index = column + 1
        while index < len(self._sums):
            self._sums[index] += step
            index += index & -index

    def at(self, column: int) -> int:
        """Return how many areas reach over a column."""
        index, depth = min(column + 1, len(self._sums) - 1), 0
        while index:
            depth += self._sums[index]
            index -= index & -index
        return depth
