"""Measures the search index beside bare tantivy and PostgreSQL full-text search on the same data.

Run as `python -m tests.bench.search`. Ours is what the service does: blobs read and verified,
passages cut, entries replaced, commits of a stretch; then the handler of a search with 1,000
admitted revisions, or as many as are named. The bare engine gets the passages cut already. Queries
of all take turns, so that whatever else the machine does slows all. The numbers are told, never
judged.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypedDict

from pydantic import TypeAdapter

from chancery.evidence.manifest import build_manifest
from chancery.kernel.canonical import sha256_hex
from chancery.retrieval.adapters.tenant_indexes import TenantIndexes
from chancery.retrieval.adapters.words import count_words
from chancery.retrieval.domain.entries import Entry, Pin, RevisionRef
from chancery.retrieval.handlers.following import Following
from chancery.retrieval.handlers.loading import Loading
from chancery.retrieval.handlers.searching import Searching
from chancery.runtime.process import GARBAGE_THRESHOLDS
from chancery.store.local_blobs import LocalBlobs
from chancery.testkit.postgres import running_postgres
from chancery.testkit.servers import ServerSettings
from tests.bench.arithmetic import Summary, percentile, summary
from tests.bench.bare import LIMIT, BareIndex, BarePostgres, bare_postgres
from tests.bench.indexed import TENANT, WrittenLog, following, search_request, written_log
from tests.bench.report import About, about
from tests.bench.texts import documents, questions

OUT: Final = Path("bench-results/search.json")
STRETCH: Final = 100
"""Revisions that share a commit while much is indexed."""

BLOCK: Final = 1_000
"""Revisions that the service and the bare engine index in one turn."""

SCOPES: Final = 8
"""Callers who search in turn, each with other admitted revisions."""


class Size(TypedDict):
    """What was measured at one size."""

    passages: int
    build_per_s: float
    bare_build_per_s: float
    build_ratio: float
    search: Summary
    bare_search: Summary
    postgres_search: Summary
    search_ratio_p95: float
    index_mb: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured; as a text it is the options that say so."""

    sizes: list[int]
    queries: int
    admitted: int
    stop_words: bool

    def __str__(self) -> str:
        """Return the options."""
        named = " ".join(map(str, self.sizes))
        plain = "" if self.stop_words else " --no-stop-words"
        return f"--sizes {named} --queries {self.queries} --admitted {self.admitted}{plain}"


@dataclass(slots=True)
class Times:
    """Seconds of each search."""

    ours: list[float] = field(default_factory=list[float])
    bare: list[float] = field(default_factory=list[float])
    postgres: list[float] = field(default_factory=list[float])


@dataclass(frozen=True, slots=True)
class Corpus:
    """Revisions with their texts in blobs, and their entries as they are cut."""

    pins: list[Pin]
    entries: list[tuple[Entry, ...]]
    questions: list[str]
    blobs: LocalBlobs

    @property
    def passages(self) -> int:
        """Return how many passages there are."""
        return sum(map(len, self.entries))


