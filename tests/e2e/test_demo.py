"""The demo as a command, and ten other draws of it against one running system."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from chancery.client.command.narration import SilentNarrator
from chancery.client.demo.play import SCENES, play
from chancery.client.demo.scenario import draw_scenario
from tests.e2e.running import System, command
from tests.e2e.showing import block, shape

README = Path(__file__).parents[2] / "README.md"
SEEDS = range(1, 11)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Return what the demo of the documentation printed."""
    return command(["demo"], folders_in(tmp_path_factory.mktemp("demo")))


@pytest.mark.req("KO-4")
def test_the_demo_tells_the_whole_path_and_ends_well(
    shown: subprocess.CompletedProcess[str],
) -> None:
    told = shown.stdout

    assert shown.returncode == 0, told + shown.stderr
    assert "owns service reviews and answers for them to the board.”" in told
    assert "“The currency of the orders dataset is the euro.”" in told
    assert "SUM(orders.amount) = 4,000" in told
    assert "The available evidence does not support an answer." in told
    assert "This answer is withheld" in told
    assert "\n   verified\n" in told
    assert "\x1b" not in told


def test_the_excerpt_of_the_readme_is_what_the_demo_prints(
    shown: subprocess.CompletedProcess[str],
) -> None:
    printed = [shape(line) for line in shown.stdout.splitlines()]
    excerpt = [shape(line) for line in block(README.read_text("utf-8"), "text").splitlines()]
    position = 0

    for line in excerpt:
        assert line in printed[position:], f"the demo does not print, or not there: {line}"
        position = printed.index(line, position) + 1

    assert len(excerpt) > 20


def test_the_demo_gives_machines_one_document_and_keeps_its_data_when_asked(
    tmp_path: Path,
) -> None:
    shown = command(["demo", "--json", "--keep", "--seed", "5"], folders_in(tmp_path))
    told = json.loads(shown.stdout)

    assert shown.returncode == 0
    assert told["ok"] is True
    assert [step["name"] for step in told["steps"]] == list(SCENES)
    assert (Path(told["data_dir"]) / "operator.token").is_file()
    assert Path(told["data_dir"]).parent == tmp_path


@pytest.mark.req("KO-4", "KO-7", "CL-13", "CL-15", "KO-24")
@pytest.mark.parametrize("seed", SEEDS)
async def test_other_names_questions_and_amounts_come_out_too(
    system: System, tmp_path: Path, seed: int
) -> None:
    async with system.operator() as operator:
        played = await play(draw_scenario(seed), operator, SilentNarrator(), tmp_path)

    assert played.failed is None
    assert [step.name for step in played.steps] == list(SCENES)


async def test_a_demo_that_comes_out_otherwise_says_which_expectation_failed(
    system: System, tmp_path: Path
) -> None:
    scenario = draw_scenario(99)
    async with system.operator() as operator:
        await play(scenario, operator, SilentNarrator(), tmp_path)

        again = await play(scenario, operator, SilentNarrator(), tmp_path)

    assert again.failed is not None
    assert again.failed.startswith("workspace: ")


def folders_in(place: Path) -> dict[str, str]:
    """Return the setting with which a command makes its temporary folders in `place`."""
    return {"TMPDIR": str(place)}
