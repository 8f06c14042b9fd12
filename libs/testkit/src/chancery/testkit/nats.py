"""A real NATS for tests: one per worker, with its streams removed after each test."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from nats.aio.client import Client
from nats.js import JetStreamContext

from chancery.embedded import nats as embedded_nats
from chancery.embedded.process import start
from chancery.testkit.servers import NATS_IMAGE, ServerSettings, Source, nats_source
from chancery.testkit.waiting import wait_until

CONNECT_TIMEOUT_S = 5
_PORT = 4222
_CONFIG = "max_payload: 8388608\njetstream { store_dir: /data, sync_interval: always }\n"


@contextmanager
def running_nats(settings: ServerSettings, folder: Path) -> Generator[str]:
    """Yield the URL of a JetStream server that lives as long as the block."""
    source: Source = nats_source(settings)
    if settings.nats_url:
        yield settings.nats_url
    elif source == "containers":
        with _container(folder) as url:
            yield url
    else:
        with _embedded(folder) as url:
            yield url


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
def _embedded(folder: Path) -> Generator[str]:
    server = embedded_nats.prepare(folder, run=folder, logs=folder)
    process = start(server.spec)
    try:
        wait_until(server.is_ready, within_s=20)
        yield server.url
    finally:
        process.stop()


@contextmanager
def _container(folder: Path) -> Generator[str]:
    # Loaded only when asked for.
    from testcontainers.core.container import DockerContainer  # noqa: PLC0415
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy  # noqa: PLC0415

    config = folder / "server.conf"
    config.write_text(_CONFIG, encoding="ascii")
    container = (
        DockerContainer(NATS_IMAGE)
        .with_command("-c /etc/chancery.conf")
        .with_volume_mapping(str(config), "/etc/chancery.conf", "ro")
        .with_exposed_ports(_PORT)
        .waiting_for(LogMessageWaitStrategy("Server is ready"))
    )
    with container:
        host = container.get_container_host_ip()
        yield f"nats://{host}:{container.get_exposed_port(_PORT)}"
