"""A release with everything that belongs to it, as rows hold it, checked against its receipt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from chancery.attest.sealing import Place, ReleaseKey, SealBroken, unseal
from chancery.attest.signing import InvalidKey, is_signed
from chancery.evidence.receipt import Receipt
from chancery.evidence.salts import derive_salts
from chancery.kernel.canonical import salted_hash, sha256_hex
from chancery.kernel.errors import Corrupt

KINDS: Final = ("text", "statements", "citations", "cards", "executions", "document", "frame")
_FRAME: Final = "frame"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedReceipt:
    """A receipt row."""

    sha256: str
    body: bytes
    public_key: bytes
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRelease:
    """The head of a release and its rows; `frames` are the numbers of its event rows."""

    tenant: str
    release_id: str
    run_id: str
    generation: int
    kind: str
    cut_sequence: int
    citation_count: int
    card_count: int
    receipt: SignedReceipt | None
    keys: ReleaseKey | None
    citations: int
    cards: int
    read_set: frozenset[tuple[str, str, int]]
    contents: Mapping[tuple[str, int], bytes]
    frames: frozenset[int]
    is_waiting: bool

    @property
    def where(self) -> dict[str, str | int]:
        """Return the ids of the release."""
        return {"tenant": self.tenant, "release_id": self.release_id, "run_id": self.run_id}


def read_receipt(held: HeldRelease) -> Receipt | None:
    """Return the receipt, None when there is none that has its hash."""
    if held.receipt is None:
        return None
    try:
        receipt = Receipt.from_bytes(held.receipt.body)
    except Corrupt:
        return None
    is_whole = sha256_hex(held.receipt.body) == held.receipt.sha256 == receipt.sha256
    return receipt if is_whole else None


def check_held(held: HeldRelease, receipt: Receipt | None) -> Iterator[str]:
    """Return the codes of what is wrong with a release; `receipt` is what `read_receipt` gives."""
    if held.receipt is None:
        yield "receipt_missing"
    elif receipt is None:
        yield "receipt_damaged"
    else:
        yield from _check_signature(held.receipt)
        yield from _check_children(held, receipt)
        yield from _check_contents(held, receipt)


def _check_signature(receipt: SignedReceipt) -> Iterator[str]:
    try:
        is_valid = is_signed(receipt.public_key, receipt.sha256, receipt.signature)
    except InvalidKey:
        is_valid = False
    if not is_valid:
        yield "signature_invalid"


def _check_children(held: HeldRelease, receipt: Receipt) -> Iterator[str]:
    core = receipt.core
    head = (held.tenant, held.release_id, held.run_id, held.generation, held.cut_sequence)
    named = (core.tenant, core.release_id, core.run_id, core.generation, receipt.cut_sequence)
    if (head, held.kind) != (named, core.status):
        yield "receipt_foreign"
    if {held.citations, held.citation_count} != {core.citation_count}:
        yield "citations_differ"
    if {held.cards, held.card_count} != {core.card_count}:
        yield "cards_differ"
    read = frozenset((each.kind, each.id, each.sequence) for each in receipt.read_set)
    if held.read_set != read:
        yield "read_set_differs"


def _check_contents(held: HeldRelease, receipt: Receipt) -> Iterator[str]:
    frames = frozenset(number for kind, number in held.contents if kind == _FRAME)
    if not held.frames or (frames and held.frames != frames):
        yield "event_row_missing"
    if sorted(kind for kind, _ in held.contents) != sorted(KINDS):
        yield "content_missing"
    if held.keys is None:
        return
    found: dict[str, bytes] = {}
    for (kind, number), ciphertext in held.contents.items():
        place = Place(held.tenant, held.release_id, kind, number)
        try:
            found[kind] = unseal(held.keys, place, ciphertext)
        except SealBroken:
            yield "content_damaged"
    yield from _check_hashes(found, held.keys, receipt)


def _check_hashes(found: Mapping[str, bytes], keys: ReleaseKey, receipt: Receipt) -> Iterator[str]:
    salts, core = derive_salts(keys.salt, 0), receipt.core
    expected = {
        "text": (salts.text, core.text_sha256),
        "statements": (salts.statements, core.statements_sha256),
        "citations": (salts.citations, core.citations_sha256),
        "cards": (salts.cards, core.cards_sha256),
    }
    wrong = [
        kind
        for kind, (salt, sha256) in expected.items()
        if kind in found and salted_hash(salt, found[kind]) != sha256
    ]
    if wrong:
        yield "content_differs"
