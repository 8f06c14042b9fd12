"""Extraction in processes of their own: what they may do, and what becomes of those that fail."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress

import psutil
import pytest

from chancery.evidence.layout import Layout
from chancery.extract import limits
from chancery.extract.limits import Limits
from chancery.extract.media import DOCX, HTML, PDF, XLSX
from chancery.extract.pool import ExtractionPool
from chancery.extract.refusals import TakesLong
from chancery.kernel.errors import ChanceryError, Rejected
from chancery.testkit.waiting import eventually
from tests.unit.extract.files import (
    docx_file,
    lines,
    locked_pdf,
    paragraph,
    pdf_file,
    slow_html,
    sparse_workbook,
    styles_of,
    xlsx_file,
    zip_bomb,
)

pytestmark = pytest.mark.integration

_SHORT = Limits(cpu_s=1, deadline_s=20)


@pytest.fixture
async def pool() -> AsyncGenerator[ExtractionPool]:
    async with ExtractionPool(_SHORT) as opened:
        yield opened


def _workers() -> list[psutil.Process]:
    """Return the processes that documents are read in now."""
    found: list[psutil.Process] = []
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "chancery.extract.template" in each.cmdline():
                found += each.children()
    return found


async def _code(
    pool: ExtractionPool, media_type: str, data: bytes, *, is_brief: bool = False
) -> str:
    try:
        await pool.extract(media_type, data, is_brief=is_brief)
    except TakesLong:
        return "takes_long"
    except ChanceryError as error:
        return error.code
    return "read"


@pytest.mark.parametrize(
    ("media_type", "data", "text"),
    [
        ("text/markdown; charset=utf-8", b"# Raw", "# Raw"),
        (HTML, b"<p>a<p>b", "a\n\nb"),
        (PDF, pdf_file(lines("some text")), "some text"),
        (DOCX, docx_file(paragraph("a") + paragraph("b")), "a\n\nb"),
        (XLSX, xlsx_file({"S": "<row><c><v>1</v></c></row>"}), "S\n1"),
        (
            XLSX,
            xlsx_file({"S": '<row><c s="1"><v>.05</v></c></row>'}, styles=styles_of("0.0%")),
            "S\n5.0%",
        ),
    ],
)
async def test_each_kind_of_document_is_read(
    pool: ExtractionPool, media_type: str, data: bytes, text: str
) -> None:
    found = await pool.extract(media_type, data)

    assert found.text == text
    assert found.pages == ((0,) if media_type == PDF else ())


async def test_the_layout_of_a_pdf_comes_along(pool: ExtractionPool) -> None:
    found = await pool.extract(PDF, pdf_file(lines("one"), lines("two")))

    assert found.layout is not None
    assert [len(page.lines) for page in Layout.from_bytes(found.layout).pages] == [1, 1]


@pytest.mark.parametrize(
    ("media_type", "data", "code"),
    [
        (HTML, slow_html(), "timeout"),
        (XLSX, sparse_workbook(), "resources"),
        (DOCX, zip_bomb(), "zip_bomb"),
        (PDF, locked_pdf(), "encrypted_pdf"),
        ("text/plain", b"\xff", "invalid_utf8"),
        ("image/png", b"\x89PNG\r\n\x1a\n", "unsupported_media_type"),
    ],
)
async def test_a_bad_document_fails_by_its_code_and_the_next_one_is_read(
    pool: ExtractionPool, media_type: str, data: bytes, code: str
) -> None:
    assert await _code(pool, media_type, data) == code
    assert await _code(pool, HTML, b"<p>next") == "read"
    assert not _workers()


async def test_a_document_that_hangs_does_not_keep_others_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # More than ten short ones take together on any machine.
    monkeypatch.setattr(limits, "BRIEF_CPU_S", 4)
    order: list[str] = []

    async def read(name: str, media_type: str, data: bytes) -> None:
        order.append(f"{name} {await _code(pool, media_type, data, is_brief=True)}")

    async with ExtractionPool() as pool, asyncio.TaskGroup() as group:
        group.create_task(read("hanging", HTML, slow_html()))
        for number in range(10):
            group.create_task(read(str(number), HTML, b"<p>text"))

    assert order[-1] == "hanging takes_long"
    assert order[:-1] == [f"{number} read" for number in range(10)]


@pytest.mark.req("EV-7")
async def test_documents_that_hang_keep_no_brief_one_waiting_for_their_whole_time() -> None:
    patient = Limits(cpu_s=30, deadline_s=120)
    async with ExtractionPool(patient, concurrency=2) as pool, asyncio.TaskGroup() as group:
        # One that has its place by itself, and more than there are places for brief ones.
        alone = group.create_task(pool.extract(HTML, slow_html()))
        hanging = [
            group.create_task(_code(pool, HTML, slow_html(), is_brief=True)) for _ in range(4)
        ]
        brief = [group.create_task(_code(pool, HTML, b"<p>text", is_brief=True)) for _ in range(6)]

        assert [await one for one in brief] == ["read"] * 6
        assert [await one for one in hanging] == ["takes_long"] * 4
        assert not alone.done()
        alone.cancel()


@pytest.mark.req("EV-7")
async def test_a_document_that_fails_early_fails_at_once_though_it_is_read_briefly(
    pool: ExtractionPool,
) -> None:
    assert await _code(pool, PDF, locked_pdf(), is_brief=True) == "encrypted_pdf"
    # Where nobody has more time than a brief one, there is nothing to wait for.
    whole = Limits(cpu_s=1, deadline_s=4)
    async with ExtractionPool(whole) as strict:
        assert await _code(strict, HTML, slow_html(), is_brief=True) == "timeout"


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGSEGV, "extractor_crashed"), (signal.SIGKILL, "resources")],
)
async def test_a_process_that_dies_fails_its_document_only(
    number: signal.Signals, code: str
) -> None:
    async with ExtractionPool() as pool, asyncio.TaskGroup() as group:
        reading = group.create_task(_code(pool, HTML, slow_html()))
        await eventually(lambda: len(_workers()) == 1)
        os.kill(_workers()[0].pid, number)

        assert await reading == code
        assert await _code(pool, HTML, b"<p>next") == "read"


async def test_the_deadline_ends_a_process_that_is_slow_but_not_busy() -> None:
    async with ExtractionPool(Limits(deadline_s=4)) as pool, asyncio.TaskGroup() as group:
        await _code(pool, HTML, b"<p>first")
        reading = group.create_task(_code(pool, HTML, slow_html()))
        await eventually(lambda: len(_workers()) == 1)
        os.kill(_workers()[0].pid, signal.SIGSTOP)

        assert await reading == "timeout"
        assert not _workers()


async def test_a_cancelled_extraction_leaves_no_process_behind(pool: ExtractionPool) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await pool.extract(HTML, slow_html())

    await eventually(lambda: not _workers())
    assert await _code(pool, HTML, b"<p>next") == "read"


async def test_a_template_that_died_is_replaced(pool: ExtractionPool) -> None:
    await pool.extract(HTML, b"<p>first")
    for child in psutil.Process().children():
        if "chancery.extract.template" in child.cmdline():
            child.kill()

    assert (await pool.extract(HTML, b"<p>second")).text == "second"


async def test_a_reply_beyond_its_bound_fails_the_document() -> None:
    async with ExtractionPool(Limits(reply_bytes_max=1000)) as pool:
        assert await _code(pool, HTML, b"<p>" + b"short " * 100) == "read"
        assert await _code(pool, HTML, b"<p>" + b"longer " * 1000) == "text_too_long"


async def test_closing_the_pool_ends_its_processes() -> None:
    async with ExtractionPool() as pool:
        await pool.extract(HTML, b"<p>text")
        (template,) = [
            each
            for each in psutil.Process().children()
            if "chancery.extract.template" in each.cmdline()
        ]

    assert not template.is_running()


_ATTEMPT = """
import os, socket, sys
from chancery.extract.worker import give_up

