"""What is quoted from a workbook is told with its cells, beside the sealed text."""

from __future__ import annotations

import httpx
import pytest

from chancery.client.command.cells import cell_span, cells_of, tell_cells, with_cells
from chancery.client.http import connect
from chancery.client.replies import Citation, HitCell, RefusedAnswer, SealedAnswer, Statement
from chancery.extract.media import MARKDOWN, XLSX
from chancery.kernel.canonical import Json

CELLS: Json = [
    {"sheet": "Parts", "cell": "A2", "type": "text", "value": "Pump"},
    {"sheet": "Parts", "cell": "C2", "type": "number", "value": "3"},
]
MEDIA = {"parts": XLSX, "page": MARKDOWN}


def citation(name: str, source_id: str | None, page: int | None = None) -> Citation:
    """Return a quotation's citation."""
    return Citation(
        id=name,
        kind="quote",
        source_id=source_id,
        item_id="guide" if source_id is None else None,
        revision=1,
        start=4,
        end=8,
        page=page,
        sha256="0" * 64,
        title=name.title(),
    )


ANSWER = SealedAnswer(
    status="sealed",
    run_id="r",
    generation=1,
    text="sealed",
    statements=tuple(
        Statement(id=f"s{name}", kind="quote", text="Pump", citation=name)
        for name in ("item", "page", "scan", "parts")
    ),
    citations=(
        citation("item", None),
        citation("page", "page"),
        citation("scan", "scan", page=2),
        citation("parts", "parts"),
    ),
)


async def found(server: httpx.MockTransport) -> dict[str, list[HitCell]]:
    async with connect("http://chancery", "t", absence_s=0, transport=server) as client:
        cells = await cells_of(client.workspace("w"), ANSWER)
    return {name: list(each) for name, each in cells.items() if each}


async def test_only_quotations_of_workbooks_are_looked_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        _, _, place = request.url.path.partition("/sources/")
        asked.append(place)
        name = place.split("/")[0]
        pinned = {"id": name, "title": name, "revision": 1, "content_sha256": "0" * 64}
        whole = {**pinned, "media_type": MEDIA[name], "state": "ready"}
        checked = {"verdict": "match", "occurrences": 1, "extraction_sha256": "0" * 64}
        is_check = place.endswith("/check")
        return httpx.Response(200, json={**checked, "cells": CELLS} if is_check else whole)

    cells = await found(httpx.MockTransport(answer))
    tell_cells(ANSWER, cells)
    told = with_cells(ANSWER.model_dump(mode="json"), cells)

    assert asked == ["page/revisions/1", "parts/revisions/1", "parts/revisions/1/check"]
    assert capsys.readouterr().err == "[4] Parts: Parts!A2–C2\n"
    citations = told["citations"]
    assert isinstance(citations, list)
    assert [isinstance(each, dict) and each.get("cells") for each in citations] == [
        None,
        None,
        None,
        CELLS,
    ]
    assert told["text"] == ANSWER.text


@pytest.mark.parametrize("status", [404, 500])
async def test_an_answer_is_shown_without_cells_when_they_cannot_be_asked(status: int) -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, json={"status": status})

    assert await found(httpx.MockTransport(refuse)) == {}


async def test_nothing_is_asked_of_a_refusal(capsys: pytest.CaptureFixture[str]) -> None:
    refused = RefusedAnswer(status="refused", run_id="r", outcome="o", explanation="no")
    async with connect("http://chancery", "t", transport=httpx.MockTransport(_never)) as client:
        cells = await cells_of(client.workspace("w"), refused)
    tell_cells(refused, cells)

    assert (cells, capsys.readouterr().err) == ({}, "")


def _never(request: httpx.Request) -> httpx.Response:
    raise AssertionError(request)


def test_a_span_names_its_first_and_last_cell() -> None:
    one = HitCell(sheet="A", cell="B2", type="text")
    other = HitCell(sheet="C", cell="D4", type="text")

    assert [cell_span(each) for each in ((), (one,), (one, other))] == ["", "A!B2", "A!B2–C!D4"]


def test_the_name_of_a_sheet_forges_no_line_beside_an_answer() -> None:
    sheet = "S\n[2] forged\u202e\x1b[2J"
    cells = [HitCell(sheet=sheet, cell=each, type="text", value="x") for each in ("A1", "B1")]

    span = cell_span([*cells, HitCell(sheet="T\r", cell="C1", type="text", value="x")])

    assert span == "S�[2] forged��[2J!A1–T�!C1"
