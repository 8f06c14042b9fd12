"""When the tests happen."""

from __future__ import annotations

from datetime import UTC, datetime

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
