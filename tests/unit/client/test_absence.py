"""A server that is lost while a folder is published is told once, and what is left is counted."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import httpx
import pytest

from chancery.client.command import bulk, publish
from chancery.client.command.absence import Absence, ServerLost, is_away
from chancery.client.command.declaring import Wanted
from chancery.client.command.publish import run_publish
from chancery.client.errors import Problem, ProblemError, Unreachable, problem_error
from chancery.client.http import connect
from tests.unit.client.test_publish import ORDERS, Server

FILES = 30
BATCH = 10


class Leaving(Server):
    """Answers so many publications, and then for so many requests nobody does."""

    def __init__(self, publications: int, requests: int) -> None:
        """Know how much is answered."""
        super().__init__({"datasets/orders": ORDERS})
        self.publications = publications
        self.requests = requests

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer as the gateway does, as long as it does."""
        is_publication = request.method == "POST"
        if self.publications == 0 and self.requests > 0:
            self.requests -= 1
            message = "refused"
            raise httpx.ConnectError(message)
        self.publications -= is_publication and self.publications > 0
        return super().__call__(request)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with documents and a table."""
    for number in range(FILES):
        (tmp_path / f"{number:02}.md").write_text("A page.", "utf-8")
    (tmp_path / "orders.csv").write_text("id,amount\n1,2\n", "utf-8")
    return tmp_path


async def published(
    server: Server,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    patience_s: float,
    as_json: bool,
) -> int:
    def client(_: object) -> object:
        return connect("http://gone", "t", absence_s=0, transport=httpx.MockTransport(server))

    monkeypatch.setattr(publish, "server_client", client)
    monkeypatch.setattr(publish, "Absence", partial(Absence, patience_s=patience_s))
    monkeypatch.setattr(bulk, "BATCH_DOCUMENTS", BATCH)
    return await run_publish(folder, "plant", Wanted(), as_json=as_json)


async def test_a_lost_server_is_told_once_and_the_rest_is_not_finished(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Leaving(publications=2, requests=10_000)

    code = await published(server, folder, monkeypatch, patience_s=0.1, as_json=False)

    said = capsys.readouterr().err
    assert code == 3
    assert said.count("nothing answers at http://gone") == 2, said
    assert said.count("trying again for") == 1
    assert " 0 failed" in said
    assert "not finished (run the same command again)" in said


async def test_the_reason_and_what_is_left_are_there_for_machines(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Leaving(publications=2, requests=10_000)

    code = await published(server, folder, monkeypatch, patience_s=0.1, as_json=True)

    told = json.loads(capsys.readouterr().out)
    summary = told["summary"]
    assert (code, told["error"]["code"], summary["failed"]) == (3, "server_lost", 0)
    assert summary["ready"] + summary["not_finished"] == FILES + 1
    assert not [each for each in told["published"] if "error" in each]


async def test_a_server_that_comes_back_in_time_fails_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Leaving(publications=2, requests=4)

    code = await published(server, folder, monkeypatch, patience_s=60, as_json=False)

    said = capsys.readouterr().err
    assert (code, server.requests) == (0, 0)
    assert "trying again for 60 s" in said
    assert f"{FILES + 1} files: {FILES + 1} ready" in said


def test_patience_begins_anew_when_the_server_has_answered_the_same() -> None:
    told: list[str] = []
    absence = Absence(told.append, patience_s=60.0)
    error = Unreachable("nothing answers")

    for doing in ("sending", "looking"):
        absence.note(doing, error)
        absence.ended("looking")
    absence.ended("sending")
    absence.note("sending", error)
    absence.patience_s = -1.0
    absence.ended("looking")
    with pytest.raises(ServerLost, match="nothing answers"):
        absence.note("sending", error)

    assert told == ["nothing answers (trying again for 60 s)"] * 2


@pytest.mark.parametrize(
    ("status", "is_so"), [(503, True), (502, True), (504, True), (500, False), (409, False)]
)
def test_a_server_is_away_when_it_says_so_and_not_when_it_refuses(
    status: int, *, is_so: bool
) -> None:
    assert is_away(ProblemError(Problem(status=status))) is is_so
    assert is_away(problem_error(500, b"Internal Server Error"))
