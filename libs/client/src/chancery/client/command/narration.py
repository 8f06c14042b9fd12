"""Telling a demo: with colour and a spinner on a terminal, in plain lines elsewhere, or not at all.

Content is never read as markup, and its control characters do not reach the terminal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.status import Status
from rich.text import Text

from chancery.client.command.output import visible
from chancery.client.demo.telling import Step


@dataclass(frozen=True, slots=True)
class SilentNarrator:
    """Says nothing: the caller prints the outcome."""

    def begin(self, title: str) -> None:
        """Say nothing of `title`."""
        del title

    def tell(self, line: str) -> None:
        """Say nothing of `line`."""
        del line

    def show(self, content: str) -> None:
        """Show nothing of `content`."""
        del content

    def end(self, step: Step) -> None:
        """Say nothing of `step`."""
        del step


class TerminalNarrator:
    """Numbers the steps and sets content off from what is said about it."""

    def __init__(self, file: TextIO) -> None:
        """Write to `file`; colour and spinner only when it is a terminal."""
        self._console = Console(file=file, highlight=False, markup=False, emoji=False)
        self._status: Status | None = None
        self._number = 0

    def begin(self, title: str) -> None:
        """Print the title of a step and let the spinner turn."""
        self._rest()
        self._print(f"\n{self._number}. {title}", "bold cyan")
        self._number += 1
        if self._console.is_terminal:
            self._status = self._console.status(Text("working"))
            self._status.start()

    def tell(self, line: str) -> None:
        """Print what happened."""
        self._print(f"   {line}", _style(line))

    def show(self, content: str) -> None:
        """Print content behind a bar."""
        for line in content.split("\n"):
            self._print(f"   | {line}".rstrip(), "green")

    def end(self, step: Step) -> None:
        """Print how long the step took."""
        self._rest()
        self._print(f"   done in {step.seconds:.2f} s", "dim")

    def close(self, failed: str | None, seconds: float, kept: str | None) -> None:
        """Print the end of the story."""
        self._rest()
        if failed is None:
            self._print(f"\nEverything came out as expected, in {seconds:.1f} s.", "bold green")
        else:
            self._print(f"\nNot as expected: {failed}", "bold red")
        if kept is not None:
            self._print(f"The data stay in {kept}; run it: chancery up --data-dir {kept}", "")

    def _rest(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _print(self, line: str, style: str) -> None:
        self._console.print(Text(visible(line), style=style), soft_wrap=True)


def _style(line: str) -> str:
    if line.startswith("ok:") or line == "verified":
        return "green"
    if line.startswith("MISMATCH"):
        return "red"
    return "yellow" if line.startswith("not checkable") else ""
