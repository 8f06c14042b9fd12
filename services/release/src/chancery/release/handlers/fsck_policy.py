"""What policy let a principal see of a dataset at a cut, folded again from the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from chancery.authority.access import ColumnView, column_view, role_in
from chancery.authority.evolve import Folded, fold
from chancery.authority.names import AggregateRef, principal_ref
from chancery.authority.states import DatasetState, PrincipalState, State
from chancery.events.codec import decode
from chancery.events.topology import AUTHORITY
from chancery.evidence.receipt import ReadEntry, Receipt
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Corrupt
from chancery.release.errors import ResultFault
from chancery.release.handlers.fsck_subjects import ReadOnce

STATES_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class SeenThen:
    """A dataset as the log has it at a cut, and what the asker did not see of it."""

    dataset: DatasetState
    view: ColumnView


@dataclass(frozen=True, slots=True)
class PolicyThen:
    """Folds what a receipt's read set names, each aggregate up to the event that it names."""

    subjects: ReadOnce
    _states: dict[tuple[str, AggregateRef, str], State] = field(
        default_factory=dict[tuple[str, AggregateRef, str], State]
    )

    async def seen(self, receipt: Receipt, key: str) -> SeenThen:
        """Return what the asker of a release could see of the dataset `key` at its cut.

        Raises:
            ResultFault: the log does not hold what the read set names, or gives no such access.
        """
        core = receipt.core
        dataset = await self._state(receipt, AggregateRef("dataset", key))
        principal = await self._state(receipt, principal_ref(core.principal))
        if not (isinstance(dataset, DatasetState) and isinstance(principal, PrincipalState)):
            raise _fault()
        role = role_in(principal, dataset.workspace_id)
        if role is None:
            raise _fault()
        return SeenThen(dataset, column_view(dataset, role))

    async def _state(self, receipt: Receipt, ref: AggregateRef) -> State:
        entry = next((each for each in receipt.read_set if (each.kind, each.id) == ref), None)
        if entry is None or entry.payload_sha256 is None:
            raise _fault()
        place = (receipt.core.tenant, ref, entry.payload_sha256)
        found = self._states.get(place)
        if found is None:
            found = await self._folded(receipt.core.tenant, ref, entry)
            if len(self._states) >= STATES_MAX:
                self._states.clear()
            self._states[place] = found
        return found

    async def _folded(self, tenant: str, ref: AggregateRef, entry: ReadEntry) -> State:
        folded, last_sha256 = Folded(), ""
        async for stored in self.subjects.subject(AUTHORITY, ref.subject(tenant)):
            if stored.sequence > entry.sequence:
                break
            try:
                data = decode(stored.payload).data
                folded = fold(ref.kind, folded, stored.sequence, data)
            except Corrupt as error:
                raise _fault() from error
            last_sha256 = sha256_hex(stored.payload)
        is_named = (folded.sequence, last_sha256) == (entry.sequence, entry.payload_sha256)
        if folded.state is None or not is_named:
            raise _fault()
        return folded.state


def _fault() -> ResultFault:
    return ResultFault("result_differs", differs="policy")
