"""Ctrl-C before the command is loaded ends it as quietly as later."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType

import pytest

from chancery.client.command import INTERRUPTED, main


def test_an_interrupt_while_the_command_is_loaded_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    imported = builtins.__import__

    def interrupted(name: str, *rest: object, **named: object) -> ModuleType:
        if name == "chancery.client.command.app":
            raise KeyboardInterrupt
        return imported(name, *rest, **named)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == INTERRUPTED


def test_the_entry_runs_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["chancery", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code in {0, None}
    assert "chancery" in capsys.readouterr().out
