"""Examples of every event: written once, never edited, readable for ever.

An example is the bytes of a message as they cross the wire.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from chancery.events.codec import MODELS, UndecodableEvent, decode, encode
from chancery.events.envelope import SIZE_BYTES_MAX, EventData
from chancery.events.topology import TOPICS
from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.testkit.contracts.files import Files
from chancery.testkit.contracts.samples import MOMENT, WIDEST, Sampler
from chancery.testkit.contracts.schemas import event_schema, short_name

FOLDER: Final = "examples"
_ANY: Final = TypeAdapter(object)
_PRODUCERS: Final = {topic.type: topic.producer for topic in TOPICS}


def examples() -> Files:
    """Return the smallest and the largest example of every type, by path below contracts/."""
    made: dict[str, bytes] = {}
    for name, model in sorted(MODELS.items()):
        folder = f"{FOLDER}/{short_name(name)}"
        made[f"{folder}/minimal.json"] = smallest(model)
        made[f"{folder}/largest.json"] = largest(model)
    return made


def smallest(model: type[EventData]) -> bytes:
    """Return an event with only what its type requires."""
    schema = event_schema(model)
    event = _sample(schema, 0, "a")
    named = {
        "id": "e1",
        "source": f"/chancery/{_PRODUCERS[model.TYPE]}",
        "subject": "s1",
        "tenant": "default",
        "time": MOMENT,
    }
    return canonical_bytes({**event, **named, "specversion": "1.0"})


def largest(model: type[EventData], character: str = WIDEST) -> bytes:
    """Return the largest event of its type that the model takes, whatever its size.

    A model with a bound on a sum takes no event in which every single bound is reached: the lengths
    are then the largest percentage of their bounds that it does take.
    """
    schema = event_schema(model)
    whole = _sample(schema, 100, character)
    if _takes(model, whole["data"]):
        return canonical_bytes(whole)
    low, high = 1, 100
    while high - low > 1:
        middle = (low + high) // 2
        if _takes(model, _sample(schema, middle, character)["data"]):
            low = middle
        else:
            high = middle
    return canonical_bytes(_sample(schema, low, character))


def read(contracts: Path) -> Files:
    """Return the examples that are there, those of types that are no more included."""
    found = sorted((contracts / FOLDER).rglob("*.json"))
    return {path.relative_to(contracts).as_posix(): path.read_bytes() for path in found}


def add(contracts: Path, made: Files) -> None:
    """Write the examples that are missing; one that is there stays as it is."""
    for name, content in made.items():
        path = contracts / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def problems(there: Files, made: Files) -> Iterator[str]:
    """Return one sentence for each example that is missing or is not read as it was written."""
    for name in sorted(made.keys() - there.keys()):
        yield f"{name} is missing: run `make contracts`"
    for name, content in sorted(there.items()):
        reason = unreadable(content)
        if reason is not None:
            yield f"{name}: {reason}"


def unreadable(content: bytes) -> str | None:
    """Return why an example is not read as it was written, None when it is.

    Fields that were added since may appear with their defaults; what was there must stay.
    """
    if len(content) >= SIZE_BYTES_MAX:
        return "the example is not smaller than 256 KiB"
    try:
        again = encode(decode(content))
    except UndecodableEvent as error:
        return f"the example does not decode any more ({error.code}: {error.detail})"
    written, read_back = parse_json(content), parse_json(again)
    if _type_of(written) == _type_of(read_back) and not _holds(read_back, written):
        return "the example decodes to something else than was written"
    return None


def _sample(schema: Mapping[str, Json], percent: int, character: str) -> dict[str, Json]:
    definitions = schema.get("$defs", {})
    assert isinstance(definitions, Mapping)
    event = Sampler(definitions, percent, character).value(schema)
    assert isinstance(event, dict)
    return event


def _takes(model: type[EventData], data: Json) -> bool:
    try:
        model.model_validate_json(_ANY.dump_json(data))
    except ValidationError:
        return False
    return True


def _type_of(event: Json) -> Json:
    return event.get("type") if isinstance(event, Mapping) else None


def _holds(whole: Json, part: Json) -> bool:
    """Tell whether `whole` says all that `part` says: objects may have more fields."""
    match whole, part:
        case Mapping(), Mapping():
            return all(key in whole and _holds(whole[key], part[key]) for key in part)
        case list(), list():
            pairs = zip(whole, part, strict=False)
            return len(whole) == len(part) and all(_holds(*pair) for pair in pairs)
        case _:
            return whole == part and type(whole) is type(part)
