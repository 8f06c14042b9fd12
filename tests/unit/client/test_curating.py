"""The commands about items, files and corpora: what they take, and refuse before any call."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from typer.testing import CliRunner

from chancery.client.command import app as commands
from chancery.client.command.curating import add_file, chosen_evidence, parse_evidence
from chancery.client.command.reading import STANDARD_INPUT, read_text
from chancery.client.command.versions import Described, KeptRoot, NewVersion
from chancery.client.knowledge import Evidence
from chancery.evidence.corpus_text import format_line, parse_declaration
from chancery.kernel.errors import ChanceryError, Rejected

RUN = CliRunner()
LINE = (
    "corpus Handbook model=Revision scope=parent.parent title=title content=body "
    "where=live(row) from=deployment.knowledge"
)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("source:handbook:3", Evidence("source", "handbook", 3)),
        ("dataset:orders:12", Evidence("dataset", "orders", 12)),
    ],
)
def test_evidence_is_written_as_kind_id_and_number(written: str, found: Evidence) -> None:
    assert parse_evidence(written) == found


@pytest.mark.parametrize(
    "written",
    ["", "handbook", "source:handbook", "source::1", "source:handbook:0", "source:handbook:one",
     "item:guide:1", "file:notes:1", "source:hand:book:1"],
)  # fmt: skip
def test_other_evidence_is_refused_by_its_option(written: str) -> None:
    with pytest.raises(Rejected) as refused:
        parse_evidence(written)

    assert refused.value.field == "--evidence"


def test_a_version_is_read_from_a_file_or_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "guide.md"
    file.write_bytes("Grüße\n".encode())
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"piped")))

    version = NewVersion(text=read_text(file, bytes_max=100))

    assert version.text == "Grüße\n"
    assert read_text(STANDARD_INPUT, bytes_max=100) == "piped"
    assert "Grüße" not in repr(version)


@pytest.mark.req("CR-2")
def test_a_next_version_keeps_what_is_left_out() -> None:
    root = KeptRoot(kind="source", id="law", revision=2)
    before = Described(title="Hours", kind="note", domain="legal", tags=("a",), evidence=(root,))
    plain = NewVersion(text="new")
    bare = NewVersion(text="new", title="T", kind="k", domain="d", tags=(), evidence=())

    kept, dropped, first = (
        plain.draft("guide", before), bare.draft("guide", before), plain.draft("guide", None)
    )  # fmt: skip

    assert (kept.title, kept.kind, kept.domain) == ("Hours", "note", "legal")
    assert list(kept.tags) == ["a"]
    assert list(kept.evidence) == [Evidence("source", "law", 2)]
    assert (dropped.title, list(dropped.tags), list(dropped.evidence)) == ("T", [], [])
    assert (first.title, first.kind, list(first.evidence)) == ("guide", "article", [])
    told = plain.kept(before)
    assert told == "kept as it was: title; kind note; domain legal; tags a; evidence source:law:2"
    assert bare.kept(before) is None
    assert plain.kept(None) is None


def test_evidence_is_kept_named_or_none() -> None:
    assert chosen_evidence(None, is_none=False) is None
    assert chosen_evidence(None, is_none=True) == []
    assert chosen_evidence(["source:law:1"], is_none=False) == [Evidence("source", "law", 1)]
    with pytest.raises(Rejected) as refused:
        chosen_evidence(["source:law:1"], is_none=True)
    assert refused.value.field == "--no-evidence"


def test_a_text_that_is_not_utf_8_is_refused_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "guide.md"
    file.write_bytes(b"abc\xff")

    with pytest.raises(ChanceryError) as refused:
        read_text(file, bytes_max=100)

    assert refused.value.code == "invalid_utf8"
    assert "byte 3" in refused.value.detail


@pytest.mark.req("CL-5")
@pytest.mark.parametrize(
    ("line", "field"),
    [
        (LINE.replace("where=live(row)", "where=recent(row)"), "where"),
        (LINE.replace("scope=parent.parent", "scope=parent.successor"), "scope"),
        (LINE.replace(" title=title", ""), "title"),
        (LINE.replace("from=deployment.knowledge", "from=elsewhere"), "from"),
    ],
)
def test_a_declaration_is_refused_here_with_its_attribute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, field: str
) -> None:
    file = tmp_path / "handbook.corpus"
    file.write_text(line, "utf-8")
    # Nothing answers here: what is refused before the call needs no server.
    monkeypatch.setenv("CHANCERY_URL", "http://127.0.0.1:1")

    shown = RUN.invoke(commands.app, ["corpus", "declare", str(file), "-w", "w", "--json"])

    assert shown.exit_code == 1
    assert json.loads(shown.stdout)["error"]["field"] == field


@pytest.mark.parametrize(
    "words",
    [
        ["corpus", "ask", "Handbook", "ticket", "0", "Why?", "-w", "w"],
        ["corpus", "status", "Handbook", "law", "none", "-w", "w"],
        ["corpus", "available", "Handbook", "-w", "w"],
        ["item", "publish", "guide", "-w", "w"],
        ["item", "show", "guide", "-w", "w", "--version", "0"],
        ["item", "publish", "guide", "g.md", "-w", "w", "--evidence", "law"],
        ["item", "publish", "g", "g.md", "-w", "w", "--evidence", "source:a:1", "--no-evidence"],
        ["file", "remove"],
        ["grant", "guide", "bruno", "-w", "w", "--item", "--dataset"],
    ],
)
def test_what_a_command_does_not_take_is_a_usage_error(words: list[str]) -> None:
    assert RUN.invoke(commands.app, words).exit_code == 2


@pytest.mark.parametrize(
    ("words", "call", "reply", "printed"),
    [
        (
            ["corpus", "refresh", "Handbook", "law", "2"],
            ("POST", "/corpora/Handbook/refresh"),
            {"source": "law", "revision": 2, "state": "pending"},
            "pending\n",
        ),
        (
            ["corpus", "status", "Handbook", "law", "2"],
            ("GET", "/corpora/Handbook/status/law/2"),
            {"source": "law", "revision": 2, "state": "failed", "reason": "timeout"},
            "failed (timeout)\n",
        ),
        (
            ["corpus", "available", "Handbook", "run-1"],
            ("POST", "/corpora/Handbook/available"),
            {"available": True},
            "available\n",
        ),
        (
            ["corpus", "cancel", "Handbook", "ticket", "2"],
            ("POST", "/corpora/Handbook/cancel"),
            {"run_id": "run-1", "generation": 1, "source": "ticket", "revision": 2,
             "sequence": 3, "state": "cancelled"},
            "cancelled: run run-1\n",
        ),
        (
            ["grant", "guide", "bruno", "--item"],
            ("PUT", "/items/guide/grants/bruno"),
            {"sequence": 9, "event_id": "e", "changed": True},
            "bruno has grant of guide\n",
        ),
        (
            ["item", "list"],
            ("GET", "/items"),
            {"items": [{"id": "guide", "title": "A guide", "kind": "a", "domain": "b",
                        "version": 2, "withdrawn": False, "state": "ready"}]},
            "guide\t2\tready\tA guide\n",
        ),
    ],
)  # fmt: skip
def test_a_command_makes_one_call_and_prints_what_came_of_it(
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    call: tuple[str, str],
    reply: dict[str, object],
    printed: str,
) -> None:
    sent: list[tuple[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append((request.method, request.url.path))
        return httpx.Response(200, json=reply)

    def connect(url: str, transport: object) -> httpx.AsyncClient:
        del transport
        return httpx.AsyncClient(base_url=url, transport=httpx.MockTransport(answer))

    monkeypatch.setenv("CHANCERY_URL", "http://server")
    monkeypatch.setenv("CHANCERY_TOKEN", "token")
    monkeypatch.setattr("chancery.client.http.open_http", connect)

    shown = RUN.invoke(commands.app, [*words, "-w", "w"])

    assert (shown.exit_code, shown.stdout) == (0, printed), shown.output
    method, path = call
    assert sent == [(method, f"/v1/workspaces/w{path}")]


def test_the_declarations_that_the_docs_show_are_one_and_the_same() -> None:
    page = (Path(__file__).parents[3] / "docs" / "using.md").read_text("utf-8")
    (line,) = re.findall(r"```text\n(corpus .*)\n```", page)
    (written,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)

    assert parse_declaration(line) == parse_declaration(written)
    assert format_line(parse_declaration(written)) == line


async def test_a_table_or_a_folder_is_no_private_file_and_is_told_as_what_it_is(
    tmp_path: Path,
) -> None:
    table = tmp_path / "orders.csv"
    table.write_text("a,b\n1,2\n", "utf-8")

    told: list[str] = []
    for path in (table, tmp_path):
        with pytest.raises(Rejected) as refused:
            await add_file(path, None, as_json=True)
        told.append(refused.value.detail)

    assert ".pdf" in told[0]
    assert ".csv," not in told[0]
    assert told[1].endswith("is a folder; add its files one by one")
