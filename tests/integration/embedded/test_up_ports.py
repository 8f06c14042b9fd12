"""The ports of `up`: one that is lost before its use is replaced, unless it was asked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chancery.testkit.ports import reserved_port
from chancery.testkit.waiting import wait_until
from tests.integration.embedded.starter import NAMES, READY, Starter, Up

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("module", "name"), [("nats", "nats"), ("postgres", "postgres"), ("up", "gateway")]
)
def test_a_port_that_was_free_a_moment_ago_is_replaced_and_told(
    start_up: Starter, module: str, name: str
) -> None:
    with reserved_port() as port:
        port.take()
        up = start_up(unlucky={module: [port.number]})
        up.wait_ready()

    taken = f"Another process took port {port.number} before {name} could open it. Starting again."
    assert [line for line in up.lines if "took" in line] == [taken]
    assert up.lines[-1] != f"{READY}{port.number}"
    assert set(up.children()) == NAMES


def test_a_start_that_never_gets_a_port_gives_up_and_says_so(start_up: Starter) -> None:
    with reserved_port() as port:
        port.take()
        up = start_up(unlucky={"postgres": 5 * [port.number]})
        code = up.handle.wait(120)

    taken = f"Another process took port {port.number} before postgres could open it."
    assert code == 3
    assert [line for line in up.lines if "took" in line] == [f"{taken} Starting again."] * 4 + [
        taken
    ]
    assert not list((up.data / "run").glob("*.pid"))


def test_a_chosen_port_that_is_taken_during_the_start_is_refused(start_up: Starter) -> None:
    with reserved_port() as port:
        up = start_up(port=port.number)
        wait_until((up.data / "run" / "nats.pid").exists, 60)
        port.take()
        code = up.handle.wait(120)

    assert code == 1
    assert up.lines[-2:] == [
        f"Another process took port {port.number} before gateway could open it. Starting again.",
        f"Port {port.number} is in use; stop what listens there or choose another with --port.",
    ]


def test_nats_keeps_its_port_or_says_where_it_went(start_up: Starter) -> None:
    first = start_up()
    first.wait_ready()
    before = _nats_port(first)
    first.stop()

    with reserved_port() as other:
        # What the system gives to nobody else stands for the port of the start before.
        _remember_port(first.data, other.number)
        kept = start_up()
        kept.wait_ready()
        kept_at = _nats_port(kept)
        kept.stop()
        other.take()
        moved = start_up()
        moved.wait_ready()
        moved_to = _nats_port(moved)

    assert kept_at == other.number != before
    assert not [line for line in kept.lines if "NATS" in line]
    assert moved_to != other.number
    told = f"NATS is at port {moved_to} now, since {other.number} is in use; "
    assert [line for line in moved.lines if "NATS" in line] == [
        f"{told}who submits over the bus needs that one in the URL."
    ]


def _nats_port(up: Up) -> int:
    return int(up.nats_url("gateway").rpartition(":")[2])


def _remember_port(data: Path, port: int) -> None:
    config = data / "nats" / "server.conf"
    text = re.sub(
        r'(?m)^listen: "127\.0\.0\.1:\d+"$', f'listen: "127.0.0.1:{port}"', config.read_text()
    )
    config.write_text(text)
