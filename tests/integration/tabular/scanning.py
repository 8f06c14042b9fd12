"""Looking into the memory of a process for what may not be there (Linux only)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

CAN_SCAN = Path("/proc/self/mem").exists()
SCANS = pytest.mark.skipif(not CAN_SCAN, reason="reads the memory of a process under /proc")

_PIECE_BYTES = 16 * 1024 * 1024


def memory_holds(pid: int, *needles: bytes) -> frozenset[bytes]:
    """Return which of `needles` stand anywhere in the readable memory of a process."""
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        return _found(memory.fileno(), _areas(pid), needles)


def _found(
    memory: int, areas: Iterable[tuple[int, int]], needles: Sequence[bytes]
) -> frozenset[bytes]:
    found: set[bytes] = set()
    longest = max(map(len, needles))
    for start, end in areas:
        for offset in range(start, end, _PIECE_BYTES):
            piece = _read(memory, offset, min(end, offset + _PIECE_BYTES + longest))
            found.update(each for each in needles if each in piece)
    return frozenset(found)


def _read(descriptor: int, start: int, end: int) -> bytes:
    try:
        return os.pread(descriptor, end - start, start)
    except OSError:  # Unmapped meanwhile, or of the kernel.
        return b""


def _areas(pid: int) -> Iterator[tuple[int, int]]:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        place, rights = line.split()[:2]
        if "r" in rights and "[v" not in line:
            start, end = (int(each, 16) for each in place.split("-"))
            yield start, end
