"""The settings of indexing, beside those that every service has."""

from __future__ import annotations

from pydantic import Field

from chancery.runtime.settings import ServiceSettings


class IndexingSettings(ServiceSettings):
    """How much is done at a time: events, documents read by parsers, snapshots converted.

    `workers` deliveries are in hand at once, at most as many as the consumer lets wait for an
    acknowledgement; those that come together share their commits. A document may take
    `extraction_s` seconds of processor time, and four times that in all.
    """

    workers: int = Field(default=256, ge=1, le=1024)
    extractions: int = Field(default=2, ge=1, le=16)
    extraction_s: int = Field(default=30, ge=1, le=600)
    conversions: int = Field(default=1, ge=1, le=8)
