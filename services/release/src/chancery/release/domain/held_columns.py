"""The columns of a release and of its rows against what its receipt says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from chancery.authority.names import AggregateRef
from chancery.authority.release import CorpusPin, ReleaseRequest, read_set
from chancery.evidence.answer import card_id, citation_id
from chancery.evidence.citations import Citation
from chancery.evidence.documents import reset_context_of
from chancery.evidence.receipt import Receipt, ReceiptCore
from chancery.kernel.errors import ChanceryError

CLOCK: Final = timedelta(minutes=1)
"""How far the clock of the database may step back."""

SEALED_WITHIN: Final = timedelta(hours=1)
"""How long a decision may wait for its commit: far longer than a run may take."""

Row = tuple[object, ...]

_REQUEST: Final = TypeAdapter(ReleaseRequest)
_CITATIONS: Final = TypeAdapter(tuple[Citation, ...])

_OF_RECEIPT: Final[Mapping[str, Callable[[Receipt], object]]] = {
    "outcome": lambda receipt: receipt.core.outcome,
    "workspace_id": lambda receipt: receipt.core.workspace_id,
    "principal": lambda receipt: receipt.core.principal,
    "language": lambda receipt: receipt.core.language,
    "decided_at": lambda receipt: receipt.decided_at,
    "reset_context": lambda receipt: reset_context_of(receipt.core),
}


def wrong_columns(head: Mapping[str, Any], receipt: Receipt) -> Iterator[str]:
    """Yield the columns of a release that are not what its receipt says."""
    for column, of in _OF_RECEIPT.items():
        if head[column] != of(receipt):
            yield column
    if not _is_of(head["request"], receipt):
        yield "request"
    decided = receipt.decided_at
    if not decided - CLOCK <= head["sealed_at"] <= decided + SEALED_WITHIN:
        yield "sealed_at"


def request_of(value: object) -> ReleaseRequest | None:
    """Return a stored request, None when it has not its form."""
    try:
        return _REQUEST.validate_python(value)
    except ValidationError:
        return None


def _is_of(value: object, receipt: Receipt) -> bool:
    request, core = request_of(value), receipt.core
    if request is None:
        return False
    corpus = core.corpus
    said = (
        request.tenant,
        request.principal_id,
        request.owner_id,
        request.credential_id,
        request.workspace_id,
        request.policy_revision,
        request.policy_sha256,
        request.corpus,
    )
    named = (
        core.tenant,
        core.principal,
        core.principal,
        core.credential_id,
        core.workspace_id,
        core.policy_revision,
        core.policy_sha256,
        None if corpus is None else CorpusPin(corpus.key, corpus.declaration_sha256),
    )
    # What is not supported is refused under a mode of the policy.
    is_of_mode = core.mode in {request.mode, "rlm"}
    return said == named and is_of_mode and _rests_on(request, receipt)


def _rests_on(request: ReleaseRequest, receipt: Receipt) -> bool:
    pinned = {(each.kind, each.key, each.revision) for each in request.pinned}
    used = {(each.name[0], each.key, each.revision) for each in receipt.core.references}
    if not used <= pinned:
        return False
    if receipt.cut is None:
        return True
    try:
        decided_on = read_set(request)
    except ChanceryError:
        return False
    return set(decided_on) == {AggregateRef(each.kind, each.id) for each in receipt.read_set}


def are_cited(rows: Sequence[Row], core: ReceiptCore, content: bytes | None) -> bool:
    """Tell whether the rows of citations are those of the receipt, and of the `content` if open."""
    values = {each.fact_id for each in core.values}
    facts = [
        (number, citation_id(fact), "value" if fact in values else "quote")
        for number, fact in enumerate(core.fact_ids, 1)
    ]
    if [row[:3] for row in rows] != facts:
        return False
    keys = {used.name: used.key for used in core.references}
    if content is None:
        known = {(name[0], key, name[2]) for name, key in keys.items()}
        return known.issuperset(row[3:] for row in rows)
    try:
        cited = [each.document for each in _CITATIONS.validate_json(content)]
    except ValidationError:
        return False
    return [row[3:] for row in rows] == [(each[0], keys.get(each), each[2]) for each in cited]


def are_carded(rows: Sequence[Row], core: ReceiptCore) -> bool:
    """Tell whether the rows of cards are those of the receipt."""
    cited = [citation_id(fact) for fact in core.fact_ids]
    return list(rows) == [(number, card_id(each), each) for number, each in enumerate(cited, 1)]
