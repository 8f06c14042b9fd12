"""The text of Word documents: what a reader sees, in order."""

from __future__ import annotations

import io

import docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.extract.docx import read_docx
from chancery.kernel.errors import Rejected
from tests.unit.extract.files import docx_file, paragraph, xlsx_file, zip_file

_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn"), exclude_characters="<>&"),
    min_size=1,
    max_size=30,
).filter(str.strip)


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(_TEXT, min_size=1, max_size=6))
def test_every_paragraph_is_there_as_it_was_written(texts: list[str]) -> None:
    text = read_docx(docx_file("".join(map(paragraph, texts))))

    assert text == "\n\n".join(texts)


def test_a_document_of_a_word_processor_reads_in_document_order() -> None:
    document = docx.Document()
    document.add_heading("Report", 1)
    document.add_paragraph("Before  the\u00a0table.")
    table = document.add_table(2, 2)
    for row, values in zip(table.rows, (("Name", "Total"), ("A", "007")), strict=True):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    document.add_paragraph("After\tit.")
    buffer = io.BytesIO()
    document.save(buffer)

    text = read_docx(buffer.getvalue())

    assert text == "Report\n\nBefore  the\u00a0table.\n\nName\tTotal\nA\t007\n\nAfter\tit."


def test_what_a_reader_does_not_see_is_left_out() -> None:
    body = (
        "<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr>"
        "<w:r><w:t>seen</w:t></w:r>"
        "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
        "<w:r><w:instrText>PAGE</w:instrText></w:r>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
        '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> too</w:t></w:r>'
        "<w:ins><w:r><w:t> added</w:t></w:r></w:ins></w:p>"
    )

    assert read_docx(docx_file(body)) == "seen too added"


def test_breaks_tabs_and_hyphens_are_characters() -> None:
    body = (
        "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/>"
        "<w:t>d</w:t><w:softHyphen/><w:t>e</w:t></w:r></w:p>"
    )

    assert read_docx(docx_file(body)) == "a\tb\nc\u2011d\u00ade"


def test_content_controls_text_boxes_and_notes_are_read_too() -> None:
    box = f"<w:pict><w:txbxContent>{paragraph('in the box')}</w:txbxContent></w:pict>"
    body = (
        f"<w:sdt><w:sdtContent>{paragraph('in a control')}</w:sdtContent></w:sdt>"
        f"<w:p><w:r><w:t>around</w:t>{box}<w:t> it</w:t></w:r></w:p>"
    )
    notes = (
        f'<w:footnote w:type="separator">{paragraph("---")}</w:footnote>'
        f"<w:footnote>{paragraph('a note')}</w:footnote>"
    )

    text = read_docx(docx_file(body, footnotes=notes))

    assert text == "in a control\n\naround it\n\nin the box\n\na note"


