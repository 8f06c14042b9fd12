"""`chancery verify` names whatever was changed in a saved bundle."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chancery.client.command.narration import SilentNarrator
from chancery.client.demo.play import Played, play
from chancery.client.demo.scenario import draw_scenario
from chancery.testkit.servers import run_apart
from tests.e2e.running import System, command

Bundle = dict[str, Any]


@pytest.fixture(scope="module")
def saved(system: System, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bundle of a mixed answer."""
    folder = tmp_path_factory.mktemp("bundle")

    async def play_once() -> Played:
        async with system.operator() as operator:
            return await play(draw_scenario(4711), operator, SilentNarrator(), folder)

    played = run_apart(play_once())
    assert played.failed is None
    return next(folder.glob("*.bundle.json"))


def change_text(bundle: Bundle) -> None:
    bundle["text"] = _other(bundle["text"])


def change_quotation(bundle: Bundle) -> None:
    bundle["statements"][0]["text"] = _other(bundle["statements"][0]["text"])


def change_value(bundle: Bundle) -> None:
    value = bundle["citations"][2]["value"]
    bundle["citations"][2]["value"] = ("2" if value[0] == "1" else "1") + value[1:]


def change_receipt(bundle: Bundle) -> None:
    bundle["receipt"]["cut"]["sequence"] += 1


def change_part(bundle: Bundle) -> None:
    bundle["parts"][0]["text"] = _other(bundle["parts"][0]["text"])


CHANGES: tuple[tuple[Callable[[Bundle], None], str], ...] = (
    (change_text, "text"),
    (change_quotation, "quote[1]"),
    (change_value, "citations"),
    (change_receipt, "receipt_hash"),
    (change_part, "quote[1]"),
)


@pytest.mark.req("KO-12")
@pytest.mark.parametrize(
    ("change", "name"), CHANGES, ids=lambda item: getattr(item, "__name__", item)
)
def test_one_changed_character_is_named(
    saved: Path, tmp_path: Path, change: Callable[[Bundle], None], name: str
) -> None:
    bundle: Bundle = json.loads(saved.read_bytes())
    change(bundle)
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(bundle, ensure_ascii=False), "utf-8")

    shown = command(["verify", str(forged), "--json"])
    told = json.loads(shown.stdout)

    assert shown.returncode == 1
    assert name in [each["name"] for each in told["checks"] if each["verdict"] == "mismatch"]


def test_the_bundle_as_it_was_saved_verifies_and_says_what_stays_open(saved: Path) -> None:
    shown = command(["verify", str(saved)])

    assert shown.returncode == 0
    assert shown.stdout.rstrip().endswith("verified")
    assert "not checkable here: decision" in shown.stdout


def test_every_flipped_byte_of_the_file_is_noticed(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    exits: set[int] = set()
    for place in range(97, len(data), len(data) // 3):
        forged = tmp_path / "forged.json"
        forged.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        exits.add(command(["verify", str(forged)]).returncode)

    assert exits == {1}


def test_a_withheld_run_has_nothing_to_verify(system: System, saved: Path) -> None:
    run_id = json.loads(saved.read_bytes())["receipt"]["core"]["run_id"]

    shown = command(["verify", run_id], system.environment)

    assert shown.returncode in {1, 4}
    assert "Traceback" not in shown.stderr


def _other(text: str) -> str:
    return ("X" if text[0] != "X" else "Y") + text[1:]
