"""A folder of documents of every kind, real ones where this machine has some, and broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from tests.bench.texts import documents
from tests.unit.extract.files import (
    docx_file,
    lines,
    locked_pdf,
    paragraph,
    pdf_file,
    slow_html,
    sparse_workbook,
    xlsx_file,
    zip_bomb,
)

REAL: Final = Path("/usr/share/doc")
"""What the packages of Debian bring; other systems do without."""

PHRASE: Final = "quicksilver anemometer"
"""Stands in the documents that are made here, and nowhere else."""

MADE: Final = "report-"
"""How the names of these begin."""

_SUFFIXES: Final = frozenset((".txt", ".md", ".html"))
_BYTES_MAX: Final = 200_000
_MADE_EVERY: Final = 5

BROKEN: Final[dict[str, bytes]] = {
    "bomb.docx": zip_bomb(),
    "empty.txt": b"",
    "hang.html": slow_html(),
    "locked.pdf": locked_pdf(),
    "nul.txt": b"a\x00b",
    "other-encoding.md": "Übergabe".encode("utf-16"),
    "sparse.xlsx": sparse_workbook(),
    "truncated.pdf": pdf_file(lines("Half of it"))[:200],
    "wrong-type.pdf": b"<p>This is no PDF.",
}
"""Each of them fails, with its own reason."""


def make_folder(folder: Path, count: int) -> None:
    """Write `count` files below `folder`, the broken ones among them."""
    sources = _texts()
    for number in range(count - len(BROKEN)):
        name, data = _made(number) if number % _MADE_EVERY == 0 else next(sources)
        path = folder / f"{number:04}" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    for name, data in BROKEN.items():
        path = folder / "broken" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)


def _texts() -> Iterator[tuple[str, bytes]]:
    """Yield real documents, and drawn ones when there are no more; none twice."""
    real = sorted(REAL.rglob("*")) if REAL.is_dir() else []
    yield from ((path.name, data) for path in real if (data := _readable(path)) is not None)
    for number, text in enumerate(islice(documents(100_000, seed=23), 100_000)):
        yield f"drawn-{number}.txt", text.encode()


def _readable(path: Path) -> bytes | None:
    """Return the bytes of a document that the product takes, None for another file."""
    if path.suffix not in _SUFFIXES or path.is_symlink() or not path.is_file():
        return None
    if path.stat().st_size > _BYTES_MAX:
        return None
    data = path.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    is_empty = not text.strip() or "\x00" in text
    return None if is_empty or (path.suffix == ".html" and "<body" not in text) else data


def made_words(path: Path) -> list[str]:
    """Return the words of a document that is made here: one of its beginning, one of its end."""
    number = path.stem.removeprefix(MADE)
    return [f"serial{number}x", f"closing{number}x"]


def _made(number: int) -> tuple[str, bytes]:
    name = f"{MADE}{number}"
    serial, closing = made_words(Path(name))
    first, last = f"Report {serial} on the {PHRASE}.", f"It ends with {closing}."
    match number // _MADE_EVERY % 5:
        case 0:
            return f"{name}.pdf", pdf_file(lines(first), lines(last))
        case 1:
            return f"{name}.docx", docx_file(paragraph(first) + paragraph(last))
        case 2:
            return f"{name}.html", f"<body><p>{first}</p><p>{last}</p></body>".encode()
        case 3:
            return f"{name}.md", f"# Report\n\n{first}\n\n{last}\n".encode()
        case _:
            return f"{name}.xlsx", xlsx_file({"Sheet": _row(1, first) + _row(2, last)})


def _row(number: int, text: str) -> str:
    cell = f'<c r="A{number}" t="inlineStr"><is><t>{text}</t></is></c>'
    return f'<row r="{number}">{cell}</row>'
