"""Which servers the integration tests use, and the one line that says so."""

from __future__ import annotations

import subprocess

import pytest

from chancery.testkit.servers import ServerSettings, describe


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NATS_URL", "POSTGRES_DSN", "CONTAINERS"):
        monkeypatch.delenv(f"CHANCERY_TEST_{name}", raising=False)


def _images(monkeypatch: pytest.MonkeyPatch, present: set[str] | None) -> None:
    """Let Docker have these images; None means that no engine answers."""

    def run(arguments: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        if present is None:
            raise FileNotFoundError(arguments[0])
        return subprocess.CompletedProcess(arguments, 0 if arguments[-1] in present else 1)

    monkeypatch.setattr(subprocess, "run", run)


@pytest.mark.req("EV-11")
@pytest.mark.parametrize(
    ("present", "line"),
    [
        (None, "chancery: NATS embedded, PostgreSQL embedded"),
        (set[str](), "chancery: NATS embedded, PostgreSQL embedded"),
        ({"nats:2.15-alpine"}, "chancery: NATS containers, PostgreSQL embedded"),
        (
            {"nats:2.15-alpine", "postgres:18-alpine"},
            "chancery: NATS containers, PostgreSQL containers",
        ),
    ],
)
def test_containers_are_used_when_the_images_are_there(
    monkeypatch: pytest.MonkeyPatch, present: set[str] | None, line: str
) -> None:
    _images(monkeypatch, present)

    assert describe(ServerSettings()) == line


@pytest.mark.parametrize(("asked", "kind"), [("1", "containers"), ("0", "embedded")])
def test_asking_decides_without_looking(
    monkeypatch: pytest.MonkeyPatch, asked: str, kind: str
) -> None:
    _images(monkeypatch, {"nats:2.15-alpine"})
    monkeypatch.setenv("CHANCERY_TEST_CONTAINERS", asked)

    assert describe(ServerSettings()) == f"chancery: NATS {kind}, PostgreSQL {kind}"


def test_a_given_server_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    _images(monkeypatch, None)
    monkeypatch.setenv("CHANCERY_TEST_NATS_URL", "nats://somewhere")

    assert describe(ServerSettings()) == "chancery: NATS external, PostgreSQL embedded"
