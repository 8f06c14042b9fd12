"""Questions about curated items, private files and corpora."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chancery.authority.access import has_right, role_in
from chancery.authority.names import AggregateRef, corpus_ref, source_ref, workspace_ref
from chancery.authority.roots import roots_of
from chancery.authority.states import CorpusState, Draft, ItemState
from chancery.events.corpora import OfRecord, RecordStatus
from chancery.events.queries import (
    CorpusView,
    FileList,
    ItemList,
    ItemView,
    OfCorpus,
    OfResource,
    OfWorkspace,
    OwnFiles,
)
from chancery.events.requests import Request
from chancery.kernel.errors import NotFound
from chancery.release.domain.admission import declaration_of_state, is_of_corpus
from chancery.release.domain.entries import Resource
from chancery.release.domain.knowledge_views import (
    corpus_view,
    file_view,
    item_summary,
    item_view,
    withdrawn_roots,
)
from chancery.release.domain.views import pinned_revision
from chancery.release.handlers.gate import Visitor, not_found, require_member
from chancery.release.handlers.reading import (
    Reading,
    is_readable,
    readable_drafts,
    readable_versions,
)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Handlers of these queries; a draft is for curators, and evidence for who may read it."""

    reading: Reading

    async def items(self, request: Request[OfWorkspace]) -> ItemList:
        """List the items that the caller may read, evidence included."""
        workspace_id = request.body.workspace_id
        visitor = await self._member(request, workspace_id)
        found = await self.reading.workspace(visitor, workspace_id, "item")
        evidence = await self.reading.evidence(visitor, workspace_id, found)
        known, withdrawn = _refs(evidence), withdrawn_roots(evidence)
        curates = _curates(visitor, workspace_id)
        shown = [each for each in found if _is_shown(each, known, curates=curates)]
        views = [item_summary(each, withdrawn) for each in shown]
        return ItemList(items=tuple(sorted(views, key=lambda view: view.id)))

    async def item(self, request: Request[OfResource]) -> ItemView:
        """Tell what the caller may know of an item: the versions whose evidence they may read."""
        visitor, resource = await self.reading.resource(request)
        workspace_id = request.body.workspace_id
        evidence = await self.reading.evidence(visitor, workspace_id, (resource,))
        known, withdrawn = _refs(evidence), withdrawn_roots(evidence)
        curates = _curates(visitor, workspace_id)
        state = resource.state
        if not isinstance(state, ItemState) or not _is_shown(resource, known, curates=curates):
            raise not_found("item")
        drafts: Mapping[str, Draft] = readable_drafts(state, known) if curates else {}
        view = item_view(resource, withdrawn, drafts=drafts)
        numbers = readable_versions(state, known)
        versions = tuple(each for each in view.versions if each.version in numbers)
        return view.model_copy(update={"versions": versions})

    async def files(self, request: Request[OwnFiles]) -> FileList:
        """List the files of the caller that are not deleted."""
        caller = request.caller
        visitor = await self.reading.gate.enter(caller)
        found = await self.reading.workspace(visitor, caller.principal, "file")
        views = [file_view(each) for each in found]
        return FileList(files=tuple(sorted(views, key=lambda view: view.id)))

    async def corpus(self, request: Request[OfCorpus]) -> CorpusView:
        """Tell a member how a corpus is declared."""
        _, ref, state = await self._declared(request)
        return corpus_view(ref, state)

    async def record(self, request: Request[OfRecord]) -> RecordStatus:
        """Tell the index state of an exact revision that the corpus takes in.

        Raises:
            NotFound: with the code of a source, for what is not eligible or not to be known of.
        """
        body, caller = request.body, request.caller
        visitor, _, state = await self._declared(request)
        ref = source_ref(body.workspace_id, body.source)
        found = await self.reading.reader.resources(caller.tenant, body.workspace_id, (ref,))
        declaration = declaration_of_state(state)
        for each in found:
            source = each.state
            if source is None or not is_of_corpus(declaration, source):
                continue
            if source.serving == body.revision and is_readable(visitor, each):
                entry = each.entry
                pinned = pinned_revision(ref, source, body.revision, entry=entry, view=None)
                return RecordStatus(
                    source=body.source,
                    revision=body.revision,
                    state=pinned.state,
                    reason=pinned.reason,
                )
        message = "there is no such source in the corpus that serves this revision"
        raise NotFound(message, code="source_not_found")

    async def _declared(
        self, request: Request[OfCorpus] | Request[OfRecord]
    ) -> tuple[Visitor, AggregateRef, CorpusState]:
        body = request.body
        ref = corpus_ref(body.workspace_id, body.corpus_id)
        refs = (workspace_ref(body.workspace_id), ref)
        visitor = await self.reading.gate.enter(request.caller, refs)
        require_member(visitor, body.workspace_id)
        state = visitor.snapshot.typed(ref, CorpusState)
        if state is None or state.workspace_id != body.workspace_id:
            raise not_found("corpus")
        return visitor, ref, state

    async def _member(self, request: Request[OfWorkspace], workspace_id: str) -> Visitor:
        visitor = await self.reading.gate.enter(request.caller, (workspace_ref(workspace_id),))
        require_member(visitor, workspace_id)
        return visitor


def _refs(resources: Sequence[Resource]) -> frozenset[AggregateRef]:
    return frozenset(each.ref for each in resources)


def _curates(visitor: Visitor, workspace_id: str) -> bool:
    return has_right(role_in(visitor.principal, workspace_id), "curator")


def _is_shown(resource: Resource, known: frozenset[AggregateRef], *, curates: bool) -> bool:
    """Tell whether an item is known: by its version, before one to curators by its draft."""
    state = resource.state
    if not isinstance(state, ItemState):
        return False
    if not state.versions:
        return curates and known.issuperset(roots_of(state))
    return len(state.versions) in readable_versions(state, known)
