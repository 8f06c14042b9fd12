"""From the admitted scope to the pins that are searched, and from hits to what is gathered."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from chancery.events.authority import Mode
from chancery.events.run import GatheredMeasure, GatheredPassage
from chancery.evidence.parts import part_id
from chancery.evidence.scope import Scope
from chancery.retrieval.domain.entries import EntryKind, Pin, RevisionRef

PASSAGES_MAX = 20
"""Passages that a run gathers at most."""

MEASURES_MAX = 10
"""Measure cards that a run gathers at most."""

HITS_MAX = 100
"""Hits that are looked at to fill the passages within the bound on sources."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A found entry; `pin` is the number of its pin, `name` the measure's."""

    pin: int
    ordinal: int
    start: int
    end: int
    name: str = ""


def searched_kinds(mode: Mode) -> tuple[EntryKind, ...]:
    """Return what a run of `mode` searches."""
    match mode:
        case "auto":
            return ("passage", "measure")
        case "rag" | "rlm":
            return ("passage",)
        case "data":
            return ("measure",)


def pins_of(scope: Scope) -> tuple[Pin, ...]:
    """Return the pins that may be searched: those that release admitted as extracted and ready."""
    return tuple(
        Pin(
            RevisionRef(entry.kind, entry.key, entry.revision),
            entry.extraction_sha256,
            entry.manifest_sha256,
        )
        for entry in scope.entries
        if entry.state == "ready"
        and entry.extraction_sha256 is not None
        and entry.manifest_sha256 is not None
    )


def unconfirmed(pins: Sequence[Pin], confirmed: Collection[int]) -> tuple[str, ...]:
    """Return the keys of the pins that the searched index does not hold, sorted."""
    return tuple(sorted(pin.ref.key for pin in pins if pin.number not in confirmed))


def gather_passages(
    hits: Sequence[Hit], pins: Mapping[int, Pin], sources_max: int
) -> tuple[GatheredPassage, ...]:
    """Return the best passages of at most `sources_max` distinct sources, best first.

    A hit outside `pins` is dropped: the filter of the engine is not what keeps a scope.
    """
    found: list[GatheredPassage] = []
    sources: set[str] = set()
    for hit in hits:
        pin = pins.get(hit.pin)
        if pin is None or pin.ref.kind != "source" or len(found) == PASSAGES_MAX:
            continue
        if pin.ref.key not in sources and len(sources) == sources_max:
            continue
        sources.add(pin.ref.key)
        found.append(_passage(pin, hit))
    return tuple(found)


def gather_measures(hits: Sequence[Hit], pins: Mapping[int, Pin]) -> tuple[GatheredMeasure, ...]:
    """Return the best measure cards of the admitted datasets, best first."""
    found = (
        GatheredMeasure(
            key=pin.ref.key,
            snapshot=pin.ref.revision,
            name=hit.name,
            manifest_sha256=pin.manifest_sha256,
        )
        for hit in hits
        if (pin := pins.get(hit.pin)) is not None and pin.ref.kind == "dataset"
    )
    return tuple(found)[:MEASURES_MAX]


def _passage(pin: Pin, hit: Hit) -> GatheredPassage:
    ref = pin.ref
    return GatheredPassage(
        key=ref.key,
        revision=ref.revision,
        part_id=part_id(ref.key, ref.revision, pin.extraction_sha256, hit.ordinal),
        start=hit.start,
        end=hit.end,
        extraction_sha256=pin.extraction_sha256,
    )
