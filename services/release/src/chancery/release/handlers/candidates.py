"""What a question or a search may come to rest on, before anything of it is judged."""

from __future__ import annotations

from collections.abc import Sequence

from chancery.release.domain.admission import Question
from chancery.release.domain.entries import Resource, roots_of
from chancery.release.ports.stores import AuthorityReads


async def candidates(reader: AuthorityReads, question: Question) -> tuple[Resource, ...]:
    """Return what was selected, or everything of the workspace that the mode searches."""
    tenant, workspace_id = question.tenant, question.workspace_id
    if not question.selected:
        return await reader.workspace(tenant, workspace_id, question.kinds)
    here, own = question.selected_here, question.selected_files
    found = await reader.resources(tenant, workspace_id, here) if here else ()
    if not own:
        return found
    return (*found, *await reader.resources(tenant, question.principal, own))


async def other_roots(
    reader: AuthorityReads, question: Question, resources: Sequence[Resource]
) -> tuple[Resource, ...]:
    """Return the evidence of the items among `resources` that is not among them itself."""
    missing = roots_of(resources) - {each.ref for each in resources}
    if not missing:
        return ()
    return await reader.resources(question.tenant, question.workspace_id, sorted(missing))
