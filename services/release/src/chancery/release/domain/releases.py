"""A sealed or refused run as it stands in the record, and how its content is opened."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chancery.attest.sealing import Place, ReleaseKey, unseal
from chancery.authority.release import ReleaseRequest
from chancery.events.authority import Language
from chancery.events.release import Outcome
from chancery.evidence.receipt import Receipt
from chancery.release.errors import SealedRowDamaged


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One sealed or refused run; `keys` is None after its content was erased.

    `document` is the ciphertext of its document, where that was read along with it.
    """

    tenant: str
    release_id: str
    run_id: str
    generation: int
    outcome: Outcome | None
    workspace_id: str
    principal: str
    cut_sequence: int
    decided_at: datetime
    language: Language
    request: ReleaseRequest
    receipt_sha256: str
    receipt: bytes
    public_key: bytes
    signature: bytes
    keys: ReleaseKey | None
    document: bytes | None = None

    def parsed_receipt(self) -> Receipt:
        """Return the receipt; its stored bytes have the hash that was signed.

        Raises:
            SealedRowDamaged: they have another one.
        """
        receipt = Receipt.from_bytes(self.receipt)
        if receipt.sha256 != self.receipt_sha256:
            message = "a stored receipt does not have the hash that was signed"
            raise SealedRowDamaged(message)
        return receipt


def unsealed(release: Release, kind: str, number: int, ciphertext: bytes) -> bytes:
    """Return the bytes of one content row.

    Raises:
        SealedRowDamaged: the keys were erased.
        SealBroken: it was altered or moved.
    """
    if release.keys is None:
        message = "the keys of this release were erased"
        raise SealedRowDamaged(message, code="content_erased")
    place = Place(release.tenant, release.release_id, kind, number)
    return unseal(release.keys, place, ciphertext)
