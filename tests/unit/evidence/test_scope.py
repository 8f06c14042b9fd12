"""The scope blob, the coverage of a run over it, and the words that rank evidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.events.queries import IndexState
from chancery.evidence.coverage import coverage
from chancery.evidence.record import Malformed
from chancery.evidence.scope import SCOPE_ENTRIES_MAX, Scope, ScopeEntry, build_scope
from chancery.evidence.terms import STOP_WORDS, idf_coverage, terms
from chancery.kernel.canonical import sha256_hex

DIGEST = sha256_hex(b"x")


def entry(key: str, state: IndexState = "ready", sequence: int = 5) -> ScopeEntry:
    ready = state == "ready"
    return ScopeEntry(
        kind="source",
        key=key,
        id=f"id-{key}",
        title="Title {0} “x”",
        revision=1,
        content_sha256=DIGEST,
        media_type="text/plain",
        extraction_sha256=DIGEST if ready else None,
        manifest_sha256=DIGEST if ready else None,
        state=state,
        index_sequence=sequence,
        row_filters=(("region", ("EU", 1, True)),),
    )


def test_a_scope_reads_back_from_its_bytes_in_one_order() -> None:
    scope = build_scope((entry("b"), entry("a")))

    assert [each.key for each in scope.entries] == ["a", "b"]
    assert Scope.from_bytes(scope.to_bytes()) == scope
    assert scope.sha256 == build_scope((entry("a"), entry("b"))).sha256
    assert scope.entry("source", "a") == entry("a")
    assert scope.entry("dataset", "a") is None


@pytest.mark.req("CL-9")
def test_1000_revisions_fit_and_1001_do_not() -> None:
    keys = [f"{number:04}" for number in range(SCOPE_ENTRIES_MAX + 1)]

    assert len(build_scope(tuple(entry(key) for key in keys[:-1])).entries) == 1000
    with pytest.raises(ValueError, match="entries"):
        build_scope(tuple(entry(key) for key in keys))


def test_a_scope_with_a_resource_twice_or_out_of_order_does_not_parse() -> None:
    scope = build_scope((entry("a"), entry("b")))
    data = scope.to_bytes()

    with pytest.raises(ValueError, match="once"):
        build_scope((entry("a"), entry("a")))
    with pytest.raises(Malformed):
        Scope.from_bytes(data.replace(b'"key":"b"', b'"key":"A"'))


@pytest.mark.req("CL-1", "CL-2")
@pytest.mark.parametrize(
    ("entries", "position", "unconfirmed", "state"),
    [
        ((), 0, (), "complete"),
        ((entry("a"),), 5, (), "complete"),
        ((entry("a"),), 4, (), "incomplete"),
        ((entry("a"),), 9, ("a",), "incomplete"),
        ((entry("a"), entry("b", "pending")), 9, (), "incomplete"),
        ((entry("a"), entry("b", "failed")), 9, (), "incomplete"),
        ((entry("a"), entry("b", "unavailable")), 9, (), "incomplete"),
        ((entry("b", "unavailable"),), 9, (), "unavailable"),
        ((entry("a"), entry("b", "excluded")), 9, (), "complete"),
    ],
)
def test_coverage_is_complete_only_when_every_pin_was_confirmed(
    entries: tuple[ScopeEntry, ...], position: int, unconfirmed: tuple[str, ...], state: str
) -> None:
    report = coverage(entries, index_position=position, unconfirmed=unconfirmed)

    assert report.state == state


STATES = st.sampled_from(["ready", "pending", "failed", "unavailable", "excluded"])


@given(
    states=st.lists(st.tuples(STATES, st.integers(0, 9)), max_size=20),
    position=st.integers(0, 9),
)
def test_every_eligible_pin_is_counted_once(
    states: list[tuple[IndexState, int]], position: int
) -> None:
    entries = [entry(f"{n}", state, place) for n, (state, place) in enumerate(states)]

    report = coverage(entries, index_position=position, unconfirmed=())

    counted = report.ready + report.pending + report.failed + report.unavailable
    assert counted == report.eligible
    assert (report.state == "complete") == (report.ready == report.eligible)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who owns the service reviews?", ("owns", "service", "reviews")),
        ("Wer ist für die Prüfung zuständig?", ("prüfung", "zuständig")),
        ("service_reviews, SUM(orders.amount)", ("service", "reviews", "sum", "orders", "amount")),
        ("1,250.00 and Q3", ("1,250.00", "q3")),
        ("It's not ok", ("not", "ok")),
        ("Straße STRASSE ﬁne", ("strasse", "strasse", "fine")),
        ("日本語", ("日本", "本語")),
        ("", ()),
    ],
)
def test_terms_are_folded_words_without_stop_words(text: str, expected: tuple[str, ...]) -> None:
    assert terms(text) == expected


def test_negations_are_never_stop_words() -> None:
    assert STOP_WORDS.isdisjoint({"not", "no", "never", "without", "nicht", "kein", "keine", "nie"})


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    frequency = {"service": 90, "reviews": 2}

    rare = idf_coverage(("service", "reviews"), ("reviews",), frequency, 100)
    common = idf_coverage(("service", "reviews"), ("service",), frequency, 100)

    assert rare > 0.8 > common > 0


def test_a_word_that_no_text_has_lowers_the_coverage_most() -> None:
    frequency = {"service": 90}

    assert idf_coverage(("service", "weather"), ("service",), frequency, 100) < 0.1


WORDS = st.lists(st.sampled_from("abcdefg"), max_size=8)


@given(asked=WORDS, present=WORDS, more=WORDS, total=st.integers(0, 50))
def test_coverage_of_a_question_is_bounded_and_grows_with_the_text(
    asked: list[str], present: list[str], more: list[str], total: int
) -> None:
    frequency = {letter: place for place, letter in enumerate("abcde")}

    less = idf_coverage(asked, present, frequency, total)
    greater = idf_coverage(asked, [*present, *more], frequency, total)

    assert 0.0 <= less <= greater <= 1.0
    assert idf_coverage(asked, asked, frequency, total) == (1.0 if asked else 0.0)


def test_hidden_measures_stand_in_the_bytes_only_where_there_are_any() -> None:
    """A scope of a build that did not know them reads the same."""
    plain = build_scope((entry("a"),))
    hiding = build_scope((entry("a").model_copy(update={"hidden_measures": ("total",)}),))

    assert b"hidden_measures" not in plain.to_bytes()
    assert b'"hidden_measures":["total"]' in hiding.to_bytes()
    assert Scope.from_bytes(hiding.to_bytes()) == hiding
    assert Scope.from_bytes(plain.to_bytes()).entries[0].hidden_measures == ()
