"""What can go wrong while evidence is selected."""

from __future__ import annotations

from chancery.kernel.errors import Corrupt, Unavailable


class NotAdmitted(Unavailable):
    """The run's admission cannot be read yet; without it nothing may be selected."""

    code = "not_admitted"


class UnreadableMaterial(Corrupt):
    """A blob of the run has its hash but not its form."""

    code = "unreadable_material"
