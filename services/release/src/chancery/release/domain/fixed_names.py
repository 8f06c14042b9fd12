"""The names and numbers that a stage may have told of itself: fixed ones, never text of its own.

A receipt shows who selected, and an asker sees what goes on. A stage that has read what the asker
may not could otherwise write it there.
"""

from __future__ import annotations

from typing import Final

from chancery.events.run import ActivityRecorded

SELECTORS: Final = frozenset({"extractive", "model", "rlm"})
TOOLS: Final = SELECTORS | {"duckdb", "final_answer", "python", "tantivy"}
COUNT_MAX: Final = 1_000_000
DURATION_MS_MAX: Final = 3_600_000


def is_tellable(activity: ActivityRecorded) -> bool:
    """Tell whether an activity is one that the asker may be told of."""
    return (
        activity.tool in TOOLS
        and activity.count <= COUNT_MAX
        and activity.duration_ms <= DURATION_MS_MAX
    )
