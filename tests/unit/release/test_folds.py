"""The folds of the two streams, pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.names import AggregateRef, principal_ref, source_ref
from chancery.authority.states import PrincipalState, SourceState
from chancery.events.authority import (
    CutTaken,
    MemberAdded,
    MemberRemoved,
    RevisionPublished,
    SourceDeclared,
)
from chancery.events.codec import encode
from chancery.events.envelope import Envelope, Event, EventData
from chancery.events.index import (
    RevisionExcluded,
    RevisionExtracted,
    RevisionFailed,
    RevisionPending,
    RevisionReady,
)
from chancery.events.topology import FENCE_SUBJECT, cut_subject, index_subject
from chancery.kernel.ids import derived_id
from chancery.release.domain.authority_fold import (
    AggregateKey,
    AggregateRow,
    Folded,
    fold,
    fold_on,
    touched,
)
from chancery.release.domain.index_fold import (
    IndexEntry,
    decode_index,
    evolve_entry,
    fold_index,
)
from chancery.release.domain.marks import LogIdentity, Mark, MovingMark, check_log
from chancery.release.errors import ForeignLog

TENANT = "acme"
AT = datetime(2026, 1, 1, tzinfo=UTC)
SHA = "0" * 64


@dataclass(frozen=True, slots=True)
class Line:
    """A message of a stream."""

    sequence: int
    subject: str
    payload: bytes


def encoded(data: EventData, subject: str, *, tenant: str = TENANT) -> bytes:
    envelope = Envelope(
        id=derived_id(subject, data.TYPE),
        source="test",
        type=data.TYPE,
        subject=subject,
        time=AT,
        tenant=tenant,
    )
    return encode(Event(envelope=envelope, data=data))


def line(sequence: int, ref: AggregateRef, data: EventData) -> Line:
    return Line(sequence, ref.subject(TENANT), encoded(data, ref.id))


ANNA = principal_ref("anna")
JOIN = MemberAdded(workspace_id="w", role="reader")
LEAVE = MemberRemoved(workspace_id="w")


def test_events_become_rows_with_their_last_event() -> None:
    folded = fold(Mark(), {}, [line(1, ANNA, JOIN), line(2, ANNA, LEAVE)])

    row = folded.rows[AggregateKey(TENANT, "principal", "anna")]
    assert row.state == PrincipalState()
    assert (row.sequence, row.event_type, row.frozen) == (2, LEAVE.TYPE, False)


def test_a_publication_is_remembered_by_its_position() -> None:
    ref = source_ref("w", "handbook")
    declared = SourceDeclared(
        workspace_id="w", source_id="handbook", title="T", visibility="workspace", declarer="anna"
    )
    published = RevisionPublished(
        revision=1, content_sha256=SHA, media_type="text/plain", size_bytes=1
    )

    folded = fold(Mark(), {}, [line(1, ref, declared), line(2, ref, published)])

    row = folded.rows[AggregateKey(TENANT, "source", ref.id)]
    assert isinstance(row.state, SourceState)
    assert (row.published, row.serving, row.workspace_id) == (2, 1, "w")


BAD = {
    "no JSON": b"{",
    "another tenant": encoded(JOIN, "anna", tenant="evil"),
    "another aggregate": encoded(JOIN, "bert"),
    "another kind": encoded(
        RevisionPublished(revision=1, content_sha256=SHA, media_type="t", size_bytes=1), "anna"
    ),
    "a broken rule": encoded(LEAVE, "anna"),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_what_cannot_be_folded_freezes_its_aggregate(name: str) -> None:
    known = {}
    if name == "a broken rule":
        known = {
            AggregateKey(TENANT, "principal", "anna"): AggregateRow(
                1, "type", "id", SHA, PrincipalState()
            )
        }
    messages = [Line(5, ANNA.subject(TENANT), BAD[name]), line(6, ANNA, JOIN)]

    folded = fold(Mark(4), known, messages)

    row = folded.rows[AggregateKey(TENANT, "principal", "anna")]
    assert row.frozen
    assert row.sequence == 6
    assert [each.sequence for each in folded.quarantined] == [5, 6]
    assert folded.quarantined[1].reason == "aggregate_frozen"
    assert folded.mark.sequence == 6


def test_an_unknown_kind_of_aggregate_is_frozen_too() -> None:
    subject = AggregateRef("corpus", "c").subject(TENANT)

    folded = fold(Mark(), {}, [Line(1, subject, encoded(JOIN, "c"))])

    assert folded.rows[AggregateKey(TENANT, "corpus", "c")].frozen


def test_a_cut_is_seen_with_the_digest_at_its_place() -> None:
    cut = CutTaken(run_id="r", generation=1, attempt=2, read_set=(), core_sha256=SHA, decided_at=AT)
    message = Line(1, cut_subject(TENANT), encoded(cut, "r"))

    folded = fold(Mark(), {}, [message])

    assert [(each.run_id, each.attempt) for each in folded.cuts] == [("r", 2)]
    assert folded.cuts[0].digest == folded.mark.digest


def test_a_cut_of_a_foreign_tenant_is_quarantined() -> None:
    cut = CutTaken(run_id="r", generation=1, attempt=2, read_set=(), core_sha256=SHA, decided_at=AT)

    folded = fold(Mark(), {}, [Line(1, cut_subject("evil"), encoded(cut, "r"))])

    assert folded.cuts == []
    assert [each.tenant for each in folded.quarantined] == ["evil"]


def test_fences_move_the_position_and_not_the_digest() -> None:
    event = line(3, ANNA, JOIN)

    plain = fold(Mark(), {}, [event])
    fenced = fold(Mark(), {}, [Line(1, FENCE_SUBJECT, b"x"), event, Line(4, FENCE_SUBJECT, b"y")])

    assert fenced.mark.digest == plain.mark.digest
    assert (fenced.mark.sequence, fenced.mark.anchor_sequence) == (4, 3)


MOVES = st.lists(
    st.sampled_from(["anna:join", "anna:leave", "bert:join", "fence", "bad"]), max_size=25
)


@pytest.mark.req("EV-5", "EV-6")
@given(MOVES, st.integers(0, 25))
def test_any_split_into_batches_gives_the_same_rows_and_digest(
    moves: list[str], split: int
) -> None:
    messages = [_message(number, move) for number, move in enumerate(moves, start=1)]

    whole = fold(Mark(), {}, messages)
    first = fold(Mark(), {}, messages[:split])
    second = fold(first.mark, first.rows, messages[split:])

    assert {**first.rows, **second.rows} == whole.rows
    assert second.mark == whole.mark
    assert first.quarantined + second.quarantined == whole.quarantined


@pytest.mark.req("EV-5", "EV-6")
@given(MOVES, st.integers(0, 25), st.integers(0, 25))
def test_a_window_of_several_batches_gives_the_same_rows_and_digest(
    moves: list[str], known: int, split: int
) -> None:
    messages = [_message(number, move) for number, move in enumerate(moves, start=1)]
    before = fold(Mark(), {}, messages[:known])

    whole = fold(before.mark, before.rows, messages[known:])
    window = Folded.at(before.mark)
    fold_on(window, before.rows, messages[known : known + split])
    fold_on(window, before.rows, messages[known + split :])

    assert window == whole


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.binary(max_size=9)), max_size=20))
def test_a_mark_that_moves_goes_where_new_marks_go(steps: list[tuple[int, bool, bytes]]) -> None:
    mark = Mark()
    moving = MovingMark.at(mark)

    for step, is_covered, payload in steps:
        sequence = mark.sequence + step
        if is_covered:
            mark = mark.cover(sequence, payload)
            assert moving.cover(sequence, payload) == hashlib.sha256(payload).hexdigest()
        else:
            mark = mark.skip(sequence)
            moving.skip(sequence)

        assert moving.mark == mark


def test_the_digest_is_the_one_that_the_contract_says() -> None:
    first = hashlib.sha256(bytes(32) + (7).to_bytes(8, "big") + hashlib.sha256(b"a").digest())

    assert Mark().cover(7, b"a") == Mark(7, first.digest(), 7, hashlib.sha256(b"a").hexdigest())


@given(MOVES)
def test_every_changed_row_was_announced_as_touched(moves: list[str]) -> None:
    messages = [_message(number, move) for number, move in enumerate(moves, start=1)]

    folded: Folded = fold(Mark(), {}, messages)

    assert set(folded.rows) == touched(messages)


def _message(sequence: int, move: str) -> Line:
    if move == "fence":
        return Line(sequence, FENCE_SUBJECT, b"{}")
    if move == "bad":
        return Line(sequence, principal_ref("bert").subject(TENANT), b"{}")
    who, what = move.split(":")
    return line(sequence, principal_ref(who), JOIN if what == "join" else LEAVE)


class TestMarks:
    """Recognising the log."""

    MARK = Mark(5, b"d" * 32, 4, SHA)

    def test_the_same_log_is_accepted(self) -> None:
        check_log(self.MARK, _created(), LogIdentity(AT, 5, SHA), stream="S")

        assert self.MARK.sequence == 5

    @pytest.mark.parametrize(
        ("log", "code"),
        [
            (LogIdentity(datetime(2027, 1, 1, tzinfo=UTC), 9, SHA), "log_recreated"),
            (LogIdentity(AT, 4, SHA), "log_regressed"),
            (LogIdentity(AT, 9, "1" * 64), "log_different"),
            (LogIdentity(AT, 9, None), "log_different"),
        ],
    )
    def test_any_other_log_is_refused(self, log: LogIdentity, code: str) -> None:
        with pytest.raises(ForeignLog) as refused:
            check_log(self.MARK, _created(), log, stream="S")

        assert refused.value.code == code

    def test_another_order_gives_another_digest(self) -> None:
        ab = Mark().cover(1, b"a").cover(2, b"b")
        ba = Mark().cover(1, b"b").cover(2, b"a")

        assert ab.digest != ba.digest


def _created() -> str:
    return "2026-01-01T00:00:00.000000Z"


def common(authority_sequence: int) -> dict[str, object]:
    return {
        "workspace_id": "w",
        "kind": "source",
        "key": "k",
        "revision": 1,
        "content_sha256": SHA,
        "authority_sequence": authority_sequence,
    }


def extracted(extraction: str, *, extractor: str = "text/1", at: int = 1) -> RevisionExtracted:
    more = {
        "extraction_sha256": extraction * 64,
        "manifest_sha256": extraction * 64,
        "extractor": extractor,
        "length": 1,
    }
    return RevisionExtracted.model_validate({**common(at), **more})


def ready(extraction: str, *, at: int = 1) -> RevisionReady:
    more = {"extraction_sha256": extraction * 64, "manifest_sha256": extraction * 64}
    return RevisionReady.model_validate({**common(at), **more})


def entry_after(*events: EventData) -> IndexEntry:
    subject = index_subject(TENANT, "source", "k")
    lines = [Line(n, subject, encoded(data, "k")) for n, data in enumerate(events, start=1)]
    folded = fold_index(Mark(), {}, decode_index(lines))
    assert folded.quarantined == []
    (entry,) = folded.entries.values()
    return entry


def test_the_first_extraction_of_an_extractor_wins() -> None:
    entry = entry_after(extracted("a"), extracted("b"), extracted("c", extractor="text/2"))

    assert [each.extraction_sha256[0] for each in entry.extractions] == ["a", "c"]


def test_ready_needs_the_pinned_extraction() -> None:
    assert entry_after(extracted("a"), ready("a")).state == "ready"
    assert entry_after(extracted("a"), ready("b")).state == "unavailable"


@pytest.mark.req("CL-4")
def test_a_late_ready_never_revives_what_was_withdrawn() -> None:
    excluded = RevisionExcluded.model_validate({**common(5), "reason": "withdrawn"})

    late = entry_after(extracted("a"), excluded, ready("a", at=1))
    restored = entry_after(extracted("a"), excluded, ready("a", at=9))

    assert late.state == "excluded"
    assert restored.state == "ready"


def test_a_message_on_a_foreign_subject_is_quarantined() -> None:
    pending = RevisionPending.model_validate(common(1))
    wrong = Line(1, index_subject(TENANT, "source", "other"), encoded(pending, "k"))
    broken = Line(2, index_subject(TENANT, "source", "k"), b"{")

    folded = fold_index(Mark(), {}, decode_index([wrong, broken]))

    assert folded.entries == {}
    assert [each.reason for each in folded.quarantined] == ["foreign_subject", "malformed_event"]
    assert folded.mark.sequence == 2


def test_other_content_of_the_same_revision_changes_nothing() -> None:
    entry = entry_after(extracted("a"), ready("a"))
    other = RevisionPending.model_validate({**common(9), "content_sha256": "1" * 64})

    assert evolve_entry(entry, other, 9) == entry


def test_what_to_change_is_known_while_a_revision_has_failed() -> None:
    told = {"reason": "csv_value_mismatch", "field": "columns.amount.type"}
    failed = RevisionFailed.model_validate({**common(2), **told})

    assert entry_after(failed).field == "columns.amount.type"
    assert entry_after(extracted("a"), failed, ready("a", at=3)).field is None


@pytest.mark.req("CL-1")
def test_which_attempt_comes_next_is_known_until_the_revision_is_ready_or_failed() -> None:
    told = {"reason": "sql_timeout", "attempt": 3}
    waiting = RevisionPending.model_validate({**common(2), **told})
    failed = RevisionFailed.model_validate({**common(2), "reason": "sql_timeout", "attempt": 4})
    found = [
        entry_after(*events)
        for events in (
            (waiting,),
            (waiting, failed),
            (extracted("a"), waiting, ready("a", at=3)),
            (waiting, RevisionPending.model_validate(common(3))),
        )
    ]

    assert [(each.state, each.reason, each.attempt) for each in found] == [
        ("pending", "sql_timeout", 3),
        ("failed", "sql_timeout", 4),
        ("ready", None, None),
        ("pending", None, None),
    ]
