"""When it is worth making a lost form again: not each minute, where it came to nothing before."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from chancery.indexing.domain.standing import Form

FORMS_MAX = 10_000
"""How many are remembered; of more the oldest are tried again earlier than they need to be."""

WAIT_ROUNDS_MAX = 1024
"""The longest wait between two tries: most of a day, with a round each minute."""


@dataclass(slots=True)
class Tries:
    """What one process knows of tries that were in vain; it begins with nothing, so all are due.

    A form is remembered as made by one extractor: another extractor's is another form.
    """

    forms_max: int = FORMS_MAX
    _round: int = 0
    _known: dict[Form, tuple[int, float]] = field(default_factory=dict[Form, tuple[int, float]])

    def begin_round(self) -> None:
        """Count a round."""
        self._round += 1

    def is_due(self, form: Form) -> bool:
        """Tell whether making the form again is worth it in this round."""
        _, due = self._known.get(form, (0, 0))
        return self._round >= due

    def put_off(self, form: Form) -> None:
        """Wait after a try that failed, twice as long each time."""
        waited, _ = self._known.get(form, (0, 0))
        wait = min(max(1, 2 * waited), WAIT_ROUNDS_MAX)
        self._remember(form, wait, self._round + wait + 1)

    def give_up(self, form: Form) -> None:
        """Try it no more: the same bytes and the same extractor give something else."""
        self._remember(form, 0, inf)

    def forget(self, form: Form) -> None:
        """Begin anew with a form that is there."""
        self._known.pop(form, None)

    def _remember(self, form: Form, waited: int, due: float) -> None:
        self.forget(form)
        self._known[form] = (waited, due)
        if len(self._known) > self.forms_max:
            del self._known[next(iter(self._known))]
