"""A file that is not what its name says is told with what it should be and what it looks like."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from chancery.client.command import curating
from chancery.client.command.curating import add_file
from chancery.client.command.items import check_item, find_items
from chancery.client.command.recognising import LOOKED_AT_BYTES, recognised
from chancery.client.http import connect
from chancery.kernel.errors import Rejected


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"%PDF-1.7", "a PDF"),
        (b"PK\x03\x04....word/document.xml", "a Word document (.docx)"),
        (b"PK\x03\x04....xl/workbook.xml", "an Excel workbook (.xlsx)"),
        (b"PK\x03\x04....other", "a ZIP archive"),
        (b"\x89PNG\r\n\x1a\n..", "a PNG picture"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1..", "a document of an older Office (.doc, .xls)"),
        (b" \n<!DOCTYPE html><p>", "an HTML page"),
        ("Pumpen für alle".encode(), "plain text"),
        ("ü".encode() * LOOKED_AT_BYTES, "plain text"),
        (b"x" + "ü".encode() * LOOKED_AT_BYTES, "plain text"),
        (b"\x00\x01\x02", None),
        (b"caf\xe9", None),
    ],
)
def test_a_file_is_recognised_by_its_first_bytes(data: bytes, found: str | None) -> None:
    assert recognised(data) == found


def test_a_misnamed_file_is_told_with_what_was_expected_and_found(tmp_path: Path) -> None:
    path = tmp_path / "fake.pdf"
    path.write_bytes(b"\x89PNG\r\n\x1a\n....")
    (item,) = find_items(path)

    with pytest.raises(Rejected) as refused:
        check_item(item, path.read_bytes())

    assert refused.value.code == "wrong_media_type"
    assert refused.value.detail == (
        "the name ends in .pdf, so it should be a PDF, and it is none; its content looks like a PNG"
        " picture"
    )


@pytest.mark.parametrize("code", ["wrong_media_type", "empty_document"])
async def test_a_private_file_is_told_by_its_name_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    path = tmp_path / "fake.docx"
    path.write_text("A page.", "utf-8")

    def refuse(_: httpx.Request) -> httpx.Response:
        return httpx.Response(422, json={"status": 422, "code": code, "detail": "no"})

    def client(_: object) -> object:
        return connect("http://chancery", "t", transport=httpx.MockTransport(refuse))

    monkeypatch.setattr(curating, "server_client", client)

    with pytest.raises(Exception, match=r"no|fake") as refused:
        await add_file(path, None, as_json=False)

    is_named = "fake.docx: the name ends in .docx, so it should be a Word" in str(refused.value)
    assert is_named is (code == "wrong_media_type")
