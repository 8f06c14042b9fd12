"""The settings of indexing, beside those that every service has."""

from __future__ import annotations

from pydantic import Field

from chancery.runtime.settings import ServiceSettings


class IndexingSettings(ServiceSettings):
    """`workers` events are worked on at a time, `conversions` snapshots converted at a time."""

    workers: int = Field(default=8, ge=1, le=64)
    conversions: int = Field(default=1, ge=1, le=8)
