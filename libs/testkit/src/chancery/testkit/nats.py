"""A real NATS for tests: one per worker, with its streams removed after each test."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nats.aio.client import Client
from nats.js import JetStreamContext

from chancery.bus.accounts import ADMIN, SERVICE_API_PREFIX
from chancery.bus.connection import API_PREFIX
from chancery.embedded import nats as embedded_nats
from chancery.embedded.nats_users import load_users, write_accounts
from chancery.events.topology import SERVICES
from chancery.testkit.servers import NATS_IMAGE, ServerSettings, Source, nats_source
from chancery.testkit.starting import start_prepared

CONNECT_TIMEOUT_S = 30
_PORT = 4222
_CONFIG = (
    "max_payload: 8388608\n"
    "jetstream { store_dir: /data, sync_interval: always }\n"
    'include "accounts.conf"\n'
)


@dataclass(frozen=True, slots=True)
class NatsAccess:
    """How to log in: `url` may do everything, each of `service_urls` what its service may.

    `folder` is the embedded server's, None for another one. A given server has no accounts.
    """

    url: str
    service_urls: Mapping[str, str]
    api_prefix: str
    folder: Path | None = None

    @property
    def has_accounts(self) -> bool:
        """Tell whether services have logins of their own."""
        return self.api_prefix != API_PREFIX


@contextmanager
def running_nats(settings: ServerSettings, folder: Path) -> Generator[NatsAccess]:
    """Yield the logins of a JetStream server that lives as long as the block."""
    source: Source = nats_source(settings)
    if settings.nats_url:
        yield NatsAccess(settings.nats_url, dict.fromkeys(SERVICES, settings.nats_url), API_PREFIX)
    elif source == "containers":
        with _container(folder) as access:
            yield access
    else:
        with _embedded(folder) as access:
            yield access


async def delete_streams(url: str) -> None:
    """Remove every stream of the server, with what is in it."""
    client = Client()
    await client.connect(url, connect_timeout=CONNECT_TIMEOUT_S, allow_reconnect=False)
    try:
        stream = JetStreamContext(client, timeout=CONNECT_TIMEOUT_S)
        for found in await stream.streams_info():
            assert found.config.name is not None
            await stream.delete_stream(found.config.name)
    finally:
        await client.close()


@contextmanager
def _embedded(folder: Path) -> Generator[NatsAccess]:
    server, process = start_prepared(lambda: embedded_nats.prepare(folder, run=folder, logs=folder))
    try:
        yield NatsAccess(server.url, server.service_urls, server.api_prefix, folder)
    finally:
        process.stop()


@contextmanager
def _container(folder: Path) -> Generator[NatsAccess]:
    # Loaded only when asked for.
    from testcontainers.core.container import DockerContainer  # noqa: PLC0415
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy  # noqa: PLC0415

    config = folder / "server.conf"
    config.write_text(_CONFIG, encoding="ascii")
    users = load_users(folder)
    write_accounts(folder, users)
    container = (
        DockerContainer(NATS_IMAGE)
        .with_command("-c /etc/chancery/server.conf")
        .with_volume_mapping(str(folder), "/etc/chancery", "ro")
        .with_exposed_ports(_PORT)
        .waiting_for(LogMessageWaitStrategy("Server is ready"))
    )
    with container:
        address = f"{container.get_container_host_ip()}:{container.get_exposed_port(_PORT)}"
        urls = {name: f"nats://{name}:{users.password(name)}@{address}" for name in SERVICES}
        admin = f"nats://{ADMIN}:{users.admin}@{address}"
        yield NatsAccess(admin, urls, SERVICE_API_PREFIX)
