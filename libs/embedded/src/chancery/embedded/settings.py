"""What `chancery up` needs to know; the command line fills it from the environment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from chancery.embedded.supervisor import DEFAULT_LIMITS, Limits

Migrate = Callable[[str, Mapping[str, SecretStr]], Coroutine[None, None, None]]
"""Brings the database of a DSN up to date and sets these passwords of roles."""

Provision = Callable[[str], Coroutine[None, None, None]]
"""Makes the streams and consumers of the NATS at a URL equal to the topology."""


@dataclass(frozen=True, slots=True)
class UpSettings:
    """Where to run and with what.

    `nats_url`, `postgres_dsn` and `blobs_url` are None for the embedded ones. `postgres_dsn` is the
    role that migrates. `http_port` 0 takes any free one. The children inherit `environment`.
    """

    data_dir: Path
    http_port: int = 8080
    nats_url: str | None = None
    postgres_dsn: SecretStr | None = None
    blobs_url: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True, slots=True)
class UpSteps:
    """What `up` does between the servers and the services, and how it calls a service."""

    migrate: Migrate
    provision: Provision
    service_argv: Callable[[str], tuple[str, ...]]


def service_argv(service: str) -> tuple[str, ...]:
    """Return the command that runs a service with this interpreter."""
    return (sys.executable, "-m", f"chancery.{service}")
