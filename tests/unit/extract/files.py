"""Documents made byte by byte, so that a test says what stands in them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import quoteattr

_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"

HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def lines(*texts: str, left: int = 72, top: int = 720) -> bytes:
    """Return the content of a page that shows `texts` below each other."""
    shown = [text.encode("latin-1") for text in texts]
    escaped = [text.replace(b"\\", b"\\\\").replace(b"(", b"\\(") for text in shown]
    drawn = b" ".join(b"(" + text.replace(b")", b"\\)") + b") Tj T*" for text in escaped)
    return b"BT /F1 10 Tf 12 TL %d %d Td %s ET" % (left, top, drawn)


def pdf_file(
    *pages: bytes, font: bytes = HELVETICA, more: Sequence[bytes] = (), trailer: bytes = b""
) -> bytes:
    """Return a PDF; object 3 is the font, `more` objects come after those of the pages."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(pages), kids),
        font,
    ]
    for number, content in enumerate(pages):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * number)
        )
        objects.append(stream(content))
    return numbered([*objects, *more], trailer)


def stream(content: bytes) -> bytes:
    """Return a stream object."""
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)


def locked_pdf() -> bytes:
    """Return a PDF that the empty password does not open."""
    lock = b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % (b"41" * 32, b"42" * 32)
    names = b" /Encrypt 6 0 R /ID [<00><00>]"
    return pdf_file(lines("secret"), more=[lock], trailer=names)


def docx_file(body: str, **parts: str) -> bytes:
    """Return a Word document with the XML of its body; `parts` are `footnotes` and such."""
    related = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{name}" Target="{name}.xml"/>' for name in parts
    )
    files = {
        "_rels/.rels": _relations("word/document.xml"),
        "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{related}'
        "</Relationships>",
    }
    for name, inner in parts.items():
        files[f"word/{name}.xml"] = f'<w:{name} xmlns:w="{_WORD}">{inner}</w:{name}>'
    return zip_file(files)


def paragraph(text: str) -> str:
    """Return the XML of a paragraph with one run."""
    return f'<w:p><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def xlsx_file(
    sheets: Mapping[str, str],
    hidden: Sequence[str] = (),
    *,
    styles: str | None = None,
    properties: str = "",
    columns: str = "",
    merged: str = "",
) -> bytes:
    """Return a workbook with the XML of the rows of each sheet, and of what stands around them.

    Style 1 is a date, unless `styles` is the XML of other ones.
    """
    entries = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"'
        f"{' state=' + chr(34) + 'hidden' + chr(34) if name in hidden else ''}/>"
        for number, name in enumerate(sheets, start=1)
    )
    related = "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/worksheet" Target="sheet{number}.xml"/>'
        for number in range(1, len(sheets) + 1)
    )
    related += f'<Relationship Id="s" Type="{_OFFICE}/styles" Target="styles.xml"/>'
    inner = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>' if styles is None else styles
    files = {
        "_rels/.rels": _relations("xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}">{properties}'
        f"<sheets>{entries}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{related}'
        "</Relationships>",
        "xl/styles.xml": f'<styleSheet xmlns="{_SHEET}">{inner}</styleSheet>',
    }
    for number, rows in enumerate(sheets.values(), start=1):
        files[f"xl/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_SHEET}">{columns}<sheetData>{rows}</sheetData>{merged}'
            "</worksheet>"
        )
    return zip_file(files)


def styles_of(*codes: str) -> str:
    """Return the XML of styles that have these number format codes; style 0 is General."""
    declared = "".join(
        f"<numFmt numFmtId={quoteattr(str(number))} formatCode={quoteattr(code)}/>"
        for number, code in enumerate(codes, start=164)
    )
    used = "".join(f'<xf numFmtId="{number}"/>' for number in range(164, 164 + len(codes)))
    return f'<numFmts>{declared}</numFmts><cellXfs><xf numFmtId="0"/>{used}</cellXfs>'


def zip_file(files: Mapping[str, str | bytes], *, packed_as: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a package with the given parts and the list of their types."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packed_as) as package:
        package.writestr("[Content_Types].xml", _content_types())
        for name, content in files.items():
            package.writestr(name, content)
    return buffer.getvalue()


def zip_bomb() -> bytes:
    """Return a Word document of some 100 KB that unpacks to 100 MB."""
    text = paragraph("a" * 1_000_000)
    return docx_file(text * 100)


def sparse_workbook() -> bytes:
    """Return a workbook of a few hundred bytes whose used area has 17 thousand million cells."""
    corner = '<row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    return xlsx_file({"S": f'<row r="1"><c r="A1"><v>1</v></c></row>{corner}'})


def slow_html() -> bytes:
    """Return HTML that takes its parser minutes: elements nested far too deep."""
    return b"<p>" + b"<div>" * 200_000 + b"x"


def _relations(main: str) -> str:
    entry = f'<Relationship Id="r" Type="{_OFFICE}/officeDocument" Target="{main}"/>'
    return f'<Relationships xmlns="{_RELATIONS}">{entry}</Relationships>'


def _content_types() -> str:
    kinds = (
        ("rels", "application/vnd.openxmlformats-package.relationships+xml"),
        ("xml", "application/xml"),
    )
    defaults = "".join(f'<Default Extension="{e}" ContentType="{t}"/>' for e, t in kinds)
    return f'<Types xmlns="{_TYPES}">{defaults}</Types>'


def numbered(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    written = b"%PDF-1.7\n"
    offsets: list[int] = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return (
        written
        + b"xref\n0 %d\n0000000000 65535 f \n" % size
        + table
        + b"trailer << /Size %d /Root 1 0 R%s >>\n" % (size, trailer)
        + b"startxref\n%d\n%%%%EOF\n" % len(written)
    )
