"""Processes that run `up` with fake services, as a person would start them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

from chancery.store.roles import SERVICES
from chancery.testkit.waiting import wait_until

RUN_UP = Path(__file__).parent / "run_up.py"
READY = "Chancery is ready at http://127.0.0.1:"
NAMES = {"nats", "postgres", *SERVICES}


@dataclass
class Up:
    """A running `up`; `lines` is what it has said."""

    handle: subprocess.Popen[str]
    output: Path
    data: Path

    @property
    def lines(self) -> list[str]:
        """Return what it has said."""
        return self.output.read_text().splitlines()

    def wait_ready(self) -> None:
        """Wait for the line that says so, which is the last."""
        wait_until(lambda: READY in self.output.read_text() or self.handle.poll() is not None, 120)
        assert self.lines[-1].startswith(READY), self.lines

    def children(self) -> dict[str, psutil.Process]:
        """Return its children by name."""
        found = {path.stem: path.read_text() for path in (self.data / "run").glob("*.pid")}
        return {name: psutil.Process(int(text.split()[0])) for name, text in found.items()}

    def told(self, service: str) -> dict[str, str]:
        """Return the settings that a service was given."""
        return json.loads((self.data / f"{service}.told").read_text())

    def nats_url(self, service: str) -> str:
        """Return what a service logs in to NATS with."""
        return Path(self.told(service)["CHANCERY_NATS_URL_FILE"]).read_text().strip()

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Ask it to end and return its exit code."""
        self.handle.send_signal(number)
        return self.handle.wait(60)


class Starter:
    """Starts `up` processes and ends whatever is left of them."""

    def __init__(self, folder: Path) -> None:
        """Keep data and output in `folder`."""
        self.folder = folder
        self.started: list[Up] = []

    def __call__(self, data: Path | None = None, port: int = 0, **settings: object) -> Up:
        """Start one; `settings` are those of `run_up.py`."""
        data = self.folder / "data" if data is None else data
        output = self.folder / f"output-{len(self.started)}"
        given = json.dumps({"data_dir": str(data), "http_port": port, **settings})
        with output.open("w") as file:
            handle = subprocess.Popen(
                [sys.executable, str(RUN_UP), given],
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self.started.append(Up(handle, output, data))
        return self.started[-1]

    def end(self) -> None:
        """Stop what still runs."""
        for up in self.started:
            if up.handle.poll() is None:
                up.stop(signal.SIGTERM)
