"""The order of hits tells of the scope alone, whatever else the tenant's index holds or held."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tantivy import Occur, Query, Schema

from chancery.retrieval.adapters.documents import TEXT
from chancery.retrieval.adapters.tenant_index import TenantIndex
from chancery.retrieval.adapters.words import question_words
from chancery.retrieval.domain.entries import Entry, Pin, RevisionRef
from chancery.retrieval.domain.gathering import Hit

pytestmark = pytest.mark.integration

_WORDS = tuple(f"{first}{second}" for first in ("ba", "ke", "lo", "mi", "ra", "tu") for second in
               ("dan", "fel", "gor", "him", "jus", "kep", "lon", "mur"))  # fmt: skip
_SEEDS = range(6)


@dataclass(frozen=True, slots=True)
class _Source:
    pin: Pin
    entries: tuple[Entry, ...]


def _source(key: str, texts: Iterable[str]) -> _Source:
    pin = Pin(RevisionRef("source", key, 1), "a" * 64, "b" * 64)
    entries: list[Entry] = []
    for text in texts:
        start = entries[-1].end if entries else 0
        entries.append(Entry("passage", text, 1, start, start + len(text)))
    return _Source(pin, tuple(entries))


def _drawn(draw: random.Random, key: str, words: Sequence[str]) -> _Source:
    lengths = [draw.randint(3, 30) for _ in range(draw.randint(1, 5))]
    return _source(key, (" ".join(draw.choices(words, k=length)) for length in lengths))


def _index(folder: Path, sources: Iterable[_Source]) -> TenantIndex:
    index = TenantIndex.open("acme", folder)
    for position, source in enumerate(sources, start=1):
        index.replace(source.pin.ref, source.pin, source.entries)
        index.commit(position)
    return index


def _among_others(folder: Path, draw: random.Random, mine: Sequence[_Source]) -> TenantIndex:
    """Index `mine` in another order between sources of others, of which some go again."""
    few = draw.sample(_WORDS, 12)
    others = [_drawn(draw, f"other-{number}", few) for number in range(25)]
    mixed = [*mine, *others]
    draw.shuffle(mixed)
    index = _index(folder, mixed)
    for source in others[:8]:
        index.replace(source.pin.ref, None, ())
    index.commit(1000)
    return index


def _questions(draw: random.Random) -> list[str]:
    return [" ".join(draw.choices(_WORDS, k=draw.choice((1, 2, 3, 6, 12, 25)))) for _ in range(40)]


def _found(index: TenantIndex, question: str, mine: Sequence[_Source], limit: int) -> list[Hit]:
    pins = [source.pin.number for source in mine]
    return list(index.within(pins).search(question, kind="passage", limit=limit))


def _by_the_engine(index: TenantIndex, question: str, mine: Sequence[_Source]) -> list[Hit]:
    """Return what the engine's own ranking, with its statistics of the index, finds."""
    schema: Schema = index.index.schema
    words = [
        (Occur.Should, Query.term_query(schema, TEXT, word.term, "basic"))
        for word in question_words(question)
    ]
    slots = [index.slots[source.pin.number] for source in mine]
    scope = (Occur.Must, Query.const_score_query(Query.term_set_query(schema, "slot", slots), 0.0))
    query = Query.boolean_query([scope, (Occur.Must, Query.boolean_query(words))])
    found = [address for _, address in index.searcher.search(query, 50).hits]
    pin, ordinal, start, end = (
        [int(value or 0) for value in index.searcher.fast_field_values(name, found)]
        for name in ("pin", "ordinal", "start", "end")
    )
    return [Hit(*place) for place in zip(pin, ordinal, start, end, strict=True)]


