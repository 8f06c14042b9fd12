"""The files that become snapshots: which media types they have, and what they must begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from chancery.kernel.errors import Rejected
from chancery.tabular.csv import check_csv

Format: TypeAlias = Literal["csv", "parquet", "xlsx"]

XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_FORMATS: Mapping[str, Format] = {
    "text/csv": "csv",
    "application/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
    "application/parquet": "parquet",
    "application/x-parquet": "parquet",
    XLSX_TYPE: "xlsx",
}
CSV_TYPES = frozenset(kind for kind, found in _FORMATS.items() if found == "csv")
"""The media types of datasets that are texts."""

MEDIA_TYPES = tuple(_FORMATS)
"""The media types of datasets."""

FORMATS: tuple[Format, ...] = get_args(Format)
_PARQUET_MARK = b"PAR1"
_PARQUET_BYTES_MIN = 12
_ZIP_MARK = b"PK\x03\x04"


class UnsupportedTable(Rejected):
    """The media type is none that becomes a snapshot."""

    code = "unsupported_media_type"


def format_of(media_type: str) -> Format:
    """Return the format that a media type means; its parameters do not count.

    Raises:
        UnsupportedTable: for any other media type.
    """
    found = _FORMATS.get(media_type.partition(";")[0].strip().lower())
    if found is None:
        message = f"the media type of a dataset must be one of {', '.join(MEDIA_TYPES)}"
        raise UnsupportedTable(message, field="media_type")
    return found


def check_header(media_type: str) -> None:
    """Refuse a CSV file that is said to have no row of column names (RFC 4180, section 3).

    Its first row would become the names: of one row less, and of names that are values.

    Raises:
        Rejected: code `csv_header_absent`.
    """
    for parameter in media_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "header" and value.strip(" \t\"'").lower() != "present":
            detail = (
                "the CSV file is said to have no header (RFC 4180: header=absent); put a row of"
                " column names above the others, and say header=present or nothing"
            )
            raise Rejected(detail, field="media_type", code="csv_header_absent")


def check_file(media_type: str, data: bytes) -> None:
    """Refuse bytes that cannot be what their media type says; a CSV file is read to its end.

    Raises:
        UnsupportedTable: for a media type that is none of `MEDIA_TYPES`.
        Rejected: as `check_csv`; `parquet_unreadable` or `xlsx_unreadable`.
    """
    match format_of(media_type):
        case "csv":
            check_csv(data)
        case "parquet":
            marked = data.startswith(_PARQUET_MARK) and data.endswith(_PARQUET_MARK)
            if not marked or len(data) < _PARQUET_BYTES_MIN:
                raise unreadable("parquet")
        case "xlsx":
            if not data.startswith(_ZIP_MARK):
                raise unreadable("xlsx")


def unreadable(found: Format) -> Rejected:
    """Return the refusal of a file that is not of its format."""
    detail = f"the file is not a readable {found} file"
    return Rejected(detail, field="snapshot", code=f"{found}_unreadable")