def test_a_table_within_a_cell_stays_in_its_cell() -> None:
    def table(*cells: str) -> str:
        return f"<w:tbl><w:tr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr></w:tbl>"

    inner = table(paragraph("x"), paragraph("y"))

    text = read_docx(docx_file(table(paragraph("a") + inner, paragraph("b"))))

    assert text == "a x\ty\tb"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (docx_file(""), "no_text"),
        (docx_file("<w:p>"), "unreadable_document"),
        (xlsx_file({"S": "<row><c><v>1</v></c></row>"}), "wrong_media_type"),
        (zip_file({"a.txt": "text"}), "wrong_media_type"),
        (docx_file(paragraph("long text " * 50))[:-200], "truncated_file"),
    ],
)
def test_what_is_no_word_document_is_refused_by_code(data: bytes, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        read_docx(data)

    assert refused.value.code == code


def test_a_declared_entity_is_refused_before_it_grows() -> None:
    laughs = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><w:document>&a;</w:document>'
    parts = {"word/document.xml": laughs, "_rels/.rels": _rels()}

    with pytest.raises(Rejected) as refused:
        read_docx(zip_file(parts))

    assert refused.value.code == "forbidden_markup"


def _rels() -> str:
    return (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Type="x/officeDocument" Target="word/document.xml"/></Relationships>'
    )


def _row(properties: str, *cells: str) -> str:
    inner = "".join(each if each.startswith("<w:tc>") else f"<w:tc>{each}</w:tc>" for each in cells)
    return f"<w:tr>{properties}{inner}</w:tr>"


DELETED = '<w:trPr><w:del w:id="1" w:author="a"/></w:trPr>'


@pytest.mark.req("KO-3")
def test_a_table_row_that_is_deleted_by_a_tracked_change_is_left_out() -> None:
    kept = _row("<w:trPr><w:cantSplit/></w:trPr>", paragraph("a"), paragraph("b"))
    added = _row('<w:trPr><w:ins w:id="2"/></w:trPr>', paragraph("new"))
    gone = _row(DELETED, paragraph("secret"), paragraph("4711"))

    text = read_docx(docx_file(f"<w:tbl>{kept}{gone}{added}</w:tbl>"))

    assert text == "a\tb\nnew"
    with pytest.raises(Rejected) as refused:
        read_docx(docx_file(f"<w:tbl>{gone}</w:tbl>"))
    assert refused.value.code == "no_text"


def test_a_deleted_row_takes_its_own_table_along_and_no_other_row() -> None:
    inner = f"<w:tbl>{_row('', paragraph('inner'))}{_row(DELETED, paragraph('gone'))}</w:tbl>"
    outer = _row("", inner + paragraph("cell")) + _row(DELETED, inner) + _row("", paragraph("end"))

    assert read_docx(docx_file(f"<w:tbl>{outer}</w:tbl>")) == "inner cell\nend"


def test_a_deleted_cell_is_left_out() -> None:
    gone = f"<w:tc><w:tcPr><w:cellDel w:id='1'/></w:tcPr>{paragraph('secret')}</w:tc>"

    text = read_docx(docx_file(f"<w:tbl>{_row('', paragraph('a'), gone, paragraph('b'))}</w:tbl>"))

    assert text == "a\tb"


@pytest.mark.parametrize("mark", ["del", "moveFrom"])
def test_a_paragraph_whose_end_is_deleted_continues_in_the_next_one(mark: str) -> None:
    ended = f"<w:pPr><w:rPr><w:{mark} w:id='1'/></w:rPr></w:pPr>"
    first = paragraph("one ").replace("<w:p>", f"<w:p>{ended}", 1)
    emptied = f"<w:p>{ended}<w:{mark}><w:r><w:t>gone</w:t></w:r></w:{mark}></w:p>"
    table = f"<w:tbl>{_row('', paragraph('x') + first, first + paragraph('y'))}</w:tbl>"

    assert read_docx(docx_file(first + paragraph("two") + paragraph("three"))) == "one two\n\nthree"
    assert read_docx(docx_file(paragraph("a") + emptied + paragraph("b"))) == "a\n\nb"
    assert read_docx(docx_file(first + table + first)) == "one \n\nx one \tone y\n\none "
    within = f"<w:p><w:r><w:t>a</w:t></w:r><w:moveFrom>{first}</w:moveFrom></w:p>"
    assert read_docx(docx_file(within + paragraph("b"))) == "a\n\nb"


def test_a_note_is_left_out_when_only_what_is_left_out_refers_to_it() -> None:
    def reference(note: int) -> str:
        return f'<w:r><w:footnoteReference w:id="{note}"/></w:r>'

    gone = f"<w:p><w:r><w:t>text</w:t></w:r><w:del>{reference(1)}{reference(2)}</w:del></w:p>"
    seen = f"<w:p>{reference(2)}{reference(3)}</w:p>"
    hidden = f"<w:p><w:r><w:rPr><w:vanish/></w:rPr>{reference(4)[5:]}</w:p>"
    row = f"<w:tbl>{_row(DELETED, f'<w:p>{reference(5)}</w:p>')}</w:tbl>"
    notes = "".join(
        f'<w:footnote w:id="{n}">{paragraph(f"note {n}")}</w:footnote>' for n in range(1, 6)
    )

    text = read_docx(docx_file(gone + seen + hidden + row, footnotes=notes))

    assert text == "text\n\nnote 2\n\nnote 3"
