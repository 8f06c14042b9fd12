"""What the command prints: nothing secret, nothing that steers a terminal."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from chancery.client.command.config import redacted
from chancery.client.command.narration import TerminalNarrator
from chancery.client.command.output import (
    exit_code,
    speaking,
    tell,
    tell_error,
    tell_json,
    visible,
)
from chancery.client.command.server import entering
from chancery.client.command.settings import CommandSettings, InvalidSetting, load_settings
from chancery.client.demo.telling import Step
from chancery.client.errors import Problem, ProblemError, Unreachable
from chancery.kernel.errors import ChanceryError, Conflict, Corrupt, Rejected


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Rejected("no"), 1),
        (Conflict("no"), 1),
        (Corrupt("no"), 1),
        (Unreachable("no"), 3),
        (ProblemError(Problem(status=404)), 1),
        (ProblemError(Problem(status=503)), 3),
    ],
)
def test_the_exit_code_says_whether_repeating_may_help(error: ChanceryError, code: int) -> None:
    assert exit_code(error) == code


DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
CONTROLS = "\x00\x08\r\x1b\x7f\x85\x9b"


@given(st.text() | st.text(f"ab\n{DIRECTIONS}{CONTROLS}"))
def test_nothing_that_steers_a_terminal_or_turns_its_order_reaches_it(text: str) -> None:
    shown = visible(text)

    assert not any(ord(each) < 0x20 and each not in "\n\t" for each in shown)
    assert not {"\x1b", "\x9b", *DIRECTIONS} & set(shown)
    kept = "".join(each for each in text if each not in DIRECTIONS)
    assert re.sub(r"<U\+[0-9A-F]{4}>", "", shown) == visible(kept)
    assert len(visible(kept)) == len(kept)


def test_what_turns_the_order_is_shown_by_its_code_and_is_untouched_for_machines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    excerpt = "pay \u202egnp.exe\u202c \u0627\u200f now"

    tell(excerpt)
    tell_json({"excerpt": excerpt})

    shown, document = capsys.readouterr().out.splitlines()
    assert shown == "pay <U+202E>gnp.exe<U+202C> \u0627<U+200F> now"
    assert json.loads(document) == {"excerpt": excerpt}


def test_a_failure_is_one_sentence_beside_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    problem = Problem(status=422, code="nul_byte", detail="it has a NUL", field="content",
                      trace_id="ab")  # fmt: skip

    tell_error(ProblemError(problem), as_json=False)

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "chancery: content: it has a NUL (trace ab)\n"


def test_a_failure_is_a_document_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    tell_error(Rejected("no", field="title"), as_json=True)

    told = capsys.readouterr().out
    expected = '{"error":{"code":"rejected","detail":"no","field":"title","trace_id":null}}\n'
    assert told == expected


def test_a_missing_file_is_a_sentence_too(capsys: pytest.CaptureFixture[str]) -> None:
    from typer import Exit

    with pytest.raises(Exit) as left, speaking(as_json=False):
        Path("/no/such/file").read_text("utf-8")

    assert left.value.exit_code == 1
    assert capsys.readouterr().err == "chancery: /no/such/file: no such file or directory\n"


@pytest.mark.parametrize("as_json", [False, True])
def test_a_failure_in_a_group_is_told_like_any_other(
    capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    from typer import Exit

    inner = ExceptionGroup("inner", [Unreachable("nothing answers")])

    with pytest.raises(Exit) as left, speaking(as_json=as_json):
        raise ExceptionGroup("outer", [inner, Rejected("no")])

    told = capsys.readouterr()
    assert left.value.exit_code == 3
    assert "nothing answers" in (told.out if as_json else told.err)


def test_a_fault_of_ours_in_a_group_is_not_hidden() -> None:
    with pytest.raises(ExceptionGroup), speaking(as_json=False):
        raise ExceptionGroup("both", [Rejected("no"), ZeroDivisionError()])


def test_what_is_not_set_is_embedded() -> None:
    shown = redacted(CommandSettings())

    for name in ("CHANCERY_NATS_URL", "CHANCERY_POSTGRES_DSN", "CHANCERY_BLOBS_URL"):
        assert shown[name] == {"value": "embedded", "from": "default"}


def test_settings_are_shown_without_secrets() -> None:
    settings = CommandSettings(
        token=SecretStr("hidden"),
        postgres_dsn=SecretStr("postgresql://a:hidden@h/d"),
        nats_url="nats://user:hidden@host:4222",
    )

    shown = redacted(settings)

    assert "hidden" not in str(shown)
    assert shown["CHANCERY_NATS_URL"] == {"value": "nats://***@host:4222", "from": "environment"}
    assert shown["CHANCERY_HTTP_PORT"] == {"value": 8080, "from": "default"}


def test_a_bad_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANCERY_HTTP_PORT", "many")

    with pytest.raises(InvalidSetting) as refused:
        load_settings()

    assert refused.value.field == "CHANCERY_HTTP_PORT"


def test_a_story_is_plain_where_there_is_no_terminal_and_content_is_no_markup() -> None:
    file = io.StringIO()
    narrator = TerminalNarrator(file)

    narrator.begin("A step")
    narrator.show("[red]one\x1b[31m[/red]\ntwo")
    narrator.end(Step("step", 0.5, {}))
    narrator.close("step: it differs", 1.0, None)

    told = file.getvalue()
    assert "   | [red]one\ufffd[31m[/red]\n   | two\n" in told
    assert "\x1b" not in told
    assert "Not as expected: step: it differs" in told


@pytest.mark.parametrize(
    ("code", "field", "is_of_workspace"),
    [
        ("workspace_not_found", None, True),
        ("not_found", "workspace_id", True),
        ("not_found", "evidence.0", False),
        ("source_not_found", None, False),
    ],
)
def test_only_a_workspace_that_is_not_found_is_told_as_one(
    code: str, field: str | None, is_of_workspace: bool
) -> None:
    problem = ProblemError(Problem(status=404, code=code, field=field, detail="no such thing"))

    with pytest.raises(ChanceryError) as told, entering("desk"):
        raise problem

    assert (told.value.code == "workspace_not_found") is is_of_workspace
    assert (told.value is not problem) is is_of_workspace
