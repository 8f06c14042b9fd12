"""A stream of events outlives an owner that restarts, and ends with the right to read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chancery.events.queries import EventRow, EventRows
from chancery.events.requests import Message, Request
from chancery.gateway.domain.frames import BROKEN_OFF
from chancery.gateway.handlers import runs
from chancery.gateway.ports import Sent, Told
from chancery.kernel.errors import ChanceryError, Denied, NotFound, Unavailable
from tests.unit.gateway.fakes import TableOwners, World

STATE = EventRows(rows=(EventRow(number=1, event="state", data="{}"),), ended=False)
END = EventRows(rows=(EventRow(number=2, event="end", data="{}"),), ended=True)


class ScriptedOwners(TableOwners):
    """Owners that answer one after the other from a script."""

    def __init__(self, script: Sequence[Message | Exception]) -> None:
        super().__init__()
        self._left = list(script)

    async def ask(self, subject: str, request: Request[Sent], reply: type[Told]) -> Told:
        """Return or raise what comes next."""
        following = self._left.pop(0)
        if isinstance(following, Exception) and not isinstance(following, ChanceryError):
            raise following
        self.answers[subject] = following
        return await super().ask(subject, request, reply)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "POLL_S", 0.0)


async def stream(script: Sequence[Message | Exception]) -> str:
    """Return everything that a stream sends under `script`."""
    async with World(owners=ScriptedOwners(script)).client() as client:
        return (await client.get("/v1/runs/r/events")).text


@pytest.mark.parametrize(
    "code", ["unavailable", "no_responders", "bus_timeout", "projection_behind"]
)
async def test_an_owner_that_is_away_for_a_moment_does_not_end_a_stream(code: str) -> None:
    away = Unavailable("away", code=code)

    told = await stream([STATE, away, away, END])

    assert "event: state" in told
    assert told.endswith("event: end\ndata: {}\n\n")


@pytest.mark.req("CR-19")
@pytest.mark.parametrize("refusal", [Denied("no", code="credential_revoked"), NotFound("no")])
async def test_a_stream_ends_when_its_caller_may_not_read_any_more(
    refusal: ChanceryError,
) -> None:
    told = await stream([STATE, refusal, END])

    assert "event: state" in told
    assert "event: end" not in told
    assert told.endswith(f'"message":"{BROKEN_OFF}","run_id":"r"}}\n\n')
    assert f'event: error\ndata: {{"code":"{refusal.code}"' in told


@pytest.mark.req("CR-19")
async def test_an_error_of_an_open_stream_is_a_fixed_message_with_a_code() -> None:
    prose = "the passage 'Mara Lindt owns reviews' broke line 7"

    told = await stream([STATE, RuntimeError(prose), END])

    assert "event: state" in told
    error = f'{{"code":"internal","message":"{BROKEN_OFF}","run_id":"r"}}'
    assert told.endswith(f"event: error\ndata: {error}\n\n")
    assert "Mara" not in told


@pytest.mark.req("CR-19")
@pytest.mark.parametrize("noun", ["", "/answer", "/audit", "/bundle", "/events"])
async def test_an_error_before_an_answer_is_a_fixed_message_with_a_code(noun: str) -> None:
    owners = ScriptedOwners([RuntimeError("the passage 'Mara Lindt owns reviews' broke line 7")])

    async with World(owners=owners).client() as client:
        answer = await client.get(f"/v1/runs/r{noun}")

    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert answer.json()["detail"].startswith("something went wrong here")
    assert "Mara" not in answer.text
