"""Questions about access and resources: authenticated, behind a barrier, with today's state."""

from __future__ import annotations

from dataclasses import dataclass, field

from chancery.authority.access import ColumnView, column_view, role_in
from chancery.authority.names import policy_ref, principal_ref, workspace_ref
from chancery.authority.policies import effective_policy, policy_hash
from chancery.authority.states import DatasetState, ItemState, PrincipalState, SourceState
from chancery.events.queries import (
    CredentialView,
    DatasetScope,
    Identity,
    OfCredential,
    OfResource,
    OfWorkspace,
    PinnedRevision,
    PolicyView,
    ResourceList,
    ResourceView,
    WhoAmI,
)
from chancery.events.requests import Request
from chancery.release.domain.entries import Resource, Usable, knows_why
from chancery.release.domain.silent_columns import silent_columns
from chancery.release.domain.views import as_told, pinned_revision, resource_view, told_hashes
from chancery.release.handlers.gate import Gate, Visitor, not_found, policy_in, require_member
from chancery.release.handlers.reading import Reading, readable_versions
from chancery.release.ports.stores import AuthorityReads


@dataclass(frozen=True, slots=True)
class Questions:
    """Handlers of the queries that disclose no answer."""

    reading: Reading
    told_key: bytes = field(repr=False)

    @property
    def gate(self) -> Gate:
        """Return the way in."""
        return self.reading.gate

    @property
    def reader(self) -> AuthorityReads:
        """Return the reads of the projections."""
        return self.reading.reader

    async def identity(self, request: Request[WhoAmI]) -> Identity:
        """Tell the caller who they are."""
        visitor = await self.gate.enter(request.caller)
        memberships = sorted(visitor.principal.memberships.items())
        return Identity(
            tenant=request.caller.tenant,
            principal=request.caller.principal,
            tenant_admin=visitor.principal.tenant_admin,
            workspaces=tuple(memberships),
        )

    async def authorise(self, request: Request[OfResource]) -> PinnedRevision:
        """Pin the exact revision that the caller may read; of an item, its evidence as well."""
        visitor, resource = await self.reading.resource(request)
        state = resource.state
        assert state is not None
        revision = request.body.revision or state.serving or len(state.revisions)
        if isinstance(state, ItemState):
            await self._require_evidence(visitor, resource, state, revision)
        if not 1 <= revision <= len(state.revisions):
            raise not_found("revision")
        entry = resource.entry
        if revision != state.serving:
            entry = await self.reader.index_entry(request.caller.tenant, resource.ref, revision)
        view = _view_of(visitor, resource)
        pinned = pinned_revision(resource.ref, state, revision, entry=entry, view=view)
        if isinstance(state, DatasetState) and knows_why(visitor.principal, state):
            pinned = pinned.model_copy(update={"silent_columns": silent_columns(state)})
        return self._as_told(visitor, state, pinned)

    async def _require_evidence(
        self, visitor: Visitor, resource: Resource, item: ItemState, version: int
    ) -> None:
        """Refuse an item whose newest evidence the caller may not read, and such a version of it.

        Nothing may tell such an item from one that does not exist, nor how many versions it has.
        """
        known = await self.reading.known_roots(visitor, item.workspace_id, (resource,))
        numbers = readable_versions(item, known)
        if len(item.versions) not in numbers:
            raise not_found("item")
        if version not in numbers or not item.admissible(version):
            raise not_found("revision")

    async def sources(self, request: Request[OfWorkspace]) -> ResourceList:
        """List the sources of a workspace that the caller may read."""
        visitor = await self._member(request)
        found = await self.reading.workspace(visitor, request.body.workspace_id, "source")
        views = [resource_view(each) for each in found]
        return ResourceList(resources=tuple(sorted(views, key=lambda view: view.id)))

    async def source(self, request: Request[OfResource]) -> ResourceView:
        """Tell what a reader may know of a source or dataset."""
        visitor, resource = await self.reading.resource(request)
        if not isinstance(resource.state, SourceState | DatasetState):
            raise not_found(request.body.kind)
        return resource_view(resource, _view_of(visitor, resource))

    async def datasets(self, request: Request[OfWorkspace]) -> DatasetScope:
        """Pin every dataset that serves and that the caller may query."""
        visitor = await self._member(request)
        pins: list[PinnedRevision] = []
        for each in await self.reading.workspace(visitor, request.body.workspace_id, "dataset"):
            state = each.state
            view = _view_of(visitor, each)
            if state is None or state.serving is None or view is None:
                continue
            pin = pinned_revision(each.ref, state, state.serving, entry=each.entry, view=view)
            pins.append(self._as_told(visitor, state, pin))
        return DatasetScope(sequence=visitor.snapshot.checkpoint, datasets=tuple(pins))

    def _as_told(self, visitor: Visitor, state: Usable, pinned: PinnedRevision) -> PinnedRevision:
        told = told_hashes(self.told_key, visitor.caller.tenant, pinned)
        pinned = pinned.model_copy(update={"told": told})
        return as_told(pinned, tells_why=knows_why(visitor.principal, state))

    async def credential(self, request: Request[OfCredential]) -> CredentialView:
        """Tell its owner, or a tenant administrator, about a credential."""
        caller, wanted = request.caller, request.body.credential_id
        visitor = await self.gate.enter(caller)
        owner = await self.reader.credential_owner(caller.tenant, wanted)
        if owner is None or not (visitor.principal.tenant_admin or owner == caller.principal):
            raise not_found("credential")
        snapshot = await self.reader.read(
            caller.tenant, (principal_ref(owner),), at_least=visitor.snapshot.checkpoint
        )
        state = snapshot.typed(principal_ref(owner), PrincipalState)
        found = None if state is None else state.credentials.get(wanted)
        if found is None:
            raise not_found("credential")
        return CredentialView(
            principal=owner,
            credential_id=wanted,
            expires_at=found.expires_at,
            revoked=found.revoked,
        )

    async def policy(self, request: Request[OfWorkspace]) -> PolicyView:
        """Tell a member the answer policy of a workspace."""
        visitor = await self._member(request)
        state = policy_in(visitor.snapshot, request.body.workspace_id)
        policy = effective_policy(state)
        return PolicyView(
            policy_revision=policy.policy_revision,
            modes=policy.modes,
            language=policy.language,
            policy_sha256=policy_hash(state),
        )

    async def _member(self, request: Request[OfWorkspace]) -> Visitor:
        workspace_id = request.body.workspace_id
        refs = (workspace_ref(workspace_id), policy_ref(workspace_id))
        visitor = await self.gate.enter(request.caller, refs)
        require_member(visitor, workspace_id)
        return visitor


def _view_of(visitor: Visitor, resource: Resource) -> ColumnView | None:
    """Return what the caller does not see of a dataset; of others there is nothing hidden."""
    state = resource.state
    if not isinstance(state, DatasetState):
        return None
    role = role_in(visitor.principal, state.workspace_id)
    return None if role is None else column_view(state, role)
