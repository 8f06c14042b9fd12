"""What a search may cover: the first of its two steps, behind a barrier, with today's state."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from chancery.authority.names import AggregateRef, workspace_ref
from chancery.events.requests import Request
from chancery.events.run import Bounds
from chancery.events.search import REVISIONS_MAX, SearchScope, SearchScopeOf
from chancery.kernel.errors import NotFound, Rejected
from chancery.release.domain.admission import Question, request_of
from chancery.release.domain.entries import judge
from chancery.release.domain.searched import search_revisions
from chancery.release.handlers.candidates import candidates, other_roots
from chancery.release.handlers.gate import Gate, require_member
from chancery.release.handlers.reading import is_readable
from chancery.release.ports.stores import AuthorityReads


@dataclass(frozen=True, slots=True)
class Searching:
    """Handler of the query that authorises a search."""

    gate: Gate
    reader: AuthorityReads

    async def __call__(self, request: Request[SearchScopeOf]) -> SearchScope:
        """Pin what serves and the caller may use: all that is selected, or all of the workspace.

        An item is used with all its evidence, or not at all. A selected source may be withdrawn.

        Raises:
            NotFound: no such workspace or thing, or the caller may not know of it: the same words.
            Rejected: code `scope_too_wide`; nothing is left out silently.
        """
        workspace_id = request.body.workspace_id
        visitor = await self.gate.enter(request.caller, (workspace_ref(workspace_id),))
        require_member(visitor, workspace_id)
        question, snapshot = _question(request), visitor.snapshot
        found = await candidates(self.reader, question)
        roots = await other_roots(self.reader, question, found)
        judged = judge(snapshot, request_of(question, snapshot), (*found, *roots))
        usable = [each for each in found if judged.allows(each)]
        if question.selected:
            sources = (each for each in found if each.ref.kind == "source")
            known = {each.ref for each in sources if is_readable(visitor, each)}
            _require(question, known.union(each.ref for each in usable))
        revisions = search_revisions(usable)
        if len(revisions) > REVISIONS_MAX:
            message = f"the search covers more than {REVISIONS_MAX} things; name some in sources"
            raise Rejected(message, field="sources", code="scope_too_wide")
        return SearchScope(checkpoint=snapshot.checkpoint, revisions=revisions)


def _require(question: Question, known: Collection[AggregateRef]) -> None:
    for name, ref in zip(question.selected_names, question.selected, strict=True):
        if ref not in known:
            # The caller's own word: it tells nothing that asking for it alone would not.
            message = f"there is no such {ref.kind}: {name}"
            raise NotFound(message, field=f"{ref.kind}s", code=f"{ref.kind}_not_found")


def _question(request: Request[SearchScopeOf]) -> Question:
    """Return the search as a question about documents: what decides on one decides on the other."""
    caller, body = request.caller, request.body
    return Question(
        tenant=caller.tenant,
        principal=caller.principal,
        credential_id=caller.credential_id,
        workspace_id=body.workspace_id,
        mode="rag",
        bounds=Bounds(),
        sources=body.sources,
        items=body.items,
        files=body.files,
    )
