"""Small workbooks, written by hand: the cells say their type as spreadsheets do."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

Cell = str | int | float | bool | None
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def workbook(rows: Sequence[Sequence[Cell]]) -> bytes:
    """Return a workbook of one sheet; a text that starts with ``date:`` is a day number.

    One that starts with ``<`` is a cell as it stands in the file, ``@`` in it its place.
    """
    body = "".join(
        f'<row r="{number}">{"".join(_cell(cell, number, index) for index, cell in enumerate(row))}'
        "</row>"
        for number, row in enumerate(rows, start=1)
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_RELATIONS}"><sheets>'
        '<sheet name="Data" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{_RELATIONS}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet {_MAIN}><cellXfs><xf numFmtId="0"/>'
        '<xf numFmtId="14"/></cellXfs></styleSheet>',
        "xl/worksheets/sheet1.xml": f"<worksheet {_MAIN}><sheetData>{body}</sheetData></worksheet>",
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in parts.items():
            package.writestr(name, text)
    return file.getvalue()


def _cell(cell: Cell, number: int, index: int) -> str:
    place = f"{chr(ord('A') + index)}{number}"
    match cell:
        case None:
            return ""
        case bool():
            return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
        case str() if cell.startswith("<"):
            return cell.replace("@", place)
        case str() if cell.startswith("date:"):
            return f'<c r="{place}" s="1"><v>{cell.removeprefix("date:")}</v></c>'
        case str():
            return f'<c r="{place}" t="inlineStr"><is><t>{cell}</t></is></c>'
        case _:
            return f'<c r="{place}"><v>{cell!r}</v></c>'