def main(arguments: Sequence[str]) -> int:
    """Measure, write the JSON and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.search", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=200, help="searches of each kind")
    parser.add_argument("--out", type=Path, default=OUT, help="where the JSON goes")
    parser.add_argument("--admitted", type=int, default=1_000, help="revisions that are searched")
    parser.add_argument(
        "--stop-words",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether the commonest words are stop words, as in any text",
    )
    chosen = parser.parse_args(arguments)
    plan = Plan(chosen.sizes, chosen.queries, chosen.admitted, chosen.stop_words)
    out = Path(chosen.out)
    told = about(f"python -m tests.bench.search {plan}", "18")
    gc.set_threshold(*GARBAGE_THRESHOLDS)  # As in the service, for all three alike.
    with tempfile.TemporaryDirectory(prefix="chancery-bench-") as temporary:
        folder = Path(temporary) / "postgres"
        folder.mkdir()
        with running_postgres(ServerSettings(), folder) as dsn:
            asyncio.run(_measure(plan, Path(temporary), dsn, told=told, out=out))
    return 0


async def _measure(plan: Plan, folder: Path, server_dsn: str, *, told: About, out: Path) -> None:
    """Measure each size; print and write what there is after each, since large ones take long."""
    found: list[Size] = []
    for size in plan.sizes:
        place = folder / str(size)
        place.mkdir()
        corpus = await _corpus(size, plan, place)
        async with bare_postgres(server_dsn) as postgres:
            found.append(await _size(corpus, place, postgres, admitted=plan.admitted))
        print(_line(found[-1]), flush=True)
        await asyncio.to_thread(_write, out, {"about": told, "sizes": found})


def _write(out: Path, report: object) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(TypeAdapter(object).dump_json(report, indent=2) + b"\n")


async def _corpus(size: int, plan: Plan, place: Path) -> Corpus:
    """Store documents of five passages each until there are `size` passages."""
    blobs = LocalBlobs.at(place / "blobs")
    pins: list[Pin] = []
    entries: list[tuple[Entry, ...]] = []
    sample: list[str] = []
    count = 0
    for number, text in enumerate(documents(size, seed=3, stop_words=plan.stop_words)):
        if count >= size:
            break
        pin = await _store(blobs, f"source-{number}", text)
        cut = await Loading(blobs).entries(TENANT, pin)
        pins.append(pin)
        entries.append(cut)
        count += len(cut)
        if number % 10 == 0:
            sample.append(text)
    asked = questions(sample, plan.queries, stop_words=plan.stop_words)
    return Corpus(pins, entries, asked, blobs)


async def _store(blobs: LocalBlobs, key: str, text: str) -> Pin:
    sha256 = sha256_hex(text.encode())
    manifest = build_manifest(key, 1, content_sha256=sha256, extractor="text/1", text=text)
    for data in (text.encode(), manifest.to_bytes()):
        path = blobs.root / TENANT / sha256_hex(data)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)  # Read back soon; the bench needs no disk to remember it.
    return Pin(RevisionRef("source", key, 1), sha256, manifest.sha256)


async def _size(corpus: Corpus, place: Path, postgres: BarePostgres, *, admitted: int) -> Size:
    indexes = TenantIndexes.open(place / "ours")
    log = written_log(corpus.pins, stretch=STRETCH)
    reader = following(log, indexes, corpus.blobs, place)
    bare = BareIndex.at(place / "bare")
    ours_s, bare_s = await _build(corpus, log, reader, bare)
    await postgres.fill(
        (number, entry.text) for number, each in enumerate(corpus.entries) for entry in each
    )
    times = await _search(corpus, reader, bare, postgres, admitted=admitted)
    size_mb = sum(file.stat().st_size for file in (place / "ours").rglob("*") if file.is_file())
    indexes.close()
    return Size(
        passages=corpus.passages,
        build_per_s=round(corpus.passages / ours_s),
        bare_build_per_s=round(corpus.passages / bare_s),
        build_ratio=round(bare_s / ours_s, 2),
        search=summary(times.ours),
        bare_search=summary(times.bare),
        postgres_search=summary(times.postgres),
        search_ratio_p95=round(percentile(times.ours, 0.95) / percentile(times.bare, 0.95), 2),
        index_mb=round(size_mb / 1e6, 1),
    )


async def _build(
    corpus: Corpus, log: WrittenLog, reader: Following, bare: BareIndex
) -> tuple[float, float]:
    """Let the service and the bare engine index a block after the other, by turns."""
    ours_s = bare_s = 0.0
    for first in range(0, len(corpus.pins), BLOCK):
        log.until = min(first + BLOCK, len(corpus.pins))
        begun = time.perf_counter()
        await reader.run()
        ours_s += time.perf_counter() - begun
        some = slice(first, log.until)
        cut = list(zip(corpus.pins[some], corpus.entries[some], strict=True))
        bare_s += await asyncio.to_thread(bare.build, cut, commit_every=STRETCH)
    return ours_s, bare_s


async def _search(
    corpus: Corpus, reader: Following, bare: BareIndex, postgres: BarePostgres, *, admitted: int
) -> Times:
    """Let the three take turns, each question over another scope of so many revisions."""
    draw = random.Random(5)
    searching, times = Searching(reader, count_words), Times()
    scopes = [
        draw.sample(range(len(corpus.pins)), min(admitted, len(corpus.pins))) for _ in range(SCOPES)
    ]
    for number, question in enumerate(corpus.questions):
        scope = scopes[number % SCOPES]
        pins = [corpus.pins[each] for each in scope]
        numbers = [pin.number for pin in pins]
        request = search_request(question, pins, LIMIT)
        begun = time.perf_counter()
        result = await searching.search(request)
        times.ours.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        hits = await asyncio.to_thread(bare.search, question, numbers)
        times.bare.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        await postgres.search(question, scope)
        times.postgres.append(time.perf_counter() - begun)
        # The engine's query finds what has a stop word and nothing else as well.
        if not 0 < len(result.hits) <= hits or result.unconfirmed:
            message = "the service found nothing, or more than the engine"
            raise RuntimeError(message)
    return times


def _line(size: Size) -> str:
    postgres = size["postgres_search"]
    return (
        f"{size['passages']:>8,} passages: build {size['build_per_s']:,}/s "
        f"({size['build_ratio']} of bare tantivy), search p50 {size['search']['p50_ms']} ms "
        f"p95 {size['search']['p95_ms']} ms ({size['search_ratio_p95']} times the bare query), "
        f"PostgreSQL p95 {postgres['p95_ms']} ms, index {size['index_mb']} MB"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
