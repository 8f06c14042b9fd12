"""A release with everything that belongs to it, as rows hold it, checked against its receipt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from chancery.attest.sealing import Place, ReleaseKey, SealBroken, unseal
from chancery.attest.signing import InvalidKey, is_signed
from chancery.evidence.receipt import Receipt
from chancery.evidence.salts import derive_salts
from chancery.kernel.canonical import salted_hash, sha256_hex
from chancery.kernel.errors import Corrupt
from chancery.release.domain.held_columns import (
    Row,
    are_carded,
    are_cited,
    request_of,
    wrong_columns,
)
from chancery.release.domain.held_contents import wrong_contents
from chancery.release.domain.held_run import HeldRun, is_as_asked, wrong_of_run

KINDS: Final = ("text", "statements", "citations", "cards", "executions", "document", "frame")
_FRAME: Final = "frame"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedReceipt:
    """A receipt row."""

    sha256: str
    body: bytes
    public_key: bytes
    signature: bytes


class Flaw(NamedTuple):
    """What is wrong with a release, by code, and in which columns or kinds of content."""

    code: str
    parts: tuple[str, ...] = ()


class FrameRow(NamedTuple):
    """An event row of a release, and the row of the end behind it as far as there is one."""

    number: int
    generation: int
    event: str
    body: object
    end: tuple[int, str, object] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRelease:
    """The head of a release and its rows.

    `head` is the whole row; `cited` and `carded` are rows in their order without the names of their
    release; `frames` are its event rows. `run` is None without a row that can be read.
    """

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
    head: Mapping[str, Any]
    cited: tuple[Row, ...]
    carded: tuple[Row, ...]
    run: HeldRun | None
    read_set: frozenset[tuple[str, str, int]]
    contents: Mapping[tuple[str, int], bytes]
    frames: tuple[FrameRow, ...]
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


def check_held(held: HeldRelease, receipt: Receipt | None) -> Iterator[Flaw]:
    """Yield what is wrong with a release; `receipt` is what `read_receipt` gives."""
    if held.receipt is None:
        yield Flaw("receipt_missing")
    elif receipt is None:
        yield Flaw("receipt_damaged")
    else:
        yield from _check_signature(held.receipt)
        found, flaws = _opened(held)
        yield from flaws
        yield from _check_children(held, receipt, found.get("citations"))
        yield from _check_frames(held)
        yield from _check_contents(held, receipt, found)
        yield from _check_run(held, receipt)


def _check_signature(receipt: SignedReceipt) -> Iterator[Flaw]:
    try:
        is_valid = is_signed(receipt.public_key, receipt.sha256, receipt.signature)
    except InvalidKey:
        is_valid = False
    if not is_valid:
        yield Flaw("signature_invalid")


def _check_children(held: HeldRelease, receipt: Receipt, citations: bytes | None) -> Iterator[Flaw]:
    core = receipt.core
    head = (held.tenant, held.release_id, held.run_id, held.generation, held.cut_sequence)
    named = (core.tenant, core.release_id, core.run_id, core.generation, receipt.cut_sequence)
    if (head, held.kind) != (named, core.status):
        yield Flaw("receipt_foreign")
    wrong = tuple(wrong_columns(held.head, receipt))
    if wrong:
        yield Flaw("release_differs", wrong)
    if held.citation_count != core.citation_count or not are_cited(held.cited, core, citations):
        yield Flaw("citations_differ")
    if held.card_count != core.card_count or not are_carded(held.carded, core):
        yield Flaw("cards_differ")
    read = frozenset((each.kind, each.id, each.sequence) for each in receipt.read_set)
    if held.read_set != read:
        yield Flaw("read_set_differs")


def _check_frames(held: HeldRelease) -> Iterator[Flaw]:
    frames = {number for kind, number in held.contents if kind == _FRAME}
    told = {each.number for each in held.frames}
    if not held.frames or (frames and told != frames):
        yield Flaw("event_row_missing")
        return
    nothing: Mapping[str, object] = {}
    end = (held.generation, "end", nothing)
    expected = (held.generation, held.kind, None, end)
    if any((each.generation, each.event, each.body, each.end) != expected for each in held.frames):
        yield Flaw("event_row_differs")


def _opened(held: HeldRelease) -> tuple[dict[str, bytes], list[Flaw]]:
    """Return the content by kind, as far as it opens."""
    found: dict[str, bytes] = {}
    flaws = [] if _has_all(held) else [Flaw("content_missing")]
    if held.keys is None:
        return found, flaws
    for (kind, number), ciphertext in held.contents.items():
        place = Place(held.tenant, held.release_id, kind, number)
        try:
            found[kind] = unseal(held.keys, place, ciphertext)
        except SealBroken:
            flaws.append(Flaw("content_damaged"))
    return found, flaws


def _has_all(held: HeldRelease) -> bool:
    return sorted(kind for kind, _ in held.contents) == sorted(KINDS)


def _check_contents(
    held: HeldRelease, receipt: Receipt, found: Mapping[str, bytes]
) -> Iterator[Flaw]:
    if held.keys is None:
        return
    salts, core = derive_salts(held.keys.salt, 0), receipt.core
    expected = {
        "text": (salts.text, core.text_sha256),
        "statements": (salts.statements, core.statements_sha256),
        "citations": (salts.citations, core.citations_sha256),
        "cards": (salts.cards, core.cards_sha256),
    }
    wrong = tuple(
        kind
        for kind, (salt, sha256) in expected.items()
        if kind in found and salted_hash(salt, found[kind]) != sha256
    )
    if not wrong:
        number = next((number for kind, number in held.contents if kind == _FRAME), 0)
        wrong = tuple(wrong_contents(found, held.keys.salt, receipt, number))
    if wrong:
        yield Flaw("content_differs", wrong)


def _check_run(held: HeldRelease, receipt: Receipt) -> Iterator[Flaw]:
    if held.run is None:
        yield Flaw("run_missing")
        return
    wrong = wrong_of_run(
        held.run,
        receipt.core,
        sealed_at=held.head["sealed_at"],
        request=request_of(held.head["request"]),
        seed=None if held.keys is None else held.keys.salt,
    )
    known = {"events"} if not held.frames else set[str]()
    columns = tuple(each for each in dict.fromkeys(wrong) if each not in known)
    if columns:
        yield Flaw("run_differs", columns)
    elif not is_as_asked(held.run):
        yield Flaw("message_differs")
