"""The settings of execution, beside those that every service has."""

from __future__ import annotations

from pydantic import Field

from chancery.runtime.settings import ServiceSettings


class ExecutionSettings(ServiceSettings):
    """`workers` runs are selected for at a time, `queries` statements run at a time.

    One of `queries` is always left for runs, if there are several.
    """

    workers: int = Field(default=8, ge=1, le=64)
    queries: int = Field(default=6, ge=1, le=16)
