"""`demo`: a system in a temporary folder, the whole path on it, and the story of it."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from chancery.client.command.narration import SilentNarrator, TerminalNarrator
from chancery.client.command.output import EXIT_DONE, EXIT_REFUSED, tell_json, tell_progress
from chancery.client.command.settings import operator_token
from chancery.client.command.system import with_system
from chancery.client.demo.play import Played, play
from chancery.client.demo.scenario import Scenario, draw_scenario
from chancery.client.demo.telling import Narrator
from chancery.client.http import connect


def run_demo(*, keep: bool, seed: int | None, as_json: bool) -> int:
    """Play the demo and return 0 when everything came out as expected, else 1."""
    scenario = draw_scenario(seed)
    folder = Path(tempfile.mkdtemp(prefix="chancery-demo-"))
    started = time.monotonic()
    narrator = SilentNarrator() if as_json else TerminalNarrator(sys.stdout)
    try:
        played = asyncio.run(_play(scenario, narrator, folder))
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    seconds = time.monotonic() - started
    kept = str(folder) if keep else None
    if as_json:
        head = {"seed": seed, "language": scenario.language, "data_dir": kept}
        tell_json({**head, "seconds": round(seconds, 3), **played.to_json()})
    elif isinstance(narrator, TerminalNarrator):
        narrator.close(played.failed, seconds, kept)
        if kept is None:
            narrator.tell("Data and proof are gone again; chancery demo --keep leaves both.")
        for proof in sorted(folder.glob("*.bundle.json")):
            narrator.tell(f"The proof: chancery verify {proof}")
    return EXIT_DONE if played.failed is None else EXIT_REFUSED


async def _play(scenario: Scenario, narrator: Narrator, folder: Path) -> Played:
    async def work(url: str) -> Played:
        narrator.tell(f"ready at {url}")
        token = await asyncio.to_thread(operator_token, folder)
        async with connect(url, token) as operator:
            return await play(scenario, operator, narrator, folder)

    narrator.begin("A real NATS, a real PostgreSQL and six services start in a temporary folder")
    return await with_system(folder, tell_progress, work)
