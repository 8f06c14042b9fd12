"""Stands for a service: writes down what it was told and answers `/readyz` until it is stopped."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType


class Answer(BaseHTTPRequestHandler):
    """Says that it is ready."""

    def do_GET(self) -> None:
        """Answer 200."""
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Write to the log only what went wrong."""
        if args[1:2] != ("200",):
            print(format % args)


def main() -> None:
    """Serve until SIGTERM, or until the parent is gone."""
    data = Path(os.environ["CHANCERY_DATA_DIR"])
    told = {name: value for name, value in os.environ.items() if name.startswith("CHANCERY_")}
    (data / f"{sys.argv[1]}.told").write_text(json.dumps(told))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    if sys.argv[1] == "gateway":
        # It opens the port of the system and leaves whoever comes waiting.
        opened = ThreadingHTTPServer(("127.0.0.1", int(os.environ["CHANCERY_HTTP_PORT"])), Answer)
        print(opened.server_port)

    def stop(_number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, stop)
    Path(os.environ["CHANCERY_MANAGEMENT_PORT_FILE"]).write_text(str(server.server_port))
    server.serve_forever(poll_interval=0.02)
    with (data / "stopped").open("a") as file:
        file.write(sys.argv[1] + "\n")


if __name__ == "__main__":
    main()
