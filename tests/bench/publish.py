"""Measures publication: one document until it can be searched, many until they are ready.

Run as `python -m tests.bench.publish`. Many documents are told beside the sum of what has to be
done anyhow: each document written to a file and synced, its two events published in batches to a
stream that syncs, its passages added to a bare tantivy index; one after the other, with nothing
around them. A synced write takes several times as long in one second as in another, so each round
does half of that before and half after, and the median round counts. The numbers are told, never
judged.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from chancery.bus.connection import connect
from chancery.bus.provision import Plan, apply
from chancery.bus.publish import Outgoing, publish_atomic
from chancery.client.command.absence import Absence
from chancery.client.command.bulk import Bulk
from chancery.client.command.declaring import Wanted
from chancery.client.command.items import find_items
from chancery.client.command.outcomes import Published
from chancery.client.command.output import tell_progress
from chancery.client.workspace import Workspace
from chancery.events import topology
from chancery.evidence.manifest import build_manifest
from chancery.kernel.canonical import sha256_hex
from chancery.retrieval.domain.entries import Entry, Pin, RevisionRef, text_entries
from tests.bench.arithmetic import Summary, summary
from tests.bench.asking import nats_url
from tests.bench.bare import BareIndex
from tests.bench.memory import processor_by_part
from tests.bench.report import about
from tests.bench.texts import documents
from tests.e2e.running import System, running

OUT: Final = Path("bench-results/publish.json")
BATCH: Final = 100
EVENT_BYTES: Final = 600
EVENTS: Final = 2
"""What one new document puts on the log: its source and its revision."""

READY_WITHIN_S: Final = 300.0
COMMIT_EVERY: Final = 100
DOCUMENT_BYTES_MAX: Final = 1024 * 1024
_STREAM: Final = replace(
    topology.stream(topology.AUTHORITY), name="BENCH_BULK", subjects=("bench-bulk.*",)
)

Report = dict[str, Summary | dict[str, float]]


@dataclass(frozen=True, slots=True)
class _Round:
    """The seconds until all was ready, of each thing that has to be done anyhow, and of work."""

    ready_s: float
    anchor_s: dict[str, float]
    processor_s: dict[str, float]

    @property
    def ratio(self) -> float:
        """What has to be done anyhow, as a share of the time that was taken."""
        return sum(self.anchor_s.values()) / self.ready_s


def main(arguments: Sequence[str]) -> int:
    """Measure, write the JSON and print it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.publish", description=__doc__)
    parser.add_argument("--documents", type=int, default=1000, help="documents to publish at once")
    parser.add_argument("--singles", type=int, default=40, help="documents to publish one by one")
    parser.add_argument("--rounds", type=int, default=5, help="how often to publish many")
    parser.add_argument("--out", type=Path, default=OUT, help="where the JSON goes")
    chosen = parser.parse_args(arguments)
    count, singles, rounds = int(chosen.documents), int(chosen.singles), int(chosen.rounds)
    out = Path(chosen.out)
    sizes = f"--documents {count} --singles {singles} --rounds {rounds}"
    command = f"python -m tests.bench.publish {sizes}"
    with tempfile.TemporaryDirectory(prefix="chancery-bench-") as temporary:
        place = Path(temporary)
        with running(place / "data") as system:
            report = {
                "about": about(command, "18"),
                **asyncio.run(_measure(system, place, (count, singles, rounds))),
            }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(TypeAdapter(object).dump_json(report, indent=2) + b"\n")
    for name in ("searchable", "bulk", "anchor", "processor_ms"):
        print(name, report[name])
    return 0


