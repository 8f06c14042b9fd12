"""What a reader of a Word document does not see by its styles, runs and fields is left out."""

from __future__ import annotations

import pytest

from chancery.extract.docx import read_docx
from chancery.kernel.errors import Rejected
from tests.unit.extract.files import docx_file, paragraph

_VANISH = "<w:rPr><w:vanish/></w:rPr>"
_HIDING = (
    '<w:style w:type="character" w:styleId="Hidden"><w:rPr><w:vanish/></w:rPr></w:style>'
    '<w:style w:type="character" w:styleId="Child"><w:basedOn w:val="Hidden"/></w:style>'
    '<w:style w:type="character" w:styleId="Seen"><w:basedOn w:val="Hidden"/>'
    '<w:rPr><w:vanish w:val="false"/></w:rPr></w:style>'
    '<w:style w:type="character" w:styleId="Round"><w:basedOn w:val="Round"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Note"><w:rPr><w:vanish/></w:rPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Plain"><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>'
    "</w:style>"
    '<w:style w:type="table" w:styleId="Away"><w:rPr><w:vanish/></w:rPr></w:style>'
)


def _run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def _styled(style: str) -> str:
    return f'<w:rStyle w:val="{style}"/>'


@pytest.mark.req("KO-3")
def test_text_that_its_styles_hide_is_left_out() -> None:
    runs = "".join(
        _run(name, _styled(name)) for name in ("Hidden", "Child", "Seen", "Round", "Unknown")
    )
    again = _run("Again", _styled("Hidden") + '<w:vanish w:val="0"/>')
    body = f"<w:p>{runs}{again}{_run('Plain')}</w:p>"

    assert read_docx(docx_file(body, styles=_HIDING)) == "SeenRoundUnknownAgainPlain"
    assert read_docx(docx_file(body)) == "HiddenChildSeenRoundUnknownAgainPlain"


@pytest.mark.req("KO-3")
def test_a_paragraph_or_table_whose_style_hides_its_text_is_left_out() -> None:
    def styled(style: str, text: str) -> str:
        return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr>{text}</w:p>'

    table = (
        '<w:tbl><w:tblPr><w:tblStyle w:val="Away"/></w:tblPr>'
        f"<w:tr><w:tc>{paragraph('cell')}</w:tc></w:tr></w:tbl>"
    )
    changed = (
        '<w:p><w:pPr><w:pPrChange><w:pPr><w:pStyle w:val="Note"/></w:pPr></w:pPrChange></w:pPr>'
        f"{_run('was a note')}</w:p>"
    )
    parts = (
        styled("Note", _run("hidden")),
        styled("Note", _run("twice is seen", _styled("Hidden"))),
        styled("Plain", _run("only its end")),
        table,
        paragraph("after"),
        changed,
    )

    text = read_docx(docx_file("".join(parts), styles=_HIDING))

    assert text == "twice is seen\n\nonly its end\n\nafter\n\nwas a note"


def _default(kind: str) -> str:
    return f'<w:style w:type="{kind}" w:default="1" w:styleId="D">{_VANISH}</w:style>'


@pytest.mark.parametrize(
    ("styles", "text"),
    [
        (_default("paragraph"), "said"),
        (f"<w:docDefaults><w:rPrDefault>{_VANISH}</w:rPrDefault></w:docDefaults>", "said"),
        (_default("table"), "plainsaid"),
    ],
)
def test_what_has_no_style_of_its_own_has_the_default_one(styles: str, text: str) -> None:
    said = _run("said", '<w:vanish w:val="0"/>')

    assert read_docx(docx_file(f"<w:p>{_run('plain')}{said}</w:p>", styles=styles)) == text


def test_a_note_to_which_only_text_hidden_by_its_style_refers_is_left_out() -> None:
    def reference(number: int, style: str) -> str:
        return f'<w:r><w:rPr>{_styled(style)}</w:rPr><w:footnoteReference w:id="{number}"/></w:r>'

    body = f"<w:p>{_run('text')}{reference(1, 'Hidden')}{reference(2, 'Seen')}</w:p>"
    notes = "".join(
        f'<w:footnote w:id="{number}">{paragraph(text)}</w:footnote>'
        for number, text in ((1, "unseen note"), (2, "seen note"))
    )

    text = read_docx(docx_file(body, styles=_HIDING, footnotes=notes))

    assert text == "text\n\nseen note"


