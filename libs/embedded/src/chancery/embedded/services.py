"""The six services as children: what each is told, and how its readiness is seen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from chancery.embedded.folder import DataFolder
from chancery.embedded.ports import answers_ok
from chancery.embedded.process import ProcessSpec
from chancery.embedded.secret_files import hex_key, write_secret
from chancery.embedded.settings import UpSettings, UpSteps
from chancery.embedded.supervisor import Child
from chancery.store.roles import SERVICES

# Only `up` may know these: a child gets its own.
_NOT_INHERITED = (
    "CHANCERY_POSTGRES_DSN",
    "CHANCERY_POSTGRES_DSN_FILE",
    "CHANCERY_NATS_URL",
    "CHANCERY_NATS_URL_FILE",
)


@dataclass(frozen=True, slots=True)
class Wiring:
    """What the services connect to; `dsns` and `nats_urls` by service, each with its own login.

    `nats_api_prefix` None leaves the one that the environment names.
    """

    nats_urls: Mapping[str, str]
    nats_api_prefix: str | None
    dsns: Mapping[str, str]
    blobs_url: str
    http_port: int


def service_children(
    folder: DataFolder, settings: UpSettings, steps: UpSteps, wiring: Wiring
) -> list[Child]:
    """Return the children, having written the files that tell them their secrets."""
    shared = _shared_environment(folder, settings, wiring)
    return [
        _child(
            service,
            folder,
            steps,
            shared | _own_environment(service, folder, settings, wiring),
            ports=(wiring.http_port,) if service == "gateway" else (),
        )
        for service in SERVICES
    ]


def _child(
    service: str,
    folder: DataFolder,
    steps: UpSteps,
    environment: Mapping[str, str],
    *,
    ports: tuple[int, ...],
) -> Child:
    port_file = folder.run / f"{service}.port"
    spec = ProcessSpec(
        name=service,
        argv=steps.service_argv(service),
        environment=environment,
        log_path=folder.logs / f"{service}.log",
        pid_path=folder.run / f"{service}.pid",
        stale=(port_file,),
    )
    return Child(spec, partial(answers_ready, port_file), ports)


def answers_ready(port_file: Path) -> bool:
    """Tell whether the service that wrote `port_file` says that it is ready."""
    try:
        port = int(port_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return False
    return answers_ok(port, "/readyz")


def _shared_environment(folder: DataFolder, settings: UpSettings, wiring: Wiring) -> dict[str, str]:
    inherited = {
        name: value for name, value in settings.environment.items() if name not in _NOT_INHERITED
    }
    if wiring.nats_api_prefix is not None:
        inherited["CHANCERY_NATS_API_PREFIX"] = wiring.nats_api_prefix
    return inherited | {
        "CHANCERY_BLOBS_URL": wiring.blobs_url,
        "CHANCERY_DATA_DIR": str(folder.path),
        "CHANCERY_HTTP_PORT": str(wiring.http_port),
        "CHANCERY_PARENT_WATCH": "1",
        "CHANCERY_PARENT_PID": str(os.getpid()),
        "CHANCERY_MANAGEMENT_PORT": "0",
        "PYTHONUNBUFFERED": "1",
    }


def _own_environment(
    service: str, folder: DataFolder, settings: UpSettings, wiring: Wiring
) -> dict[str, str]:
    dsn_file = folder.run / f"{service}.dsn"
    write_secret(dsn_file, wiring.dsns[service])
    nats_file = folder.run / f"{service}.nats"
    write_secret(nats_file, wiring.nats_urls[service])
    own = {
        "CHANCERY_NATS_URL_FILE": str(nats_file),
        "CHANCERY_POSTGRES_DSN_FILE": str(dsn_file),
        "CHANCERY_MANAGEMENT_PORT_FILE": str(folder.run / f"{service}.port"),
    }
    if service == "release":
        own |= _key("CHANCERY_SIGNING_KEY", folder.path / "signing.key", settings)
    if service in {"gateway", "ingestion"}:
        own |= _key("CHANCERY_TOKEN_KEY", folder.path / "token.key", settings)
    if service == "ingestion":
        own["CHANCERY_OPERATOR_TOKEN_FILE"] = str(folder.path / "operator.token")
    return own


def _key(name: str, path: Path, settings: UpSettings) -> dict[str, str]:
    """Return the setting that names the key file, drawing the key unless one was configured."""
    if settings.environment.get(name) or settings.environment.get(f"{name}_FILE"):
        return {}
    hex_key(path)
    return {f"{name}_FILE": str(path)}
