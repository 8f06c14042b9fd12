"""Admission of curated items, private files and corpora."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chancery.authority.names import (
    AggregateRef,
    corpus_ref,
    file_ref,
    item_ref,
    principal_ref,
    source_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.states import CorpusState, FileState, ItemState, Version
from chancery.events.authority import Standing
from chancery.events.authority_knowledge import EvidenceRoot, evidence_hash
from chancery.evidence.scope import SCOPE_ENTRIES_MAX
from chancery.release.domain.admission import Admitted, NotAdmitted, admit
from chancery.release.domain.entries import Resource
from chancery.release.domain.snapshot import Snapshot
from tests.unit.release.test_admission import (
    NOW,
    QUESTION,
    READY,
    SHA,
    changed,
    outcome,
    snapshot,
    source,
)

CORPUS = CorpusState(
    workspace_id="w",
    corpus_id="Handbook",
    model="Revision",
    scope="parent.parent",
    title="title",
    content=("body",),
    where="live(row)",
    binding="deployment.knowledge",
    declarer="bert",
    declaration_sha256="d" * 64,
)
ASKED = replace(QUESTION, mode="rag", corpus="Handbook")


def item(name: str, *, root: str | None = None, visibility: str = "workspace") -> Resource:
    """Return an item that serves, on one root or on none."""
    evidence = () if root is None else (evidence_of(root),)
    version = Version(
        version_id=f"v-{name}",
        operation_id=f"o-{name}",
        draft_id="d",
        native_workspace_id="w",
        native_item_id=name,
        native_version_id=f"n-{name}",
        title=name,
        kind="article",
        domain="general",
        tags=(),
        author="bert",
        committed_at=NOW,
        content_sha256=SHA,
        size_bytes=1,
        evidence=evidence,
        evidence_sha256=evidence_hash(evidence),
    )
    state = ItemState(
        workspace_id="w",
        item_id=name,
        native_workspace_id="w",
        native_item_id=name,
        visibility="workspace",
        declarer="bert",
        versions=(version,),
    )
    found = Resource(item_ref("w", name), state, frozen=False, entry=READY)
    return changed(found, visibility=visibility)


def evidence_of(name: str, revision: int = 1) -> EvidenceRoot:
    """Return the root that `source(name)` is."""
    key = source_ref("w", name).id
    return EvidenceRoot(kind="source", key=key, id=name, revision=revision, content_sha256=SHA)


def file(name: str, owner: str = "anna") -> Resource:
    """Return a private file."""
    state = FileState(
        owner=owner, title=name, content_sha256=SHA, media_type="text/plain", size_bytes=1
    )
    return Resource(file_ref(name), state, frozen=False, entry=READY)


def standing(name: str, authority: Standing, date: str | None = None) -> Resource:
    """Return a source of some standing."""
    return changed(source(name), authority=authority, date=date)


def asking(corpus: CorpusState | None = CORPUS) -> Snapshot:
    """Return what a question to the corpus reads."""
    states = {**snapshot().states, corpus_ref("w", "Handbook"): corpus}
    return replace(snapshot(), states=states)


def ids(result: Admitted | NotAdmitted) -> list[str]:
    """Return what was admitted."""
    assert isinstance(result, Admitted), result
    return sorted(entry.id for entry in result.entries)


@pytest.mark.req("CR-4", "CR-27")
@pytest.mark.parametrize(
    "root",
    [
        None,
        changed(source("r"), visibility="restricted"),
        changed(source("r"), withdrawn=True),
        changed(source("r"), revisions=()),
        changed(source("r"), workspace_id="elsewhere"),
        replace(source("r"), frozen=True),
    ],
    ids=["absent", "restricted", "withdrawn", "nothing published", "elsewhere", "frozen"],
)
def test_an_item_is_admitted_with_its_whole_evidence_or_not_at_all(root: Resource | None) -> None:
    roots = [] if root is None else [root]
    rests, free = item("i", root="r"), item("j")

    assert ids(admit(QUESTION, snapshot(), [rests, free], roots)) == ["j"]
    assert ids(admit(QUESTION, snapshot(), [rests, free], [source("r")])) == ["i", "j"]
    selecting = replace(QUESTION, items=("i",))
    assert outcome(admit(selecting, snapshot(), [rests], roots)) == "source_access"


@pytest.mark.req("CR-2")
def test_a_version_under_other_native_ids_is_not_admitted() -> None:
    found = item("i")
    assert isinstance(found.state, ItemState)
    (version,) = found.state.versions
    odd = changed(found, versions=(replace(version, native_item_id="else"),))

    assert ids(admit(QUESTION, snapshot(), [odd, item("j")])) == ["j"]
    assert ids(admit(QUESTION, snapshot(), [found])) == ["i"]


@pytest.mark.req("KO-3", "CR-27")
def test_a_file_is_admitted_for_its_owner_when_it_is_selected() -> None:
    selecting = replace(QUESTION, files=("f",))

    assert ids(admit(selecting, snapshot(), [file("f")])) == ["f"]
    assert outcome(admit(selecting, snapshot(), [file("f", "bert")])) == "source_access"
    assert outcome(admit(selecting, snapshot(), [changed(file("f"), deleted=True)])) == (
        "source_access"
    )
    assert outcome(admit(selecting, snapshot(), [])) == "source_access"


@pytest.mark.req("CR-10", "CR-17")
def test_an_id_among_the_sources_selects_no_item() -> None:
    both = [source("x"), item("x")]

    for field, kind in (("sources", "source"), ("items", "item")):
        selecting = replace(QUESTION, **{field: ("x",)})
        chosen = [each for each in both if each.ref.kind == kind]
        other = [each for each in both if each.ref.kind != kind]
        assert outcome(admit(selecting, snapshot(), other)) == "source_access"
        assert ids(admit(selecting, snapshot(), chosen)) == ["x"]


WORKSPACE: tuple[Resource, ...] = (
    source("plain"),
    standing("rule", "normative", "2024-01-01"),
    standing("old", "historical"),
    item("guide"),
)


@pytest.mark.req("CL-5", "CL-6")
@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, ["old", "plain", "rule"]),
        ({"where": "normative(row)"}, ["rule"]),
        ({"where": "historical(row)"}, ["old"]),
        ({"where": "dated(row)"}, ["rule"]),
        ({"model": "Version"}, ["guide"]),
        ({"content": ("body", "document")}, ["old", "plain", "rule"]),
    ],
)
def test_a_corpus_only_narrows(fields: dict[str, object], wanted: list[str]) -> None:
    declared = replace(CORPUS, **fields)
    hidden = changed(source("hidden"), visibility="private", authority="normative")

    result = admit(ASKED, asking(declared), [*WORKSPACE, hidden])

    assert ids(result) == wanted
    assert isinstance(result, Admitted)
    assert result.corpus is not None
    assert result.corpus.id == "Handbook"
    everything = admit(replace(ASKED, corpus=None), snapshot(), [*WORKSPACE, hidden])
    assert set(wanted) < set(ids(everything))


@pytest.mark.req("CL-6", "CL-10")
def test_a_corpus_that_takes_nothing_in_is_insufficient_and_one_that_is_not_there_no_access() -> (
    None
):
    documents = replace(CORPUS, content=("document",))

    assert outcome(admit(ASKED, asking(documents), WORKSPACE)) == "insufficient_evidence"
    assert outcome(admit(ASKED, asking(None), WORKSPACE)) == "source_access"
    elsewhere = replace(CORPUS, workspace_id="elsewhere")
    assert outcome(admit(ASKED, asking(elsewhere), WORKSPACE)) == "source_access"


@pytest.mark.req("CL-9")
def test_the_bound_of_a_scope_is_on_what_the_corpus_takes_in() -> None:
    many = [source(f"s{number}") for number in range(SCOPE_ENTRIES_MAX + 1)]
    rules = replace(CORPUS, where="normative(row)")

    assert outcome(admit(ASKED, asking(), many)) == "scope_too_wide"
    assert outcome(admit(ASKED, asking(), many[:-1])) == "admitted"
    narrowed = admit(ASKED, asking(rules), [*many, standing("rule", "normative")])
    assert ids(narrowed) == ["rule"]


def test_every_decision_about_a_corpus_reads_it() -> None:
    place = set(ASKED.place)
    wanted: set[AggregateRef] = {
        tenant_ref("acme"),
        principal_ref("anna"),
        workspace_ref("w"),
        corpus_ref("w", "Handbook"),
    }

    assert wanted <= place
    assert corpus_ref("w", "Handbook") not in QUESTION.place
