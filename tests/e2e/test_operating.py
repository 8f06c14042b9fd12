"""What an operator does on the running system with the command alone: parked messages, fsck."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from chancery.bus.connection import connect
from chancery.bus.publish import Outgoing, publish_message
from chancery.client.command.operator import operator_url
from chancery.client.command.settings import CommandSettings
from chancery.events.topology import authority_subject, run_subject
from chancery.kernel.ids import random_id
from chancery.testkit.waiting import wait_until
from tests.e2e.running import System, command
from tests.e2e.world import World

SECRET = "nobody-may-read-this"
QUESTION = "Who keeps the keys of the archive?"


STAGE = run_subject("default", "no-run", "admitted")
SOURCE = authority_subject("default", "source", "poisoned")


async def poison(folder: Path, subject: str = STAGE) -> int:
    """Publish what no build can read, and return its sequence."""
    url = operator_url(CommandSettings(), folder)
    async with connect(url, name="tests") as bus:
        outgoing = Outgoing(
            subject=subject,
            payload=json.dumps({"id": "e1", "data": {"text": SECRET}}).encode(),
            message_id=random_id(),
        )
        return (await publish_message(bus, outgoing)).sequence


def told(arguments: list[str], folder: Path) -> tuple[int, dict[str, Any]]:
    """Run a command with --json and return its exit code and what it said."""
    shown = command([*arguments, "--data-dir", str(folder), "--json"])
    assert SECRET not in shown.stdout + shown.stderr
    return shown.returncode, json.loads(shown.stdout.splitlines()[-1])


@pytest.mark.req("EV-7")
def test_a_poisoned_message_is_seen_retried_and_discarded(system: System) -> None:
    sequence = asyncio.run(poison(system.folder))
    name = f"retrieval-runs-{sequence}"

    def listed() -> list[str]:
        code, found = told(["parked", "ls", "--service", "retrieval"], system.folder)
        assert code == 0
        return [each["id"] for each in found["parked"]]

    wait_until(lambda: name in listed(), within_s=90)
    shown = told(["parked", "show", name], system.folder)
    retried = told(["parked", "retry", name], system.folder)
    nothing = command(["parked", "discard", name, "--data-dir", str(system.folder)])
    discarded = told(["parked", "discard", name, "--reason", "a test"], system.folder)
    again = told(["parked", "retry", name], system.folder)

    assert (shown[0], shown[1]["state"], shown[1]["reason"]) == (0, "parked", "invalid_event")
    assert (retried[0], retried[1]["outcome"], retried[1]["attempts"]) == (1, "parked", 2)
    assert nothing.returncode == 2
    assert (discarded[0], discarded[1]["changed"]) == (0, True)
    assert (again[0], again[1]["error"]["code"]) == (1, "parked_resolved")
    assert name not in listed()


@pytest.mark.req("EV-7")
def test_a_poisoned_authority_event_is_seen_by_each_reader_and_never_discarded(
    system: System,
) -> None:
    sequence = asyncio.run(poison(system.folder, SOURCE))
    names = [f"indexing-publications-{sequence}", f"release-authority-{sequence}"]

    def listed() -> list[str]:
        _, found = told(["parked", "ls"], system.folder)
        return [each["id"] for each in found["parked"] if each["sequence"] == sequence]

    wait_until(lambda: listed() == names, within_s=90)
    refusals = [
        told(["parked", "discard", name, "--reason", "in the way"], system.folder) for name in names
    ]
    retried = [told(["parked", "retry", name], system.folder) for name in names]

    assert [(code, said["error"]["code"]) for code, said in refusals] == [
        (1, "authority_event")
    ] * 2
    assert [(code, said["outcome"]) for code, said in retried] == [(1, "parked")] * 2
    assert listed() == names


async def test_the_running_system_fits_together(world: World, system: System) -> None:
    await world.document("page", "The keys of the archive are kept by Ada Brandt.")
    answer = await world.ask(QUESTION)

    code, found = await asyncio.to_thread(told, ["fsck", "--deep"], system.folder)

    assert answer.status == "sealed"
    assert (code, found["findings"]) == (0, [])
    assert found["counts"]["releases"] >= 1
    assert found["counts"]["blobs_read"] >= 3
    assert set(found["counts"]["parked"]) == {"indexing", "retrieval", "execution", "release"}
    assert None not in found["counts"]["parked"].values()


@pytest.mark.parametrize(
    "arguments",
    [
        ["fsck"],
        ["parked", "ls"],
        ["projections", "status"],
        ["streams", "diff"],
        ["backup", "nowhere"],
    ],
)
def test_where_nothing_runs_one_sentence_says_so(arguments: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "data"

    shown = command([*arguments, "--data-dir", str(folder)])

    sentence = f"chancery: no system runs on {folder}; start it with chancery up\n"
    assert (shown.returncode, shown.stdout, shown.stderr) == (3, "", sentence)
    assert not folder.exists()


def test_names_that_there_are_not_are_told_with_those_that_there_are(system: System) -> None:
    folder = ["--data-dir", str(system.folder)]
    projection = command(["projections", "status", "searhc", *folder])
    service = command(["parked", "ls", "--service", "relese", *folder])
    nothing = command(["projections", "switch", *folder])

    assert projection.returncode == 2
    assert "searhc is not one of all, authority, index" in projection.stderr
    assert (service.returncode, service.stdout) == (2, "")
    assert service.stderr.startswith("chancery: --service is one of ")
    assert service.stderr.count("\n") == 1
    assert (nothing.returncode, nothing.stderr.count("\n")) == (1, 1)


def test_the_running_system_is_looked_at_through_its_folder(system: System) -> None:
    code, streams = told(["streams", "diff"], system.folder)
    examined = command(["doctor", "--data-dir", str(system.folder)])

    assert (code, streams["changes"]) == (0, [])
    assert examined.returncode == 0, examined.stdout
    assert f"ok data folder: a system runs on {system.folder}" in examined.stdout
