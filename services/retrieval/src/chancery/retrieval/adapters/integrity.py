"""Is an index on disk what was written? Each file of the engine ends with its own checksum.

The engine reads them without a look at it, so that a flipped bit would hide a passage for ever.
Source: tantivy, `directory/footer.rs`: payload, JSON with the CRC-32 of it, two little-endian
numbers (the length of that JSON, a magic).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ValidationError

from chancery.retrieval.errors import IndexBroken

META = "meta.json"
_MAGIC = 1337
_TAIL = struct.Struct("<II")


class _Deletes(BaseModel):
    opstamp: int


class _Segment(BaseModel):
    segment_id: str
    deletes: _Deletes | None = None


class _Meta(BaseModel):
    segments: list[_Segment]


class _Footer(BaseModel):
    crc: int


def check_files(tenant: str, folder: Path) -> None:
    """Read every file of the last commit in `folder` and compare its checksum.

    Raises:
        IndexBroken: when one is missing, cut or altered.
    """
    try:
        meta = _Meta.model_validate_json((folder / META).read_bytes())
        for segment in meta.segments:
            names = list(_files_of(folder, segment))
            if not names:
                raise IndexBroken(tenant)
            for path in names:
                _check(path)
    except (OSError, ValidationError, ValueError, struct.error) as error:
        raise IndexBroken(tenant) from error


def _files_of(folder: Path, segment: _Segment) -> Iterator[Path]:
    name = segment.segment_id.replace("-", "")
    yield from (path for path in folder.glob(f"{name}.*") if path.suffix != ".del")
    if segment.deletes is not None:
        yield folder / f"{name}.{segment.deletes.opstamp}.del"


def _check(path: Path) -> None:
    data = path.read_bytes()
    length, magic = _TAIL.unpack(data[-_TAIL.size :])
    end = len(data) - _TAIL.size - length
    footer = _Footer.model_validate_json(data[max(0, end) : -_TAIL.size])
    if magic != _MAGIC or end < 0 or zlib.crc32(memoryview(data)[:end]) != footer.crc:
        message = f"{path.name} does not have the checksum that it ends with"
        raise ValueError(message)
