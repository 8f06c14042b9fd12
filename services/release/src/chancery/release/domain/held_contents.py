"""The deciphered content of a release that no hash of its receipt is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import TypeAdapter, ValidationError

from chancery.evidence.documents import receipt_handle
from chancery.evidence.receipt import Execution, Receipt, result_references
from chancery.evidence.salts import derive_salts
from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import Corrupt

_EXECUTIONS: Final = TypeAdapter(tuple[Execution, ...])
_LISTS: Final = ("statements", "citations", "cards")


def wrong_contents(
    found: Mapping[str, bytes], seed: bytes, receipt: Receipt, frame: int
) -> Iterator[str]:
    """Yield the kinds of content that do not say what the receipt and the hashed kinds say."""
    try:
        if "executions" in found and not _were_executed(found["executions"], seed, receipt):
            yield "executions"
        if "document" in found and not _is_document(found, receipt):
            yield "document"
        if "frame" in found and "document" in found and not _is_frame(found, frame):
            yield "frame"
    except (Corrupt, ValidationError):
        yield "document"


def _were_executed(content: bytes, seed: bytes, receipt: Receipt) -> bool:
    executed, results = _EXECUTIONS.validate_json(content), receipt.core.results
    if len(executed) != len(results):
        return False
    return result_references(executed, derive_salts(seed, len(executed))) == results


def _is_document(found: Mapping[str, bytes], receipt: Receipt) -> bool:
    """Tell whether a document has what it must; older ones have fewer fields beside that."""
    document, core = parse_json(found["document"]), receipt.core
    if not isinstance(document, dict):
        return False
    expected: dict[str, Json] = {
        "run_id": core.run_id,
        "generation": core.generation,
        "status": core.status,
        "receipt": dict(receipt_handle(receipt)),
    }
    if core.outcome is not None:
        expected["outcome"] = core.outcome
    if "text" in found:
        text = found["text"].decode()
        expected["text" if core.outcome is None else "explanation"] = text
    if core.outcome is None:
        expected |= {each: parse_json(found[each]) for each in _LISTS if each in found}
    return all(name in document and document[name] == value for name, value in expected.items())


def _is_frame(found: Mapping[str, bytes], number: int) -> bool:
    document, frame = parse_json(found["document"]), parse_json(found["frame"])
    return isinstance(document, dict) and frame == {**document, "sequence": number}
