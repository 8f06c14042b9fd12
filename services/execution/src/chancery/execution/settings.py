"""The settings of execution, beside those that every service has."""

from __future__ import annotations

from pydantic import Field

from chancery.runtime.settings import ServiceSettings
from chancery.tabular.preview import BUDGET_BYTES_MAX, BUDGET_BYTES_MIN, PREVIEW_BYTES_MAX


class ExecutionSettings(ServiceSettings):
    """`workers` runs are selected for at a time, `queries` statements run at a time.

    One of `queries` is always left for runs, if there are several. A preview holds `preview_bytes`
    of canonical JSON at most; one that was cut to another budget than 64 KiB states it, so that
    release and verification cut to the same.
    """

    workers: int = Field(default=8, ge=1, le=64)
    queries: int = Field(default=6, ge=1, le=16)
    preview_bytes: int = Field(default=PREVIEW_BYTES_MAX, ge=BUDGET_BYTES_MIN, le=BUDGET_BYTES_MAX)
