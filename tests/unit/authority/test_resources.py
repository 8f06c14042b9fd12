"""Commands on sources and datasets: what they change, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chancery.authority.declaring import decide_declare_dataset, decide_declare_source
from chancery.authority.errors import NotPermitted
from chancery.authority.names import (
    AggregateRef,
    Change,
)
from chancery.authority.resources import (
    decide_grant,
    decide_publish_revision,
    decide_publish_snapshot,
    decide_restore,
    decide_revoke_grant,
    decide_withdraw,
    resource_ref,
)
from chancery.authority.states import Readable
from chancery.events import authority as events
from chancery.events import commands
from chancery.kernel.errors import Conflict, NotFound, Rejected
from tests.unit.authority.bodies import (
    DATASET_BODY,
    GRANT,
    OPEN,
    OPEN_DATASET,
    OPEN_SOURCE,
    REVISION,
    SERVING,
    SNAPSHOT,
    SOURCE_BODY,
)
from tests.unit.authority.knowledge import ITEM, ITEM_STATE
from tests.unit.authority.worlds import (
    DATASET,
    DATASET_STATE,
    OTHER_SHA,
    SHA,
    SOURCE,
    SOURCE_STATE,
    actor,
)


def _types(changes: tuple[Change, ...]) -> list[str]:
    return [change.data.TYPE.split(".")[2] for change in changes]


def test_declaring_again_changes_only_what_differs() -> None:
    pat = actor("publisher")
    body = commands.DeclareSource(
        workspace_id="ws", source_id="handbook", title="Handbook", visibility="restricted"
    )
    standing = body.model_copy(update={"authority": "normative", "date": "2026-01-31"})

    assert _types(decide_declare_source(pat, OPEN, None, standing)) == ["declared", "authority-set"]
    assert decide_declare_source(pat, OPEN, SOURCE_STATE, body) == ()
    wider = body.model_copy(update={"visibility": "workspace", "title": "H"})
    assert _types(decide_declare_source(pat, OPEN, SOURCE_STATE, wider)) == [
        "declared",
        "visibility-changed",
    ]
    dated = replace(SOURCE_STATE, authority="normative", date="2026-01-31")
    assert decide_declare_source(pat, OPEN, dated, body) == ()


def test_an_erased_source_takes_no_command() -> None:
    pat, erased = actor("publisher"), replace(OPEN_SOURCE, withdrawn=True, erased=True)
    ended = GRANT.model_copy(update={"grantee": OPEN_SOURCE.grants[0]})

    for decide in (
        lambda: decide_declare_source(pat, OPEN, erased, SOURCE_BODY),
        lambda: decide_publish_revision(pat, OPEN, erased, REVISION),
        lambda: decide_grant(pat, OPEN, erased, GRANT),
        lambda: decide_revoke_grant(pat, OPEN, erased, ended),
        lambda: decide_restore(pat, OPEN, erased, SERVING),
    ):
        with pytest.raises(Rejected) as refused:
            decide()
        assert refused.value.code == "source_erased"


def test_only_the_declarer_makes_a_resource_private() -> None:
    body = SOURCE_BODY.model_copy(update={"visibility": "private"})
    table = DATASET_BODY.model_copy(update={"visibility": "private"})
    other = actor("admin", principal_id="root")

    with pytest.raises(NotPermitted) as refused:
        decide_declare_source(other, OPEN, OPEN_SOURCE, body)
    assert refused.value.field == "visibility"
    with pytest.raises(NotPermitted):
        decide_declare_dataset(other, OPEN, OPEN_DATASET, table)
    assert decide_declare_source(actor("publisher"), OPEN, OPEN_SOURCE, body)


def test_a_dataset_keeps_its_declarer_and_refuses_two_measures_of_one_name() -> None:
    body = commands.DeclareDataset(
        workspace_id="ws",
        dataset_id="orders",
        title="Orders",
        visibility="workspace",
        columns=DATASET_STATE.columns,
        row_filters=DATASET_STATE.row_filters,
        measures=DATASET_STATE.measures,
    )
    other = actor("publisher", principal_id="eve")
    renamed = body.model_copy(update={"title": "Sales"})
    again = events.Measure(name="TOTAL", aggregate="count")
    twice = body.model_copy(update={"measures": (*DATASET_STATE.measures, again)})

    assert decide_declare_dataset(other, OPEN, OPEN_DATASET, body) == ()
    (change,) = decide_declare_dataset(other, OPEN, OPEN_DATASET, renamed)
    assert isinstance(change.data, events.DatasetDeclared)
    assert (change.ref, change.data.declarer) == (DATASET, "pat")
    with pytest.raises(Rejected) as refused:
        decide_declare_dataset(other, OPEN, OPEN_DATASET, twice)
    assert refused.value.code == "duplicate_measure"


def test_publishing_counts_on_and_skips_what_serves() -> None:
    pat = actor("publisher")
    serving = REVISION.model_copy(update={"content_sha256": OTHER_SHA})

    (change,) = decide_publish_revision(pat, OPEN, SOURCE_STATE, REVISION)
    assert isinstance(change.data, events.RevisionPublished)
    assert (change.ref, change.data.revision) == (SOURCE, 3)
    assert decide_publish_revision(pat, OPEN, SOURCE_STATE, serving) == ()
    otherwise = serving.model_copy(update={"media_type": "text/html"})
    (read_anew,) = decide_publish_revision(pat, OPEN, SOURCE_STATE, otherwise)
    assert isinstance(read_anew.data, events.RevisionPublished)
    assert (read_anew.data.revision, read_anew.data.media_type) == (3, "text/html")
    spelled = serving.model_copy(update={"media_type": f"{serving.media_type.upper()}; charset=x"})
    assert decide_publish_revision(pat, OPEN, SOURCE_STATE, spelled) == ()
    (table,) = decide_publish_snapshot(pat, OPEN, DATASET_STATE, SNAPSHOT)
    assert isinstance(table.data, events.SnapshotPublished)
    assert table.data.snapshot == 2
    same = SNAPSHOT.model_copy(update={"content_sha256": SHA})
    assert decide_publish_snapshot(pat, OPEN, DATASET_STATE, same) == ()
    for missing in (
        lambda: decide_publish_revision(pat, OPEN, None, REVISION),
        lambda: decide_publish_snapshot(pat, OPEN, None, SNAPSHOT),
    ):
        with pytest.raises(NotFound):
            missing()


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("content_sha256", [SHA, OTHER_SHA], ids=["new content", "what served"])
def test_what_was_withdrawn_serves_again_only_when_that_is_asked_for(content_sha256: str) -> None:
    pat = actor("publisher")
    source = replace(SOURCE_STATE, withdrawn=True)
    dataset = replace(DATASET_STATE, withdrawn=True)
    revision = REVISION.model_copy(update={"content_sha256": content_sha256})
    snapshot = SNAPSHOT.model_copy(update={"content_sha256": content_sha256})
    moved = snapshot.model_copy(update={"after": 0})

    for decide, kind in (
        (lambda: decide_publish_revision(pat, OPEN, source, revision), "source"),
        (lambda: decide_publish_snapshot(pat, OPEN, dataset, snapshot), "dataset"),
        (lambda: decide_publish_snapshot(pat, OPEN, dataset, moved), "dataset"),
    ):
        with pytest.raises(Conflict) as refused:
            decide()
        assert (refused.value.code, refused.value.field) == ("withdrawn", "restore")
        assert refused.value.detail.startswith(f"the {kind} is withdrawn")
        assert "restore=true" in refused.value.detail
    asked = {"restore": True}
    (again,) = decide_publish_revision(pat, OPEN, source, revision.model_copy(update=asked))
    (table,) = decide_publish_snapshot(pat, OPEN, dataset, snapshot.model_copy(update=asked))
    assert isinstance(again.data, events.RevisionPublished)
    assert isinstance(table.data, events.SnapshotPublished)
    assert (again.data.revision, table.data.snapshot) == (3, 2)
    # Asking for it changes nothing where nothing was withdrawn.
    what_serves = REVISION.model_copy(update={"content_sha256": OTHER_SHA, **asked})
    assert decide_publish_revision(pat, OPEN, SOURCE_STATE, what_serves) == ()


def test_who_may_not_see_what_was_withdrawn_is_not_told_so() -> None:
    stranger = actor("publisher", principal_id="eve")
    hidden = replace(SOURCE_STATE, visibility="private", withdrawn=True)

    with pytest.raises(NotFound):
        decide_publish_revision(stranger, OPEN, hidden, REVISION)
    with pytest.raises(NotPermitted):
        decide_publish_revision(actor("reader"), OPEN, hidden, REVISION)


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    ("kind", "name", "held", "ref"),
    [
        ("source", "handbook", SOURCE_STATE, SOURCE),
        ("dataset", "orders", DATASET_STATE, DATASET),
        ("item", "glossary", ITEM_STATE, ITEM),
    ],
)
def test_grants_and_withdrawal_hold_for_sources_datasets_and_items_alike(
    kind: commands.GovernedKind, name: str, held: Readable, ref: AggregateRef
) -> None:
    pat = actor("publisher")
    grant = GRANT.model_copy(update={"kind": kind, "resource_id": name})
    given = grant.model_copy(update={"grantee": "pat"})
    serving = SERVING.model_copy(update={"kind": kind, "resource_id": name})

    assert resource_ref(grant) == ref
    assert _types(decide_grant(pat, OPEN, held, grant)) == ["granted"]
    assert decide_grant(pat, OPEN, held, given) == ()
    assert _types(decide_revoke_grant(pat, OPEN, held, given)) == ["grant-revoked"]
    assert decide_revoke_grant(pat, OPEN, held, grant) == ()
    (withdrawn,) = decide_withdraw(pat, OPEN, held, serving)
    assert withdrawn.ref == ref
    assert decide_withdraw(pat, OPEN, replace(held, withdrawn=True), serving) == ()
    assert decide_restore(pat, OPEN, held, serving) == ()


def test_a_withdrawn_source_is_restored_and_a_dataset_published_again() -> None:
    pat = actor("publisher")
    table = SERVING.model_copy(update={"kind": "dataset", "resource_id": "orders"})

    restored = decide_restore(pat, OPEN, replace(SOURCE_STATE, withdrawn=True), SERVING)

    assert _types(restored) == ["restored"]
    with pytest.raises(Rejected) as refused:
        decide_restore(pat, OPEN, replace(DATASET_STATE, withdrawn=True), table)
    assert refused.value.code == "not_restorable"
    item = SERVING.model_copy(update={"kind": "item", "resource_id": "glossary"})
    with pytest.raises(Rejected) as kept:
        decide_restore(pat, OPEN, replace(ITEM_STATE, withdrawn=True), item)
    assert kept.value.code == "not_restorable"


@pytest.mark.parametrize("aggregate", ["sum", "avg", "min", "max", "count"])
def test_only_a_count_does_without_a_column(aggregate: events.Aggregate) -> None:
    pat = actor("publisher")
    bare = events.Measure(name="total", aggregate=aggregate)
    body = DATASET_BODY.model_copy(update={"measures": (bare,)})
    named = bare.model_copy(update={"column": "amount"})

    assert decide_declare_dataset(
        pat, OPEN, OPEN_DATASET, body.model_copy(update={"measures": (named,)})
    )
    if aggregate == "count":
        assert decide_declare_dataset(pat, OPEN, OPEN_DATASET, body)
        return
    with pytest.raises(Rejected) as refused:
        decide_declare_dataset(pat, OPEN, OPEN_DATASET, body)
    assert (refused.value.code, refused.value.field) == (
        "measure_without_column",
        "measures.0.column",
    )


def test_a_snapshot_that_continues_another_than_the_newest_is_refused() -> None:
    pat = actor("publisher")
    first, moved = (SNAPSHOT.model_copy(update={"after": after}) for after in (1, 0))

    (table,) = decide_publish_snapshot(pat, OPEN, DATASET_STATE, first)
    with pytest.raises(Conflict) as refused:
        decide_publish_snapshot(pat, OPEN, DATASET_STATE, moved)

    assert isinstance(table.data, events.SnapshotPublished)
    assert refused.value.code == "snapshot_moved"
