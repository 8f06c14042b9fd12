"""The process of one extraction: a document comes in, its text goes out, then it ends.

Before the document is touched the process gives up what it does not need: it can open no file and
no socket and start no process, and its memory and processor time are bounded.
"""

from __future__ import annotations

import codecs
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from chancery.extract import media
from chancery.extract.docx import read_docx
from chancery.extract.html import read_html
from chancery.extract.limits import TEXT_CHARACTERS_MAX
from chancery.extract.media import UnsupportedMediaType, check_media_type, check_signature
from chancery.extract.pdf import read_pdf
from chancery.extract.refusals import refusal
from chancery.extract.xlsx import read_xlsx
from chancery.kernel.canonical import canonical_bytes
from chancery.kernel.errors import ChanceryError
from chancery.nursery.frames import FrameBroken, read_frames, write_frames

INPUT_BYTES_MAX = 1024 * 1024 * 1024
_CODECS = ("utf-8", "utf-16-le", "cp437", "latin-1", "ascii")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A canonical text, the offsets at which its pages begin, and the bytes of its layout."""

    text: str = field(repr=False)
    pages: tuple[int, ...] = ()
    layout: bytes = field(default=b"", repr=False)


def main() -> None:
    """Serve one job from standard input."""
    try:
        header, data = read_frames(sys.stdin.buffer, bytes_max=INPUT_BYTES_MAX)
    except (FrameBroken, ValueError):
        return
    write_frames(sys.stdout.buffer, answer(header, data))


def answer(header: bytes, data: bytes) -> Sequence[bytes]:
    """Return the reply to a job, in a process that is bounded from now on.

    The header is media type, processor seconds and address space; a reply is an error code, or
    nothing, text, page map and layout.
    """
    media_type, cpu_s, address_space_bytes = header.decode().split("\n")
    give_up(int(cpu_s), int(address_space_bytes))
    try:
        found = parse(media_type, data)
        text = found.text.encode()
        return (b"", text, canonical_bytes(list(found.pages)), found.layout)
    except ChanceryError as error:
        return (error.code.encode(),)
    except MemoryError:
        return (b"resources",)


def parse(media_type: str, data: bytes) -> Parsed:
    """Return what the parser of a media type makes of `data`.

    Raises:
        Rejected: with a stable code.
    """
    kind = check_media_type(media_type)
    check_signature(kind, data)
    match kind:
        case media.PDF:
            text, pages, lines = read_pdf(data)
            found = Parsed(text, pages, lines.to_bytes())
        case media.DOCX:
            found = Parsed(read_docx(data))
        case media.HTML:
            found = Parsed(read_html(data))
        case media.XLSX:
            text, cells = read_xlsx(data)
            found = Parsed(text, layout=cells.to_bytes())
        case _:
            message = "no parser reads this media type"
            raise UnsupportedMediaType(message, field="media_type")
    if "\x00" in found.text:
        raise refusal("nul_character")
    if len(found.text) > TEXT_CHARACTERS_MAX:
        raise refusal("text_too_long")
    return found


def load_codecs() -> None:
    """Load what the parsers look up by name, while files can still be opened."""
    for name in _CODECS:
        codecs.lookup(name)


def give_up(cpu_s: int, address_space_bytes: int) -> None:
    """Bound this process for good; macOS ignores the address space."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, 0)
    _limit(resource.RLIMIT_NPROC, 0)
    _limit(resource.RLIMIT_CPU, cpu_s, 1)
    _limit(resource.RLIMIT_AS, address_space_bytes)


def _limit(which: int, wanted: int, beyond: int = 0) -> None:
    """Lower a limit; `beyond` the first, soft one stands the hard one."""
    _, hard = resource.getrlimit(which)
    bounded = wanted + beyond if hard == resource.RLIM_INFINITY else min(wanted + beyond, hard)
    try:
        resource.setrlimit(which, (min(wanted, bounded), bounded))
    except (ValueError, OSError):
        if sys.platform != "darwin":
            raise
