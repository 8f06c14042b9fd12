"""Files that people name: read no further than a server would take them."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from typer.testing import CliRunner

from chancery.client.command import app as commands
from chancery.client.command import publish
from chancery.client.command.declaring import Wanted
from chancery.client.command.reading import STANDARD_INPUT, read_file, read_text
from chancery.client.http import connect
from chancery.kernel.errors import Rejected, TooLarge

HUGE = 1 << 40
MEMORY_MAX = 64 * 1024 * 1024


def huge(path: Path) -> Path:
    """Return a file of a tebibyte that takes no room on the disk."""
    with path.open("wb") as file:
        file.truncate(HUGE)
    return path


def test_a_file_is_read_whole_up_to_the_most(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"a" * 100)

    assert read_file(file, bytes_max=100) == b"a" * 100
    with pytest.raises(TooLarge) as refused:
        read_file(file, bytes_max=99)
    assert refused.value.detail == "the file has 100 bytes, the most are 99"


def test_of_a_file_that_is_too_long_nothing_is_held(tmp_path: Path) -> None:
    file = huge(tmp_path / "a.md")

    tracemalloc.start()
    try:
        with pytest.raises(TooLarge, match="1,099,511,627,776 bytes"):
            read_file(file, bytes_max=1000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < MEMORY_MAX


def test_what_has_no_size_of_its_own_is_read_no_further_either(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.md"
    os.mkfifo(pipe)
    ends = os.open(pipe, os.O_RDWR)
    try:
        os.write(ends, b"a" * 101)
        with pytest.raises(TooLarge) as refused:
            read_file(pipe, bytes_max=99)
    finally:
        os.close(ends)
    # Nobody has counted what else there is.
    assert refused.value.detail == "the file has more than 99 bytes, which are the most"


def test_standard_input_that_does_not_end_is_read_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    piped = io.BytesIO(b"a" * 1000)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=piped))

    with pytest.raises(TooLarge) as refused:
        read_text(STANDARD_INPUT, bytes_max=100)

    assert refused.value.field == "path"
    assert piped.tell() == 101


@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        (["item", "publish", "opening", "PATH", "-w", "pumps"], "262,144"),
        (["corpus", "declare", "PATH", "-w", "pumps"], "16,384"),
    ],
)
def test_a_command_names_a_file_that_is_too_long(
    tmp_path: Path, arguments: list[str], most: str
) -> None:
    file = huge(tmp_path / "long.md")

    ended = CliRunner().invoke(
        commands.app, [str(file) if each == "PATH" else each for each in arguments]
    )

    assert ended.exit_code == 1
    assert f"long.md: the file has 1,099,511,627,776 bytes, the most are {most}" in ended.output


def test_a_text_that_is_no_utf_8_is_named_on_one_line(tmp_path: Path) -> None:
    file = tmp_path / "two\nlines.md"
    file.write_bytes(b"\xff")

    with pytest.raises(Rejected) as refused:
        read_text(file, bytes_max=100)

    assert "\n" not in refused.value.detail


async def test_nothing_is_sent_of_files_that_no_memory_would_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.md", "b.pdf", "c.csv"):
        huge(tmp_path / name)

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.method == "GET", "nothing is sent"
        return (
            httpx.Response(404, json={"status": 404})
            if "datasets" in request.url.path
            else (httpx.Response(200, json={"resources": []}))
        )

    def client(_: object) -> object:
        return connect("http://chancery", "tok", transport=httpx.MockTransport(answer))

    monkeypatch.setattr(publish, "server_client", client)
    code = await publish.run_publish(tmp_path, "plant", Wanted(), as_json=True)

    told = json.loads(capsys.readouterr().out)["published"]
    assert (code, [each["error"]["code"] for each in told]) == (1, ["too_large"] * 3)
