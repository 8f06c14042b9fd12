"""Each way in which a file can be bad, with the code that its revision fails with."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.extract import pdf
from chancery.extract.media import DOCX, HTML, JPEG, PDF, PNG, XLSX, check_signature
from chancery.extract.refusals import TEXTS, refusal
from chancery.extract.worker import parse
from chancery.kernel.errors import Rejected
from tests.unit.extract.files import (
    docx_file,
    lines,
    locked_pdf,
    paragraph,
    pdf_file,
    xlsx_file,
    zip_bomb,
    zip_file,
)
from tests.unit.extract.test_workbook_formats import parts_of

_PDF = pdf_file(lines("text"))
_DOCX = docx_file(paragraph("text"))
_XLSX = xlsx_file({"S": "<row><c><v>1</v></c></row>"})
_CELL = '<row><c t="inlineStr"><is><t>{}</t></is></c></row>'
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 500


def _with_password(data: bytes) -> bytes:
    """Set the flag that says an entry is encrypted, in the directory and before the entry."""
    with zipfile.ZipFile(BytesIO(data)) as package:
        entry = package.infolist()[0]
    place = data.index(b"PK\x01\x02") + 8
    changed = bytearray(data)
    changed[entry.header_offset + 6] |= 1
    changed[place] |= 1
    return bytes(changed)


def packed(data: bytes, *, as_: int) -> bytes:
    """Return the package with its parts packed otherwise."""
    return zip_file(parts_of(data), packed_as=as_)


def encoded(encoding: str) -> bytes:
    """Return a Word document whose text says that it is in an encoding."""
    files = parts_of(_DOCX)
    said = f'<?xml version="1.0" encoding="{encoding}"?>'.encode()
    return zip_file({**files, "word/document.xml": said + files["word/document.xml"]})


@pytest.mark.parametrize(
    ("media_type", "data", "code"),
    [
        (PDF, b"", "empty_document"),
        (PDF, b"not a PDF", "wrong_media_type"),
        (PDF, _DOCX, "wrong_media_type"),
        (PDF, _PDF[:-20], "truncated_file"),
        (PDF, b"%PDF-1.7\nnothing follows\n%%EOF", "unreadable_document"),
        (PDF, locked_pdf(), "encrypted_pdf"),
        (PDF, pdf_file(b"", b""), "no_text"),
        (DOCX, _PDF, "wrong_media_type"),
        (DOCX, _OLE, "wrong_media_type"),
        (DOCX, _OLE + "EncryptedPackage".encode("utf-16-le"), "encrypted_document"),
        (DOCX, _with_password(_DOCX), "encrypted_document"),
        (DOCX, _DOCX[: len(_DOCX) // 2], "truncated_file"),
        (DOCX, zip_bomb(), "zip_bomb"),
        (XLSX, _XLSX[: len(_XLSX) // 2], "truncated_file"),
        (XLSX, _DOCX, "wrong_media_type"),
        (DOCX, packed(_DOCX, as_=zipfile.ZIP_LZMA), "unreadable_document"),
        (DOCX, packed(_DOCX, as_=zipfile.ZIP_BZIP2), "unreadable_document"),
        (DOCX, encoded("windows-1252"), "unreadable_document"),
        (DOCX, encoded("no-such-encoding"), "unreadable_document"),
        (DOCX, encoded("shift_jis"), "unreadable_document"),
        (XLSX, xlsx_file({"S": _CELL.format("a_x0000_b")}), "nul_character"),
        (HTML, b"", "empty_document"),
        (HTML, b"<p>\xc3\x28", "invalid_utf8"),
        (PNG, b"\x89PNG\r\n\x1a\n", "unsupported_media_type"),
        ("application/zip", _DOCX, "unsupported_media_type"),
    ],
)
def test_a_bad_file_is_refused_by_its_code(media_type: str, data: bytes, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        parse(media_type, data)

    assert refused.value.code == code


@pytest.mark.parametrize(
    ("media_type", "data"),
    [
        (PDF, _PDF),
        (DOCX, _DOCX),
        (DOCX, packed(_DOCX, as_=zipfile.ZIP_STORED)),
        (DOCX, encoded("utf-8")),
        (DOCX, encoded("ISO-8859-1")),
        (XLSX, _XLSX),
        (XLSX, xlsx_file({"S": _CELL.format("a_x000A_b")})),
    ],
)
def test_the_good_twin_of_each_bad_file_is_read(media_type: str, data: bytes) -> None:
    assert parse(media_type, data).text


def test_a_pdf_that_was_filled_up_with_blanks_is_read() -> None:
    assert parse(PDF, _PDF + b"\n" * 5_000 + b"\x00" * 5_000).text == parse(PDF, _PDF).text


def test_more_pages_than_may_be_read_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "PAGES_MAX", 2)
    assert parse(PDF, pdf_file(lines("1"), lines("2"))).text == "1\n\n2"

    with pytest.raises(Rejected) as refused:
        parse(PDF, pdf_file(lines("1"), lines("2"), lines("3")))

    assert refused.value.code == "too_many_pages"


@pytest.mark.parametrize(
    ("media_type", "data", "code"),
    [
        (PNG, b"\x89PNG\r\n\x1a\nrest", None),
        (JPEG, b"\xff\xd8\xff\xe0rest", None),
        (PNG, b"\xff\xd8\xff\xe0rest", "wrong_media_type"),
        (JPEG, b"GIF89a", "wrong_media_type"),
        ("text/plain", b"%PDF-1.7", None),
    ],
)
def test_the_first_bytes_tell_the_kind(media_type: str, data: bytes, code: str | None) -> None:
    found = None
    try:
        check_signature(media_type, data)
    except Rejected as error:
        found = error.code

    assert found == code


@settings(max_examples=300, deadline=None)
@given(
    source=st.sampled_from([(DOCX, _DOCX), (XLSX, _XLSX)]),
    damage=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 30), st.binary(max_size=6)),
        min_size=1,
        max_size=5,
    ),
)
def test_a_damaged_package_is_read_or_refused_and_nothing_else(
    source: tuple[str, bytes], damage: list[tuple[float, int, bytes]]
) -> None:
    media_type, data = source
    for place, removed, inserted in damage:
        at = int(place * len(data))
        data = data[:at] + inserted + data[at + removed :]

    try:
        found = parse(media_type, data).text
    except Rejected as error:
        found = TEXTS.get(error.code, "")

    assert found


def test_an_unknown_code_of_a_process_is_not_passed_on() -> None:
    assert refusal("content of the file").code == "unreadable_document"
    assert all(refusal(code).code == code for code in TEXTS)