async def _measure(system: System, place: Path, sizes: tuple[int, int, int]) -> Report:
    count, singles, rounds = sizes
    measured: list[_Round] = []
    async with system.operator() as operator:
        desk = await operator.create_workspace("bench", "Bench")
        searchable = await _singles(desk, singles)
        for number in range(rounds):
            desk = await operator.create_workspace(f"bulk-{number}", "Bulk")
            texts = list(documents(count, seed=17 + number))
            measured.append(await _round(system, desk, place / str(number), texts))
    middle = sorted(measured, key=lambda one: one.ratio)[len(measured) // 2]
    return {
        "searchable": summary(searchable),
        "bulk": {
            "documents": count,
            "documents_per_s": round(count / middle.ready_s, 1),
            "ratio_to_anchor": round(middle.ratio, 3),
            "ratio_least": round(min(one.ratio for one in measured), 3),
            "ratio_most": round(max(one.ratio for one in measured), 3),
        },
        "anchor": {
            **{f"{name}_ms": round(1000 * s / count, 3) for name, s in middle.anchor_s.items()},
            "documents_per_s": round(count / sum(middle.anchor_s.values()), 1),
        },
        "processor_ms": {
            name: round(1000 * used / count, 2) for name, used in middle.processor_s.items()
        },
    }


async def _round(system: System, desk: Workspace, place: Path, texts: Sequence[str]) -> _Round:
    """Publish all texts between the two halves of what has to be done anyhow."""
    await asyncio.to_thread(place.mkdir)
    half = len(texts) // 2
    first = await _anchor(system, place / "first", texts[:half])
    before = processor_by_part(system)
    ready_s = await _bulk(desk, _folder(place / "folder", texts))
    after = processor_by_part(system)
    second = await _anchor(system, place / "second", texts[half:])
    anchor_s = {name: used + second[name] for name, used in first.items()}
    return _Round(ready_s, anchor_s, {name: used - before[name] for name, used in after.items()})


async def _singles(desk: Workspace, count: int) -> list[float]:
    """Publish one after the other, each to a source of its own, and search until it is found."""
    taken: list[float] = []
    for number, text in enumerate(documents(count + 3, seed=29)):
        source, word = f"single-{number}", f"zyx{number}"
        await desk.declare_source(source, source)
        begun = time.perf_counter()
        await desk.publish_text(source, f"{text}\n\nThe word is {word}.", "text/plain")
        async with asyncio.timeout(READY_WITHIN_S):
            while not (await desk.search(word, k=1, sources=[source])).hits:
                pass
        taken.append(time.perf_counter() - begun)
    return taken[3:]


async def _bulk(desk: Workspace, folder: Path) -> float:
    """Publish the folder as the command does; return the seconds until every document is ready."""
    ended: list[Published] = []
    items = list(find_items(folder))
    begun = time.perf_counter()
    async with asyncio.timeout(READY_WITHIN_S):
        absence = Absence(tell_progress)
        bulk = Bulk(desk, Wanted(), {}, DOCUMENT_BYTES_MAX, ended.append, absence)
        await bulk.publish(items)
    taken = time.perf_counter() - begun
    if len(ended) != len(items) or any(one.error is not None for one in ended):
        message = "a document did not become ready"
        raise RuntimeError(message)
    return taken


def _folder(folder: Path, texts: Sequence[str]) -> Path:
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"many-{number}.txt").write_text(text, "utf-8")
    return folder


async def _anchor(system: System, place: Path, texts: Sequence[str]) -> dict[str, float]:
    """Return the seconds of each thing that has to be done anyhow."""
    await asyncio.to_thread(place.mkdir)
    return {
        "synced_blob": await asyncio.to_thread(_write, place / "blobs", texts),
        "batched_publish": await _publish(system, len(texts)),
        "bare_indexing": await asyncio.to_thread(_index, place / "index", texts),
    }


def _write(folder: Path, texts: Sequence[str]) -> float:
    folder.mkdir()
    begun = time.perf_counter()
    for text in texts:
        data = text.encode()
        partial, path = folder / "partial", folder / sha256_hex(data)
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return time.perf_counter() - begun


async def _publish(system: System, count: int) -> float:
    messages = [
        Outgoing(
            subject=f"bench-bulk.{number}",
            payload=b"x" * EVENT_BYTES,
            message_id=f"bench-{number}",
            expect_last=0,
        )
        for number in range(EVENTS * count)
    ]
    async with connect(nats_url(system), name="bench") as bus:
        await apply(bus, Plan(streams=(_STREAM,), consumers=()))
        begun = time.perf_counter()
        for first in range(0, len(messages), EVENTS * BATCH):
            await publish_atomic(bus, _STREAM.name, messages[first : first + EVENTS * BATCH])
        taken = time.perf_counter() - begun
        await bus.jetstream.delete_stream(_STREAM.name)
    return taken


def _index(folder: Path, texts: Sequence[str]) -> float:
    cut: list[tuple[Pin, Sequence[Entry]]] = []
    for number, text in enumerate(texts):
        sha256 = sha256_hex(text.encode())
        manifest = build_manifest(
            f"many-{number}", 1, content_sha256=sha256, extractor="text/1", text=text
        )
        pin = Pin(RevisionRef("source", f"many-{number}", 1), sha256, manifest.sha256)
        cut.append((pin, text_entries(manifest, text)))
    return BareIndex.at(folder).build(cut, commit_every=COMMIT_EVERY)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
