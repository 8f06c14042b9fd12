"""The `chancery` command: `main` is its entry."""

from __future__ import annotations

import gc

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly, also while it is still being loaded."""
    gc.disable()  # nothing of what is loaded is garbage; `speaking` enables it again
    try:
        from chancery.client.command.app import main as run

        run()
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
