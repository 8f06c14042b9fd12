"""Curated items, corpora and private files for the tests, and strategies for their states."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from chancery.authority.items import Commit
from chancery.authority.names import corpus_ref, file_ref, item_ref
from chancery.authority.release import CorpusPin, Pinned, Root
from chancery.authority.roots import Roots
from chancery.authority.states import (
    CorpusState,
    Draft,
    FileState,
    ItemState,
    State,
    Version,
)
from chancery.events import commands
from chancery.events.authority_knowledge import (
    CorpusDeclared,
    DraftSaved,
    EvidenceRoot,
    FileUploaded,
    VersionPublished,
    declaration_hash,
    evidence_hash,
    ordered,
)
from tests.unit.authority.worlds import (
    ASKER,
    DATASET,
    DATASET_STATE,
    NOW,
    OTHER_SHA,
    SHA,
    SOURCE,
    SOURCE_STATE,
    WORKSPACE,
    grants,
    ids,
    moments,
    shas,
    titles,
    visibilities,
)

BODY_SHA = "c" * 64
ITEM = item_ref(WORKSPACE, "glossary")
FILE = file_ref("file-1")
CORPUS = corpus_ref(WORKSPACE, "Handbook")

SOURCE_ROOT = EvidenceRoot(
    kind="source", key=SOURCE.id, id="handbook", revision=1, content_sha256=SHA
)
DATASET_ROOT = EvidenceRoot(
    kind="dataset", key=DATASET.id, id="orders", revision=1, content_sha256=SHA
)
EVIDENCE = ordered((SOURCE_ROOT, DATASET_ROOT))
ROOTS = tuple(Root(each.kind, each.key, each.revision, each.content_sha256) for each in EVIDENCE)
NAMES = (
    commands.EvidenceName(kind="source", id="handbook", revision=1),
    commands.EvidenceName(kind="dataset", id="orders", revision=1),
)

SAVED = DraftSaved(
    workspace_id=WORKSPACE,
    item_id="glossary",
    draft_id="draft-1",
    visibility="restricted",
    declarer="pat",
    native_workspace_id="wiki",
    native_item_id="page-7",
    title="Glossary",
    kind="note",
    domain="finance",
    tags=("terms", "2026"),
    author="cora",
    content_sha256=BODY_SHA,
    size_bytes=20,
    evidence=EVIDENCE,
    evidence_sha256=evidence_hash(EVIDENCE),
)
PUBLISHED = VersionPublished(
    version=1,
    version_id="version-1",
    operation_id="operation-1",
    native_version_id="version-1",
    committed_at=NOW,
    **SAVED.model_dump(include=set(DraftSaved.model_fields) & set(VersionPublished.model_fields)),
)
DRAFT = Draft(
    number=1,
    title="Glossary",
    kind="note",
    domain="finance",
    tags=("terms", "2026"),
    author="cora",
    content_sha256=BODY_SHA,
    size_bytes=20,
    evidence=EVIDENCE,
    evidence_sha256=SAVED.evidence_sha256,
)
VERSION = Version(
    version_id="version-1",
    draft_id="draft-1",
    operation_id="operation-1",
    native_workspace_id="wiki",
    native_item_id="page-7",
    native_version_id="version-1",
    title="Glossary",
    kind="note",
    domain="finance",
    tags=("terms", "2026"),
    author="cora",
    committed_at=NOW,
    content_sha256=BODY_SHA,
    size_bytes=20,
    evidence=EVIDENCE,
    evidence_sha256=SAVED.evidence_sha256,
)
ITEM_STATE = ItemState(
    workspace_id=WORKSPACE,
    item_id="glossary",
    native_workspace_id="wiki",
    native_item_id="page-7",
    visibility="restricted",
    declarer="pat",
    grants=("ada", "pat"),
    versions=(VERSION,),
    saved=1,
)
NEW_DRAFT = replace(DRAFT, number=2, title="Glossary, again", content_sha256=OTHER_SHA)
ITEM_DRAFTED = replace(ITEM_STATE, drafts={"draft-2": NEW_DRAFT}, saved=2)
OPEN_ITEM = replace(ITEM_DRAFTED, visibility="workspace")
OPEN_ROOTS: Roots = {
    SOURCE: replace(SOURCE_STATE, visibility="workspace"),
    DATASET: replace(DATASET_STATE, visibility="workspace"),
}
FILE_STATE = FileState(
    owner=ASKER, title="Mine", content_sha256=SHA, media_type="text/plain", size_bytes=3
)
CORPUS_SHA = declaration_hash(
    corpus_id="Handbook",
    model="Revision",
    scope="parent.parent",
    title="title",
    content=("body", "document"),
    where="live(row)",
    binding="deployment.knowledge",
)
CORPUS_STATE = CorpusState(
    workspace_id=WORKSPACE,
    corpus_id="Handbook",
    model="Revision",
    scope="parent.parent",
    title="title",
    content=("body", "document"),
    where="live(row)",
    binding="deployment.knowledge",
    declarer="pat",
    declaration_sha256=CORPUS_SHA,
)
DECLARED_CORPUS = CorpusDeclared(
    workspace_id=WORKSPACE,
    corpus_id="Handbook",
    model="Revision",
    scope="parent.parent",
    title="title",
    content=("body", "document"),
    where="live(row)",
    binding="deployment.knowledge",
    declarer="pat",
    declaration_sha256=CORPUS_SHA,
)
UPLOADED = FileUploaded(
    file_id="file-1",
    owner=ASKER,
    title="Mine",
    content_sha256=SHA,
    media_type="text/plain",
    size_bytes=3,
)

ITEM_PIN = Pinned("item", ITEM.id, 1, roots=ROOTS)
FILE_PIN = Pinned("file", FILE.id, 1)
CORPUS_PIN = CorpusPin(CORPUS.id, CORPUS_SHA)

COMMIT = Commit("operation-2", NOW)
SAVE = commands.SaveDraft(
    workspace_id=WORKSPACE,
    item_id="glossary",
    draft_id="draft-2",
    title="Glossary, again",
    kind="note",
    domain="finance",
    tags=("terms",),
    content_sha256=OTHER_SHA,
    size_bytes=21,
    evidence=NAMES,
)
PUBLISH = commands.PublishDraft(
    workspace_id=WORKSPACE,
    item_id="glossary",
    draft_id="draft-2",
    content_sha256=OTHER_SHA,
    evidence=NAMES,
)
DECLARE = commands.DeclareCorpus(
    workspace_id=WORKSPACE,
    corpus_id="Handbook",
    model="Revision",
    scope="parent.parent",
    title="title",
    content=("body", "document"),
    where="live(row)",
    binding="deployment.knowledge",
)
UPLOAD = commands.UploadFile(
    file_id="file-1", title="Mine", content_sha256=SHA, media_type="text/plain", size_bytes=3
)

labels = st.lists(ids, unique=True, max_size=3).map(tuple)
roots = st.lists(
    st.builds(
        EvidenceRoot,
        kind=st.sampled_from(("source", "dataset")),
        key=ids,
        id=ids,
        revision=st.integers(1, 9),
        content_sha256=shas,
    ),
    max_size=3,
    unique_by=lambda root: (root.kind, root.key),
).map(ordered)
drafts = st.builds(
    Draft,
    number=st.integers(1, 99),
    title=titles,
    kind=ids,
    domain=ids,
    tags=labels,
    author=ids,
    content_sha256=shas,
    size_bytes=st.integers(1, 9),
    evidence=roots,
    evidence_sha256=shas,
)
versions = st.builds(
    Version,
    version_id=ids,
    draft_id=ids,
    operation_id=ids,
    native_workspace_id=ids,
    native_item_id=ids,
    native_version_id=ids,
    title=titles,
    kind=ids,
    domain=ids,
    tags=labels,
    author=ids,
    committed_at=moments,
    content_sha256=shas,
    size_bytes=st.integers(1, 9),
    evidence=roots,
    evidence_sha256=shas,
)
items = st.builds(
    ItemState,
    workspace_id=ids,
    item_id=ids,
    native_workspace_id=ids,
    native_item_id=ids,
    visibility=visibilities,
    declarer=ids,
    grants=grants,
    drafts=st.dictionaries(ids, drafts, max_size=2),
    versions=st.lists(versions, max_size=2).map(tuple),
    withdrawn=st.booleans(),
    saved=st.integers(0, 99),
)
corpora = st.builds(
    CorpusState,
    workspace_id=ids,
    corpus_id=ids,
    model=ids,
    scope=ids,
    title=ids,
    content=labels,
    where=ids,
    binding=ids,
    declarer=ids,
    declaration_sha256=shas,
)
files = st.builds(
    FileState,
    owner=ids,
    title=titles,
    content_sha256=shas,
    media_type=st.just("text/plain"),
    size_bytes=st.integers(1, 9),
    deleted=st.booleans(),
)
states: st.SearchStrategy[State] = st.one_of(items, corpora, files)