def _field(code: str, result: str) -> str:
    def mark(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    return f"{mark('begin')}{code}{mark('separate')}{result}{mark('end')}"


@pytest.mark.req("KO-3")
def test_of_a_field_is_read_what_it_shows_and_nothing_of_its_code() -> None:
    name = _field("<w:r><w:instrText>MERGEFIELD owner</w:instrText></w:r>", _run("Ada"))
    condition = "<w:r><w:instrText>IF </w:instrText></w:r>" + name + _run("= nobody")
    body = (
        f"<w:p>{_run('Owner: ')}{name}{_run('; ')}{_field(condition, _run('yes'))}{_run('.')}</w:p>"
    )

    assert read_docx(docx_file(body)) == "Owner: Ada; yes."


def test_a_field_that_goes_on_over_paragraphs_hides_its_code_in_all_of_them() -> None:
    begin, separate, end = (
        f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end")
    )
    body = (
        f"<w:p>{end}{_run('a')}{begin}{_run('code')}</w:p>"
        f"<w:p>{_run('code')}{separate}{_run('b')}</w:p>"
        f"<w:p>{_run('c')}{end}{_run('d')}</w:p>"
    )

    assert read_docx(docx_file(body)) == "a\n\nb\n\ncd"


def _mark(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


_CODE = "<w:r><w:instrText>PAGE</w:instrText></w:r>"
_BEGIN, _SEPARATE, _END = map(_mark, ("begin", "separate", "end"))


@pytest.mark.req("KO-3")
@pytest.mark.parametrize(
    ("first", "text"),
    [
        (f"{_BEGIN}{_CODE}", "a\n\nrest"),
        (f"{_BEGIN}{_run('b')}", "ab\n\nrest"),
        (f"{_BEGIN}{_CODE}{_SEPARATE}{_run('b')}", "ab\n\nrest"),
        (f"{_BEGIN}{_run('b')}{_BEGIN}{_run('code')}{_SEPARATE}{_run('c')}{_END}", "abc\n\nrest"),
        (f"{_BEGIN}{_CODE}<w:del>{_SEPARATE}{_run('old')}{_END}</w:del>{_run('b')}", "ab\n\nrest"),
        (f"<w:del>{_BEGIN}</w:del>{_run('code')}{_SEPARATE}{_run('b')}{_END}", "ab\n\nrest"),
        (f"<w:del>{_BEGIN}{_run('c')}{_SEPARATE}{_END}</w:del>{_run('d')}", "ad\n\nrest"),
        (f"{_BEGIN}{_run('code')}{_SEPARATE}{_run('b')}{_END}", "ab\n\nrest"),
    ],
)  # fmt: skip
def test_what_begins_a_field_and_does_not_end_it_hides_nothing(first: str, text: str) -> None:
    body = f"<w:p>{_run('a')}{first}</w:p>{paragraph('rest')}"

    assert read_docx(docx_file(body)) == text


def test_a_field_ends_with_the_text_box_or_the_note_that_it_begins_in() -> None:
    box = f"<w:p>{_run('box')}{_BEGIN}{_run('still')}</w:p>"
    body = (
        f"<w:p>{_BEGIN}{_run('code')}{_SEPARATE}<w:r><w:pict><w:txbxContent>{box}"
        f"</w:txbxContent></w:pict><w:t>shown</w:t></w:r>{_END}{_run(' too')}</w:p>"
    )
    notes = (
        f'<w:footnote w:id="1"><w:p>{_run("one")}{_BEGIN}{_run(" and")}</w:p></w:footnote>'
        f'<w:footnote w:id="2"><w:p>{_END}{_run("two")}</w:p></w:footnote>'
    )

    text = read_docx(docx_file(body, footnotes=notes))

    assert text == "shown too\n\nboxstill\n\none and\n\ntwo"


@pytest.mark.req("KO-3")
@pytest.mark.parametrize("hidden", ["<w:vanish/>", _styled("Hidden")])
def test_a_text_box_is_hidden_with_the_run_that_it_is_anchored_in(hidden: str) -> None:
    def anchored(properties: str) -> str:
        box = f"<w:p>{_run('one ')}{_run('two')}</w:p>{paragraph('three')}"
        pict = f"<w:pict><w:txbxContent>{box}</w:txbxContent></w:pict>"
        run = f"<w:r><w:rPr>{properties}</w:rPr>{pict}<w:t>after</w:t></w:r>"
        return f"<w:p>{_run('a ')}{run}{_run(' b')}</w:p>"

    assert read_docx(docx_file(anchored(""), styles=_HIDING)) == "a after b\n\none two\n\nthree"
    assert read_docx(docx_file(anchored(hidden), styles=_HIDING)) == "a  b"


def test_a_run_within_a_hidden_one_ends_no_hiding() -> None:
    ruby = f"<w:ruby><w:rt>{_run('above')}</w:rt><w:rubyBase>{_run('base')}</w:rubyBase></w:ruby>"
    run = f"<w:r><w:rPr>{{}}</w:rPr>{ruby}<w:t>after</w:t></w:r>"

    seen = docx_file(f"<w:p>{_run('a ')}{run.format('')}</w:p>")
    hidden = docx_file(f"<w:p>{_run('a ')}{run.format('<w:vanish/>')}</w:p>")

    assert read_docx(seen) == "a abovebaseafter"
    assert read_docx(hidden) == "a "


@pytest.mark.req("KO-3")
def test_a_table_whose_style_hides_some_of_its_rows_is_refused() -> None:
    def style(kind: str, value: str, more: str = "") -> str:
        part = f'<w:tblStylePr w:type="{kind}"><w:rPr><w:vanish w:val="{value}"/></w:rPr>'
        return f'<w:style w:type="table" w:styleId="T">{more}{part}</w:tblStylePr></w:style>'

    def table(name: str) -> str:
        rows = "".join(f"<w:tr><w:tc>{paragraph(each)}</w:tc></w:tr>" for each in ("head", "body"))
        return f'<w:tbl><w:tblPr><w:tblStyle w:val="{name}"/></w:tblPr>{rows}</w:tbl>'

    child = '<w:style w:type="table" w:styleId="C"><w:basedOn w:val="T"/></w:style>'
    styles = style("firstRow", "1") + child
    assert read_docx(docx_file(table("Other"), styles=styles)) == "head\nbody"
    assert read_docx(docx_file(table("T"), styles=style("firstRow", "0"))) == "head\nbody"
    for name in ("T", "C"):
        with pytest.raises(Rejected) as refused:
            read_docx(docx_file(table(name), styles=styles))
        assert refused.value.code == "ambiguous_table"
