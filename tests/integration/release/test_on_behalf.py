"""Whoever reaches release's subjects still needs the proof of the one they speak for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from chancery.events.requests import Caller, Message, Request
from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError, Denied
from chancery.testkit.postgres import Database
from tests.integration.release.stage import playing
from tests.integration.release.test_seal import TEXT
from tests.integration.release.test_unavailable import ASKED, Route, known_fields, recorded
from tests.integration.release.world import TENANT, caller, request_of

pytestmark = pytest.mark.integration

HONEST = caller("anna")
FORGED: Mapping[str, Caller] = {
    "another proof": HONEST.model_copy(update={"proof": "cd" * 32}),
    "another principal": HONEST.model_copy(update={"principal": "bert"}),
    "another credential": HONEST.model_copy(update={"credential_id": "c-bert", "proof": "0" * 64}),
    "another tenant": HONEST.model_copy(update={"tenant": "globex"}),
    "nobody": HONEST.model_copy(update={"principal": "mallory", "credential_id": "c-mallory"}),
}


async def outcome(route: Route, known: Mapping[str, Json], who: Caller) -> str:
    """Ask on behalf of somebody; tell whether it was answered, denied or refused otherwise."""
    honest: Request[Message] = request_of(
        route.subject, route.body(known), who="anna", key="the-same"
    )
    try:
        await route.handler(honest.model_copy(update={"caller": who}))
    except Denied:
        return "denied"
    except ChanceryError as error:
        return error.code
    return "answered"


@pytest.mark.req("CR-7", "CL-12", "KO-6")
async def test_a_request_on_behalf_of_another_is_denied_on_every_route(
    nats_url: str, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recorded(monkeypatch) as routes:
        async with playing(nats_url, database, tmp_path) as world:
            known = await known_fields(world, await world.publish_source("handbook", TEXT))
            denied = {
                (subject, name): await outcome(routes[subject], known, who)
                for subject in sorted(ASKED)
                for name, who in FORGED.items()
            }
            # The control: the one whose proof it is gets an answer.
            honest = {await outcome(routes[subject], known, HONEST) for subject in sorted(ASKED)}

    assert {key: told for key, told in denied.items() if told != "denied"} == {}
    assert honest <= {"answered", "idempotency_key_reused", "corpus_not_found", "item_not_found"}
    assert "answered" in honest
    assert HONEST.tenant == TENANT
