"""What a provider writes never becomes an answer, whatever it is put into; sources stand verbatim.

A selection is ids and offsets: there is no field for a URL, for HTML or for prose, and an id is no
place for one. Nor is there the excerpt of a page or the chunk of older systems: responses, chunks
and pages of theirs cannot be brought in, so that no page or chunk hash is recorded here that such a
quotation could be compared with. Those forms are refused whole, even when what they quote is true.
What takes their place is compared in every run: an excerpt with the bytes of the pinned extraction,
and a curated text with the hash of its content (tests/integration/release/test_items.py).
"""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from chancery.bus.publish import Outgoing, publish_message
from chancery.client.replies import SealedAnswer
from chancery.events.codec import encode
from chancery.events.run import RunProposed
from chancery.events.topology import run_subject
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.ids import random_id
from tests.integration.release.published import Published
from tests.integration.release.world import TENANT, World, event_of, parse

pytestmark = pytest.mark.integration

URL = "https://evil.example/pay?now"
HTML = "<a href='javascript:pay()'>Pay here</a>"
PROSE = f"Bert owns the reviews, see {URL} {HTML}"
QUOTE = "Reviews are owned by Mara Lindt."
MARKUP = "<b onclick='pay()'>See</b> https://law.example/a?b=c&d [1] &amp; <script>x()</script>"
TEXT = f"{QUOTE} The amounts are in euro. {MARKUP}\n"

PLACES: dict[str, dict[str, JsonValue]] = {
    "a part": {"part_id": URL},
    "a key": {"key": HTML},
    "a fragment": {"part_id": "part-1#<b>"},
    "an offset": {"start": PROSE},
    "another kind": {"kind": "text", "text": PROSE},
}
OLDER: dict[str, dict[str, JsonValue]] = {
    "the excerpt of a page": {"kind": "excerpt", "excerpt": QUOTE, "page": 1},
    "a chunk with its hash": {
        "kind": "chunk",
        "text": QUOTE,
        "chunk_sha256": sha256_hex(QUOTE.encode()),
    },
    "a response": {"kind": "response", "answer": QUOTE, "citations": [URL]},
}


async def propose(
    world: World,
    source: Published,
    *wrong: dict[str, JsonValue],
    beside: dict[str, JsonValue] | None = None,
) -> str:
    """Propose a sound quotation, and after it copies of it with these fields; return the run."""
    admitted = await world.admitted(await world.ask())
    await world.gather(admitted, source)
    data = RunProposed(
        run_id=admitted.run_id,
        generation=admitted.generation,
        lease=admitted.lease,
        selector="extractive",
        selections=(source.quote(QUOTE),),
    )
    document = json.loads(encode(event_of(data, subject=admitted.run_id)))
    (sound,) = document["data"]["selections"]
    document["data"] |= beside or {}
    document["data"]["selections"] = [sound, *({**sound, **fields} for fields in wrong)]
    await publish_message(
        world.bus,
        Outgoing(
            subject=run_subject(TENANT, admitted.run_id, "proposed"),
            payload=json.dumps(document).encode(),
            message_id=random_id(),
        ),
    )
    return admitted.run_id


@pytest.mark.req("CL-15", "KO-2")
@pytest.mark.parametrize("place", PLACES)
async def test_a_url_or_html_in_a_selection_refuses_the_whole(world: World, place: str) -> None:
    source = await world.publish_source("handbook", TEXT)

    run_id = await propose(world, source, PLACES[place])

    answer = (await world.ended(run_id)).json_text
    audit = (await world.document("audit", run_id)).json_text
    assert parse(answer)["outcome"] == "unavailable"
    for written in ("evil.example", "javascript", "Bert", "Mara"):
        assert written not in answer + audit


@pytest.mark.req("CL-15", "KO-2", "CR-18")
async def test_what_a_provider_writes_beside_its_selection_is_nowhere(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    written: dict[str, JsonValue] = {
        "text": PROSE,
        "answer": PROSE,
        "explanation": HTML,
        "citations": [{"url": URL, "title": HTML}],
    }

    honest = await propose(world, source)
    run_id = await propose(world, source, beside=written)

    answer = await world.ended(run_id)
    documents = [await world.document(noun, run_id) for noun in ("audit", "bundle", "run")]
    assert answer.status == "sealed"
    assert parse(answer.json_text)["text"] == parse((await world.ended(honest)).json_text)["text"]
    told = "".join(each.json_text for each in (answer, *documents))
    for forged in ("evil.example", "javascript", "Bert"):
        assert forged not in told
    assert QUOTE in told


@pytest.mark.req("CL-3", "CL-15")
async def test_markup_and_addresses_of_a_source_are_quoted_verbatim(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)

    run_id = await world.answer_with((source, MARKUP))

    answer = SealedAnswer.model_validate_json((await world.ended(run_id)).json_text)
    (statement,), (citation,) = answer.statements, answer.citations
    assert statement.text == MARKUP
    assert (citation.source_id, citation.revision) == ("handbook", 1)
    assert TEXT[citation.start : citation.end] == MARKUP
    assert citation.sha256 == sha256_hex(MARKUP.encode())


@pytest.mark.req("CR-18", "CR-20")
@pytest.mark.parametrize("form", OLDER)
async def test_a_form_of_older_systems_supplies_no_facts_even_when_it_is_true(
    world: World, form: str
) -> None:
    source = await world.publish_source("handbook", TEXT)

    run_id = await propose(world, source, OLDER[form])

    answer = await world.ended(run_id)
    assert parse(answer.json_text)["outcome"] == "unavailable"
    assert "Mara" not in answer.json_text
    control = await propose(world, source)
    assert (await world.ended(control)).status == "sealed"
