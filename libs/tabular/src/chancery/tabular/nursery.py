"""The nurseries of this process's query workers and of those that plan statements."""

from __future__ import annotations

import atexit
from typing import Final

from chancery.kernel.errors import Unavailable
from chancery.nursery.nursery import Nursery


def _not_started() -> Unavailable:
    detail = "no query worker could be started"
    return Unavailable(detail, code="sql_worker_unavailable")


NURSERY: Final = Nursery("chancery.tabular.template", _not_started)
"""Shared by every pool, so that there is one template; its first fork starts it."""

PLANNERS: Final = Nursery("chancery.tabular.planner", _not_started)
"""Apart, so that a query worker is forked without what planning needs."""

atexit.register(NURSERY.close)
atexit.register(PLANNERS.close)
