"""The settings of the gateway, beside those that every service has."""

from __future__ import annotations

from pydantic import Field

from chancery.runtime.settings import ServiceSettings


class GatewaySettings(ServiceSettings):
    """`max_upload_bytes` bounds the body of one revision or snapshot.

    `max_body_memory_bytes` bounds what all bodies that have arrived take in memory together, and
    the tables that they are appended to; one of them always fits, and then alone.
    """

    max_upload_bytes: int = Field(default=16 * 1024 * 1024, ge=1, le=1024 * 1024 * 1024)
    max_body_memory_bytes: int = Field(default=64 * 1024 * 1024, ge=1024 * 1024)
