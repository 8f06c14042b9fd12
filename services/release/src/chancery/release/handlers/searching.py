"""What a search may cover: the first of its two steps, behind a barrier, with today's state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chancery.authority.names import AggregateRef, source_ref, workspace_ref
from chancery.events.requests import Request
from chancery.events.run import Bounds
from chancery.events.search import REVISIONS_MAX, SearchRevision, SearchScope, SearchScopeOf
from chancery.kernel.errors import Rejected
from chancery.release.domain.admission import Question, request_of
from chancery.release.domain.entries import Resource, judge, scope_entry
from chancery.release.handlers.gate import Gate, Visitor, not_found, require_member
from chancery.release.handlers.reading import is_readable
from chancery.release.ports.stores import AuthorityReads


@dataclass(frozen=True, slots=True)
class Searching:
    """Handler of the query that authorises a search."""

    gate: Gate
    reader: AuthorityReads

    async def __call__(self, request: Request[SearchScopeOf]) -> SearchScope:
        """Pin every serving revision that the caller may read, of the named sources or of all.

        Raises:
            NotFound: no such workspace or source, or the caller may not know of it: the same words.
            Rejected: code `scope_too_wide`; nothing is left out silently.
        """
        body, tenant = request.body, request.caller.tenant
        visitor = await self.gate.enter(request.caller, (workspace_ref(body.workspace_id),))
        require_member(visitor, body.workspace_id)
        selected = [source_ref(body.workspace_id, each) for each in dict.fromkeys(body.sources)]
        found = await self._resources(tenant, body.workspace_id, selected)
        readable = {each.ref: each for each in found if is_readable(visitor, each)}
        if any(ref not in readable for ref in selected):
            raise not_found("source")
        revisions = _eligible(visitor, body.workspace_id, tuple(readable.values()))
        if len(revisions) > REVISIONS_MAX:
            message = f"the search covers more than {REVISIONS_MAX} sources; name some in sources"
            raise Rejected(message, field="sources", code="scope_too_wide")
        return SearchScope(checkpoint=visitor.snapshot.checkpoint, revisions=revisions)

    async def _resources(
        self, tenant: str, workspace_id: str, selected: Sequence[AggregateRef]
    ) -> tuple[Resource, ...]:
        if selected:
            return await self.reader.resources(tenant, workspace_id, selected)
        return await self.reader.workspace(tenant, workspace_id, ("source",))


def _eligible(
    visitor: Visitor, workspace_id: str, resources: Sequence[Resource]
) -> tuple[SearchRevision, ...]:
    caller, snapshot = visitor.caller, visitor.snapshot
    question = Question(
        tenant=caller.tenant,
        principal=caller.principal,
        credential_id=caller.credential_id,
        workspace_id=workspace_id,
        mode="rag",
        bounds=Bounds(),
    )
    judged = judge(snapshot, request_of(question, snapshot), resources)
    entries = [
        scope_entry(snapshot, caller.principal, each) for each in resources if judged.allows(each)
    ]
    return tuple(
        SearchRevision(
            key=entry.key,
            id=entry.id,
            title=entry.title,
            revision=entry.revision,
            media_type=entry.media_type,
            state=entry.state,
            index_sequence=entry.index_sequence,
            extraction_sha256=entry.extraction_sha256,
            manifest_sha256=entry.manifest_sha256,
        )
        for entry in entries
        if entry.state != "excluded"
    )
