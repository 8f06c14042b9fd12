"""From the admitted scope to the pins that are searched, and from hits to what is gathered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from chancery.events.authority import Mode
from chancery.events.run import GatheredMeasure, GatheredPassage
from chancery.evidence.context import CONTEXT_PARTS_MAX
from chancery.evidence.parts import part_id
from chancery.evidence.scope import Scope
from chancery.evidence.terms import terms
from chancery.retrieval.domain.entries import EntryKind, Pin, RevisionRef

PASSAGES_MAX = 20
"""Passages that a run gathers at most."""

MEASURES_MAX = 10
"""Measure cards that a run gathers at most."""

PASSAGES_OF_SOURCE_MAX = 8
"""Passages of one source while others have any, so that a long document does not crowd them out."""

HITS_MAX = 200
"""Hits that are looked at to fill the passages within the bounds."""


TERMS_MAX = 200
"""Distinct terms of a question that are counted at most."""


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """A found entry; `pin` is the number of its pin, `name` the measure's."""

    pin: int
    ordinal: int
    start: int
    end: int
    name: str = ""


_Ranked: TypeAlias = tuple[int, Pin, Hit]


def searched_kinds(mode: Mode) -> tuple[EntryKind, ...]:
    """Return what a run of `mode` searches."""
    match mode:
        case "auto":
            return ("passage", "measure")
        case "rag" | "rlm":
            return ("passage",)
        case "data":
            return ("measure",)


def counted_terms(question: str) -> tuple[str, ...]:
    """Return the distinct terms of a question in order, the ones that its reader counts by."""
    return tuple(dict.fromkeys(terms(question)))[:TERMS_MAX]


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


def gather_passages(
    hits: Sequence[Hit], pins: Mapping[int, Pin], sources_max: int
) -> tuple[GatheredPassage, ...]:
    """Return the best passages of at most `sources_max` distinct documents, best first.

    Their parts, which are what is supplied, fit in the bound on the context of a request. A hit
    outside `pins` is dropped: the filter of the engine is not what keeps a scope.
    """
    ranked = [
        (rank, pins[hit.pin], hit)
        for rank, hit in enumerate(hits)
        if hit.pin in pins and pins[hit.pin].ref.kind != "dataset"
    ]
    sources = tuple(dict.fromkeys(pin.ref.key for _, pin, _ in ranked))[:sources_max]
    eligible = [one for one in ranked if one[1].ref.key in sources]
    first, rest = _spread(eligible)
    chosen = sorted([*first, *rest][:PASSAGES_MAX], key=lambda one: one[0])
    return tuple(_passage(pin, hit) for _, pin, hit in _fitting(chosen))


def hidden_measures(scope: Scope) -> frozenset[tuple[str, str]]:
    """Return the keys and names of the measures that the caller may not know of."""
    return frozenset((entry.key, name) for entry in scope.entries for name in entry.hidden_measures)


def gather_measures(
    hits: Sequence[Hit],
    pins: Mapping[int, Pin],
    hidden: Collection[tuple[str, str]] = (),
) -> tuple[GatheredMeasure, ...]:
    """Return the best measure cards of the admitted datasets, best first; none that is hidden."""
    found = (
        GatheredMeasure(
            key=pin.ref.key,
            snapshot=pin.ref.revision,
            name=hit.name,
            manifest_sha256=pin.manifest_sha256,
        )
        for hit in hits
        if (pin := pins.get(hit.pin)) is not None
        and pin.ref.kind == "dataset"
        and (pin.ref.key, hit.name) not in hidden
    )
    return tuple(found)[:MEASURES_MAX]


def _spread(ranked: Sequence[_Ranked]) -> tuple[list[_Ranked], list[_Ranked]]:
    """Return the hits within the bound on one source, and those beyond it, both in order."""
    counts: Counter[str] = Counter()
    within: list[_Ranked] = []
    beyond: list[_Ranked] = []
    for one in ranked:
        counts[one[1].ref.key] += 1
        fits = counts[one[1].ref.key] <= PASSAGES_OF_SOURCE_MAX
        (within if fits else beyond).append(one)
    return within, beyond


def _fitting(ranked: Sequence[_Ranked]) -> list[_Ranked]:
    """Return the hits in the first parts that are named, as many parts as a context may have."""
    places = dict.fromkeys((pin.ref.key, hit.ordinal) for _, pin, hit in ranked)
    supplied = frozenset(tuple(places)[:CONTEXT_PARTS_MAX])
    return [one for one in ranked if (one[1].ref.key, one[2].ordinal) in supplied]


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
