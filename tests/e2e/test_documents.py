"""A quotation of each kind of document stands in its text; that of a PDF names its page."""

from __future__ import annotations

import pytest

from chancery.client.replies import SealedAnswer, Status
from chancery.extract.media import DOCX, HTML, PDF, PNG, XLSX
from chancery.verify.verify import verify_bundle
from tests.e2e.world import World, send
from tests.unit.extract.files import docx_file, lines, paragraph, pdf_file, xlsx_file

FACT = "The spare pump stands in hall seven."
QUESTION = "Where does the spare pump stand?"
CELLS = f'<row><c r="B2" t="inlineStr"><is><t>{FACT}</t></is></c></row>'

DOCUMENTS = {
    PDF: pdf_file(lines("An empty introduction of pumps."), b"", lines("Halls", FACT)),
    DOCX: docx_file(paragraph("Halls") + paragraph(FACT)),
    HTML: f"<title>Pumps</title><h1>Halls</h1><script>no()</script><p>{FACT}</p>".encode(),
    XLSX: xlsx_file({"Halls": CELLS}),
}


async def publish(world: World, media_type: str, data: bytes) -> Status:
    await world.desk.declare_source("pumps", "Pumps")
    published = await world.desk.publish("pumps", data, media_type)
    return await world.desk.wait_until_ready("pumps", published.revision)


@pytest.mark.req("KO-3")
@pytest.mark.parametrize("media_type", DOCUMENTS)
async def test_a_quotation_is_the_text_at_its_offsets_in_each_kind_of_document(
    world: World, media_type: str
) -> None:
    status = await publish(world, media_type, DOCUMENTS[media_type])
    assert status.state == "ready"

    answer = await world.ask(QUESTION)

    assert isinstance(answer, SealedAnswer)
    (statement,), (citation,) = answer.statements, answer.citations
    text = await world.reader.workspace(world.id).text("pumps", 1)
    assert citation.start is not None
    assert text[citation.start : citation.end] == statement.text
    assert FACT in statement.text
    assert citation.page == (3 if media_type == PDF else None)
    assert ("\n— Pumps, page 3, part 1, " in answer.text) is (media_type == PDF)
    assert "\n— Pumps, " in answer.text
    bundle = await send(world.reader, "GET", f"/v1/runs/{answer.run_id}/bundle")
    report = verify_bundle(bundle.content)
    assert report.exit_code == 0, report


async def test_a_passage_of_a_pdf_is_found_on_its_page_and_lines(world: World) -> None:
    await publish(world, PDF, DOCUMENTS[PDF])

    found = await send(
        world.reader,
        "POST",
        f"/v1/workspaces/{world.id}/sources/pumps/revisions/1/check",
        json={"text": f"Halls\n{FACT}"},
    )

    assert (found.json()["verdict"], found.json()["page"]) == ("match", 3)
    assert [each["page"] for each in found.json()["rectangles"]] == [3, 3]


@pytest.mark.req("KO-3")
async def test_an_image_is_kept_and_never_answers(world: World) -> None:
    await world.desk.declare_source("picture", "The spare pump in hall seven")
    published = await world.desk.publish("picture", b"\x89PNG\r\n\x1a\n" + FACT.encode(), PNG)

    status = await world.desk.wait_until_ready("picture", published.revision)
    answer = await world.ask(QUESTION)

    assert (status.state, status.reason) == ("excluded", "no_text")
    assert not isinstance(answer, SealedAnswer)
