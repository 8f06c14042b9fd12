"""Three JetStream servers on this machine, replicated as a deployment would have them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel

from chancery.bus.accounts import ADMIN, SERVICE_API_PREFIX
from chancery.bus.connection import Connection
from chancery.embedded.nats import PAYLOAD_BYTES_MAX, find_program, user_url
from chancery.embedded.nats_users import ACCOUNTS_FILE, Users, load_users, write_accounts
from chancery.embedded.ports import LOOPBACK, answers_ok
from chancery.embedded.process import ProcessSpec, RunningProcess, start
from chancery.events.topology import SERVICES
from chancery.kernel.canonical import canonical_bytes
from chancery.testkit.nats import NatsAccess
from chancery.testkit.ports import kept_port
from chancery.testkit.waiting import wait_until

NODES = 3
READY_WITHIN_S = 30
_CONFIG = """\
listen: "{host}:{port}"
http: "{host}:{http}"
server_name: "{name}"
max_payload: {payload}
jetstream {{
  store_dir: {store}
  sync_interval: always
}}
cluster {{
  name: "test"
  listen: "{host}:{route}"
  routes: [{routes}]
}}
{accounts}
"""


class _Cluster(BaseModel):
    leader: str | None = None


class _StreamInfo(BaseModel):
    cluster: _Cluster = _Cluster()


@dataclass(slots=True)
class Node:
    """One server; `process` is None while it is down."""

    name: str
    folder: Path
    port: int = field(default_factory=kept_port)
    http: int = field(default_factory=kept_port)
    route: int = field(default_factory=kept_port)
    process: RunningProcess | None = None

    def begin(self) -> None:
        """Start it on what it stored before."""
        spec = ProcessSpec(
            name=self.name,
            argv=(str(find_program()), "--config", str(self.folder / "server.conf")),
            environment={},
            log_path=self.folder / "nats.log",
            pid_path=self.folder / "nats.pid",
            tied=True,
        )
        self.process = start(spec)

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process = None

    def is_ready(self) -> bool:
        """Tell whether it takes connections and has caught up with the others."""
        return answers_ok(self.http, "/healthz")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The servers, their users when they have accounts, and the URL that names them all."""

    nodes: tuple[Node, ...]
    users: Users | None = None

    @property
    def url(self) -> str:
        """Return every server's URL, as the settings take them; its user may do everything."""
        if self.users is not None:
            return self.url_of(ADMIN)
        return ",".join(f"nats://{LOOPBACK}:{node.port}" for node in self.nodes)

    def url_of(self, user: str) -> str:
        """Return the URLs with which a user logs in."""
        assert self.users is not None
        password = self.users.password(user)
        return ",".join(user_url(user, password, node.port) for node in self.nodes)

    def access(self) -> NatsAccess:
        """Return the login of each service."""
        services = {service: self.url_of(service) for service in SERVICES}
        return NatsAccess(self.url, services, SERVICE_API_PREFIX)

    async def leader_of(self, connection: Connection, stream: str) -> Node:
        """Return the server that leads a stream."""
        info = await connection.api(f"STREAM.INFO.{stream}", None, _StreamInfo)
        return next(node for node in self.nodes if node.name == info.cluster.leader)


@contextmanager
def running_cluster(folder: Path, *, has_accounts: bool = False) -> Generator[Cluster]:
    """Yield three servers that live as long as the block."""
    nodes = tuple(Node(f"n{number}", folder / f"n{number}") for number in range(NODES))
    folder.mkdir(parents=True)
    users = load_users(folder) if has_accounts else None
    try:
        for node in nodes:
            _configure(node, nodes, users)
            node.begin()
        for node in nodes:
            wait_until(node.is_ready, within_s=READY_WITHIN_S)
        yield Cluster(nodes, users)
    finally:
        for node in nodes:
            node.kill()


def _configure(node: Node, nodes: tuple[Node, ...], users: Users | None) -> None:
    node.folder.mkdir(parents=True)
    if users is not None:
        write_accounts(node.folder, users)
    routes = ", ".join(
        canonical_bytes(f"nats://{LOOPBACK}:{each.route}").decode() for each in nodes
    )
    text = _CONFIG.format(
        host=LOOPBACK,
        port=node.port,
        http=node.http,
        name=node.name,
        payload=PAYLOAD_BYTES_MAX,
        store=canonical_bytes(str(node.folder / "data")).decode(),
        accounts="" if users is None else f'include "{ACCOUNTS_FILE}"',
        route=node.route,
        routes=routes,
    )
    (node.folder / "server.conf").write_text(text, encoding="utf-8")
