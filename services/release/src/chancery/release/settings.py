"""The settings of release, beside those that every service has."""

from __future__ import annotations

from pydantic import Field

from chancery.kernel.errors import Rejected
from chancery.runtime.settings import ServiceSettings


class ReleaseSettings(ServiceSettings):
    """`workers` is how many runs each stage handles at a time, `connections` the pool's size."""

    workers: int = Field(default=8, ge=1, le=64)
    connections: int = Field(default=12, ge=4, le=64)

    def require_signing_key(self) -> str:
        """Return the seed of the key that receipts are signed with, in hex.

        Raises:
            Rejected: when it is not set.
        """
        if self.signing_key is None:
            message = "CHANCERY_SIGNING_KEY is not set; give 64 hex digits, or a file of them"
            raise Rejected(message, field="signing_key", code="missing_setting")
        return self.signing_key.get_secret_value()