@pytest.mark.req("CL-12", "KO-9")
@pytest.mark.parametrize("seed", _SEEDS)
def test_nothing_outside_the_scope_moves_a_hit(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    mine = [_drawn(draw, f"mine-{number}", _WORDS) for number in range(8)]
    alone = _index(tmp_path / "alone", mine)
    crowded = _among_others(tmp_path / "crowded", draw, mine)

    questions = _questions(draw)
    differing = [
        (question, limit)
        for question in questions
        for limit in (1, 3, 50)
        if _found(alone, question, mine, limit) != _found(crowded, question, mine, limit)
    ]

    assert differing == []
    assert all(_found(alone, question, mine, 50) for question in questions if " " in question)
    # The same data in the same indexes: the engine's own order does tell of the others.
    assert any(
        _by_the_engine(alone, question, mine) != _by_the_engine(crowded, question, mine)
        for question in questions
    )


@pytest.mark.req("CL-12", "KO-9")
@pytest.mark.parametrize("seed", _SEEDS)
def test_two_files_of_ones_own_do_not_tell_which_word_another_has(
    tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    secret, control = draw.sample(_WORDS, 2)
    mine = [_source("one", [f"The {secret} report."]), _source("two", [f"The {control} report."])]
    theirs = _source("private", [f"The {secret} of the board."] * 3)
    without = _index(tmp_path / "without", mine)
    beside = _index(tmp_path / "beside", [theirs, *mine])

    question = f"{secret} {control}"

    assert _found(beside, question, mine, 10) == _found(without, question, mine, 10)
    assert len(_found(beside, question, mine, 10)) == 2
    told = _by_the_engine(beside, question, mine)
    assert told[0].pin == mine[1].pin.number


@pytest.mark.req("CL-12")
def test_the_rarer_word_of_the_scope_leads_and_a_second_word_helps(tmp_path: Path) -> None:
    common = [_source(f"common-{number}", ["weekly budget meeting"]) for number in range(5)]
    rare, both = _source("rare", ["the turbine"]), _source("both", ["turbine budget"])
    index = _index(tmp_path, [*common, rare, both])

    found = _found(index, "turbine budget", [*common, rare, both], 50)

    assert [hit.pin for hit in found[:2]] == [both.pin.number, rare.pin.number]
    assert [hit.pin for hit in found[2:]] == sorted(one.pin.number for one in common)


@pytest.mark.req("CR-27")
def test_a_measure_that_is_hidden_has_no_part_in_the_order_of_the_others(tmp_path: Path) -> None:
    pin = Pin(RevisionRef("dataset", "orders", 1), "a" * 64, "b" * 64)
    shown = [
        Entry("measure", "revenue by region", 1, name="revenue"),
        Entry("measure", "margin by month", 2, name="margin"),
    ]
    secret = [Entry("measure", f"revenue {n}", 3 + n, name=f"secret-{n}") for n in range(4)]
    hidden = [(pin.number, entry.name) for entry in secret]
    alone, whole = TenantIndex.open("a", tmp_path / "a"), TenantIndex.open("b", tmp_path / "b")
    for index, entries in ((alone, shown), (whole, [*shown, *secret])):
        index.replace(pin.ref, pin, entries)
        index.commit(1)

    def names(index: TenantIndex, hidden: Sequence[tuple[int, str]]) -> list[str]:
        scope = index.within([pin.number], hidden)
        found = scope.search("revenue margin", kind="measure", limit=10)
        return [hit.name for hit in found]

    assert names(whole, hidden) == names(alone, ()) == ["revenue", "margin"]
    assert names(whole, ())[0] == "margin"


@pytest.mark.req("CL-12")
def test_a_passage_that_says_the_word_again_leads(tmp_path: Path) -> None:
    once = [_source(f"once-{number}", ["the turbine stands still"]) for number in range(5)]
    again = _source("again", ["the turbine and the other turbine"])
    index = _index(tmp_path, [*once, again])

    found = _found(index, "turbine", [*once, again], 3)

    assert found[0].pin == again.pin.number
    assert [hit.pin for hit in found[1:]] == sorted(one.pin.number for one in once)[:2]


@pytest.mark.req("CL-12")
def test_a_question_of_many_words_finds_the_passages_with_most_of_them(tmp_path: Path) -> None:
    words = [f"{word}{letter}" for word in _WORDS for letter in "xy"]
    sources = [_source(f"with-{count}", [" ".join(words[:count])]) for count in (90, 3, 60, 30)]
    index = _index(tmp_path, sources)

    found = _found(index, " ".join(words), sources, 50)

    by_count = [sources[0], sources[2], sources[3], sources[1]]
    assert [hit.pin for hit in found] == [source.pin.number for source in by_count]


@pytest.mark.req("CL-12")
def test_stop_words_are_searched_only_where_there_are_no_others(tmp_path: Path) -> None:
    beside, asked = _source("beside", ["What is it about?"]), _source("asked", ["The turbine."])
    index = _index(tmp_path, [beside, asked])

    assert [hit.pin for hit in _found(index, "what is the turbine", [beside, asked], 9)] == [
        asked.pin.number
    ]
    assert [hit.pin for hit in _found(index, "what is it", [beside, asked], 9)] == [
        beside.pin.number
    ]
