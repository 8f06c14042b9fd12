"""The bounds of one extraction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

CELLS_MAX: Final = 250_000
"""The filled cells of a workbook that is read as a document."""

TEXT_CHARACTERS_MAX: Final = 16 * 1024 * 1024
"""The length of a canonical text: at most 64 MiB in UTF-8, which is what readers load."""

INFLATED_BYTES_MAX: Final = 256 * 1024 * 1024
INFLATED_ALWAYS_ALLOWED_BYTES: Final = 32 * 1024 * 1024
INFLATION_RATIO_MAX: Final = 100
"""A package may unpack to 32 MiB, or to 100 times its size and 256 MiB, whichever is less."""


DEADLINE_FACTOR: Final = 4
"""How much longer than its processor time a process may last: others need the processor too."""


BRIEF_CPU_S: Final = 1
"""The processor time that a document may take while others wait for its place."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the process of one extraction may use; `cpu_s` decides before `deadline_s` does."""

    cpu_s: int = 30
    deadline_s: float = DEADLINE_FACTOR * 30.0
    address_space_bytes: int = 2 * 1024 * 1024 * 1024
    reply_bytes_max: int = 160 * 1024 * 1024

    @property
    def brief(self) -> Limits:
        """Return these limits with no more time than others should wait."""
        cpu_s = min(self.cpu_s, BRIEF_CPU_S)
        return replace(self, cpu_s=cpu_s, deadline_s=min(self.deadline_s, DEADLINE_FACTOR * cpu_s))
