"""Measures sealing and disclosing inside release: `python -m tests.bench.release`.

The numbers are told beside the aims, never judged: nothing here fails because something was slow.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypedDict

from chancery.runtime.process import run
from tests.bench.release import seals
from tests.bench.release.disclosing import Disclosed, disclose
from tests.bench.release.ground import standing
from tests.bench.release.seals import Kept, Sealed
from tests.bench.report import About, about, write
from tests.bench.servers import Servers, running_servers

OUT: Final = Path("bench-results/release.json")
BUSY_PER_S: Final = 1000.0
ELSEWHERE_PER_S: Final = 200.0
"""Each of four sources changes every 20 ms."""


class Report(TypedDict):
    """Everything that was measured in one run."""

    about: About
    quiet: Sealed
    busy: Sealed
    elsewhere: Kept
    disclosure: Disclosed


def main(arguments: Sequence[str]) -> int:
    """Measure, write the JSON and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.release", description=__doc__)
    parser.add_argument("--seals", type=int, default=640, help="seals in each block")
    parser.add_argument("--blocks", type=int, default=3, help="blocks of each measurement")
    parser.add_argument("--rounds", type=int, default=400, help="disclosures")
    parser.add_argument("--out", type=Path, default=OUT, help="where the JSON goes")
    chosen = parser.parse_args(arguments)
    sizes = (max(seals.AT_ONCE, chosen.seals), max(1, chosen.blocks), max(20, chosen.rounds))
    reports: list[Report] = []
    with running_servers() as servers:
        code = run(lambda: _measured(servers, sizes, reports.append))
    for report in reports:
        write(report, Path(chosen.out))
        print("\n".join(_lines(report)))
    return code


async def _measured(
    servers: Servers, sizes: tuple[int, int, int], tell: Callable[[Report], None]
) -> None:
    count, blocks, rounds = sizes
    command = f"python -m tests.bench.release --seals {count} --blocks {blocks} --rounds {rounds}"
    told = about(command, await servers.version())
    async with standing(servers) as ground:
        await seals.quiet(ground, seals.AT_ONCE, 1)  # warms up
        report = Report(
            about=told,
            quiet=await seals.quiet(ground, count, blocks),
            busy=await seals.busy(ground, count, blocks, per_s=BUSY_PER_S),
            elsewhere=await seals.elsewhere(ground, count, blocks, per_s=ELSEWHERE_PER_S),
            disclosure=await disclose(ground, rounds),
        )
    tell(report)


def _lines(report: Report) -> Iterator[str]:
    yield f"{'32 seals at once':<34}{'seals/s':>10}{'bare/s':>10}{'share':>8}{'aim':>8}"
    yield _seal_line("log quiet", report["quiet"], "0.25")
    busy = report["busy"]
    yield _seal_line(f"{busy['changes_per_s']:.0f} unrelated events/s", busy, "0.20")
    yield ""
    kept = report["elsewhere"]
    yield (
        f"beside {kept['changes_per_s']:.0f} changes/s of another tenant's sources: "
        f"{kept['beside_per_s']:.0f} of {kept['quiet_per_s']:.0f} seals/s, "
        f"{kept['share']:.2f} (aim 0.80), {kept['refused']} refused"
    )
    yield ""
    told = report["disclosure"]
    yield f"{'disclosure':<34}{'p50 ms':>10}{'p95 ms':>10}{'ratio':>8}{'aim':>8}"
    answer, least = told["answer"], told["least"]
    yield (
        f"{'answer':<34}{answer['p50_ms']:>10.2f}{answer['p95_ms']:>10.2f}"
        f"{told['ratio']:>8.2f}{'2.00':>8}"
    )
    yield f"{'leader read, primary-key read':<34}{least['p50_ms']:>10.2f}{least['p95_ms']:>10.2f}"


def _seal_line(name: str, found: Sealed, aim: str) -> str:
    numbers = f"{found['seals_per_s']:>10.0f}{found['bare_per_s']:>10.0f}{found['share']:>8.2f}"
    return f"{name:<34}{numbers}{aim:>8}  {found['refused']} of {found['seals']} refused"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