def attempt(action):
    try:
        action()
    except OSError:
        return "refused"
    return "done"

if sys.argv[1] == "bounded":
    give_up(5, 2**31)
print(attempt(lambda: open(sys.executable, "rb")), attempt(socket.socket), attempt(os.pipe))
"""


@pytest.mark.parametrize(("mode", "outcome"), [("free", "done"), ("bounded", "refused")])
def test_the_process_of_a_document_reaches_no_file_and_no_network(mode: str, outcome: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", _ATTEMPT, mode],
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
        timeout=30,
    )

    assert found.stdout.decode().split() == [outcome] * 3


_LOADED = """
import sys
import chancery.extract.{module}
print(*sorted({{"pypdfium2", "selectolax", "python_calamine"}} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("module", "loaded"),
    [("pool", []), ("media", []), ("worker", ["pypdfium2", "python_calamine", "selectolax"])],
)
def test_parsers_are_loaded_by_the_template_alone(module: str, loaded: list[str]) -> None:
    found = subprocess.run(
        [sys.executable, "-c", _LOADED.format(module=module)],
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
        timeout=30,
    )

    assert found.stdout.decode().split() == loaded


async def test_a_refusal_never_repeats_the_document(pool: ExtractionPool) -> None:
    with pytest.raises(Rejected) as refused:
        await pool.extract(PDF, b"secret words")

    assert "secret" not in refused.value.detail
