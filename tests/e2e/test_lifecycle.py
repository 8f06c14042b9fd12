"""Starting, stopping and starting again, as a person would."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from chancery.client.http import Ask
from chancery.client.replies import SealedAnswer
from chancery.testkit.ports import kept_port
from chancery.testkit.waiting import eventually, wait_until
from tests.e2e.running import System, command, running
from tests.e2e.world import make_world

README = Path(__file__).parents[2] / "README.md"
PAGE = "# Pumps\n\nThe spare pump stands in hall seven.\n"
CALLS = {
    "ask": ["ask", "Where?", "-w", "w"],
    "publish": ["publish", str(README), "-w", "w"],
    "sources": ["sources", "-w", "w"],
    "token": ["token", "--principal", "p"],
}
QUESTION = "Where does the spare pump stand?"


@pytest.mark.req("EV-14", "EV-10")
async def test_a_second_start_resumes_with_everything_still_there(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    asked = Ask(question=QUESTION, idempotency_key="the-same-key")
    with running(folder) as first:
        async with first.operator() as operator:
            world = await make_world(operator, "lasting")
            await world.document("pumps", PAGE)
            token = world.reader.transport.token
            conversation = await world.reader.workspace("lasting").open_conversation()
            posted = await world.reader.post_message(conversation, asked)
            sealed = await world.reader.answer(await world.reader.wait(posted.run_id))
        children = first.children()
        code = first.stop()
        # Whoever comes after the parent of a process that ended may take a while to notice.
        await eventually(lambda: not any(map(is_alive, children)))

    with running(folder) as second:
        async with second.operator() as operator:
            reader = operator.acting_with(token)
            again = await reader.post_message(conversation, asked)
            replayed = await reader.answer(await reader.wait(again.run_id))
            fresh = await reader.answer(await reader.ask("lasting", Ask(question=QUESTION)))

    assert code == 0
    assert len(children) >= 8
    assert isinstance(sealed, SealedAnswer)
    assert again.run_id == posted.run_id
    assert replayed == sealed
    assert isinstance(fresh, SealedAnswer)
    assert fresh.text == sealed.text


def test_a_folder_in_use_is_refused_in_one_sentence(system: System) -> None:
    shown = command(["up", "--data-dir", str(system.folder), "--port", "0"])

    assert_one_sentence(shown.stdout + shown.stderr, "is in use by process")
    assert shown.returncode == 1


def test_a_busy_port_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        shown = command(["up", "--data-dir", str(tmp_path / "data"), "--port", str(port)])

    assert_one_sentence(shown.stdout + shown.stderr, f"Port {port} is in use")
    assert shown.returncode == 1


def test_a_folder_that_cannot_be_made_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")

    shown = command(["up", "--data-dir", str(tmp_path / "data"), "--port", "0"])

    assert_one_sentence(shown.stdout + shown.stderr, "cannot be used")
    assert shown.returncode == 1


def test_a_killed_supervisor_leaves_no_child_behind(tmp_path: Path) -> None:
    with running(tmp_path / "data") as system:
        children = system.children()
        system.supervisor.send_signal(signal.SIGKILL)
        system.supervisor.wait(30)

        wait_until(lambda: not any(map(is_alive, children)), within_s=60)

    assert len(children) >= 8


def test_the_operators_token_goes_to_the_system_that_runs_and_to_no_other_listener(
    tmp_path: Path,
) -> None:
    listing = ["workspace", "list"]
    own_port = kept_port()
    with running(tmp_path / "data", port=own_port) as system:
        here = {"CHANCERY_DATA_DIR": str(system.folder)}
        home = command(listing, here)
        with socket.create_server(("127.0.0.1", 0)) as other:
            elsewhere = f"http://127.0.0.1:{other.getsockname()[1]}"
            refused = command(listing, {**here, "CHANCERY_URL": elsewhere})
            assert_nobody_called(other)
        children = system.children()
        system.supervisor.send_signal(signal.SIGKILL)
        system.supervisor.wait(30)
        wait_until(lambda: not any(map(is_alive, children)), within_s=60)
        with socket.create_server(("127.0.0.1", own_port), reuse_port=False) as squatter:
            stopped = command(listing, here)
            assert_nobody_called(squatter)

    assert home.returncode == 0, home.stderr
    assert (refused.returncode, stopped.returncode) == (2, 3)
    assert "CHANCERY_TOKEN is not set, and CHANCERY_URL names" in refused.stderr
    assert "start it with `chancery up`" in stopped.stderr


def assert_nobody_called(listener: socket.socket) -> None:
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.accept()
    # Whoever had called would have been seen.
    with socket.create_connection(listener.getsockname()):
        listener.accept()[0].close()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["verify", "no such file"], 1),
        (["ask", "Where?", "--workspace", "x"], 3),
        (["token"], 2),
        (["no-such-command"], 2),
        (["verify", "/dev/null"], 1),
    ],
)
def test_a_failing_command_says_why_and_never_shows_a_traceback(
    tmp_path: Path, arguments: list[str], code: int
) -> None:
    nowhere = {"CHANCERY_URL": "http://127.0.0.1:9", "CHANCERY_TOKEN": "chy1.a.b.c.d"}

    shown = command(arguments, nowhere)

    assert shown.returncode == code
    assert "Traceback" not in shown.stderr
    assert shown.stdout + shown.stderr


def test_people_publish_ask_and_verify_from_the_command_line(
    system: System, tmp_path: Path
) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "spare-parts.md").write_text(PAGE)
    (tmp_path / "pages" / "orders.csv").write_text("id,amount\n1,1250\n2,2750\n")
    settings = system.environment | {"CHANCERY_WORKSPACE": "by-hand"}
    bundle = tmp_path / "bundle.json"
    create_workspace(system, "by-hand")

    published = command(["publish", str(tmp_path / "pages")], settings)
    asked = command(["ask", QUESTION, "--bundle", str(bundle)], settings)
    proof = tmp_path / "proof.json"
    as_json = command(["ask", QUESTION, "--bundle", str(proof), "--json"], settings)
    refused = command(["ask", "Who wrote Moby Dick?"], settings)
    verified = command(["verify", str(bundle)], settings)
    token = command(["token", "--principal", "somebody"], settings)

    assert published.returncode == 0, published.stderr
    assert sorted(published.stdout.splitlines()) == [
        "orders  snapshot 1  ready  workspace",
        "spare-parts  revision 1  ready  workspace",
    ]
    assert "The spare pump stands in hall seven." in asked.stdout
    assert (asked.returncode, refused.returncode, verified.returncode) == (0, 1, 0)
    assert asked.stderr.splitlines()[-1] == f"saved: {bundle}"
    assert json.loads(as_json.stdout)["bundle"] == str(proof)
    assert proof.stat().st_size > 0
    assert "saved" not in refused.stderr
    assert token.stdout.startswith("chy1.default.somebody.")


def test_a_refused_token_names_the_variable_and_the_command(system: System) -> None:
    other = system.environment | {"CHANCERY_TOKEN": "chy1.a.b.c.d"}

    told = {name: command(arguments, other) for name, arguments in CALLS.items()}

    for shown in told.values():
        assert shown.returncode == 1
        assert "set CHANCERY_TOKEN to what `chancery token --principal NAME` prints" in shown.stderr


def test_doctor_and_config_tell_no_secret(system: System) -> None:
    settings = system.environment | {"CHANCERY_POSTGRES_DSN": "postgresql://a:hidden@h/d"}

    doctor = command(["doctor", "--data-dir", str(system.folder)], settings)
    config = command(["config", "show"], settings)

    assert doctor.returncode == 1, doctor.stdout
    assert "PROBLEM CHANCERY_POSTGRES_DSN: " in doctor.stdout
    assert doctor.stdout.count("PROBLEM") == 1
    assert f"{system.url} is ready" in doctor.stdout
    assert "CHANCERY_POSTGRES_DSN" in config.stdout
    told = doctor.stdout + config.stdout
    assert "hidden" not in told
    assert system.token not in told


def create_workspace(system: System, workspace_id: str) -> None:
    import asyncio

    async def create() -> None:
        async with system.operator() as operator:
            await operator.create_workspace(workspace_id, "By hand")

    asyncio.run(create())


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def assert_one_sentence(told: str, part: str) -> None:
    lines = told.splitlines()
    assert len(lines) == 1, told
    assert part in lines[0]


def test_asking_for_help_loads_nothing_that_a_service_needs() -> None:
    heavy = ("asyncpg", "duckdb", "faststream", "nats", "opentelemetry.sdk", "sqlglot", "tantivy")
    script = (
        "import sys, chancery.client.command.app as told\n"
        "sys.argv = ['chancery', '--help']\n"
        "try:\n    told.main()\nexcept SystemExit:\n    pass\n"
        f"print(sorted(set({heavy!r}) & set(sys.modules)))\n"
    )

    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, timeout=60
    )

    assert b"Usage" in shown.stdout
    assert shown.stdout.splitlines()[-1] == b"[]"
