"""Who is it, and what may they read: credentials, roles, visibility, columns and rows."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from chancery.authority.states import (
    Credential,
    DatasetState,
    FileState,
    PrincipalState,
    Readable,
    TenantState,
    WorkspaceState,
)
from chancery.authority.tokens import proof_hash
from chancery.events.authority import Cell, Measure, Role
from chancery.kernel.errors import Denied

_RANKS: dict[str, int] = {"reader": 1, "curator": 2, "publisher": 3, "admin": 4}
_NO_HASH = "0" * 64
Rows: TypeAlias = tuple[tuple[str, tuple[Cell, ...]], ...]
"""Row filters that all apply: a column and the values it may have."""


@dataclass(frozen=True, slots=True)
class ColumnView:
    """What a role does not see of a dataset: sorted hidden columns, and filters that all apply.

    `hidden_measures` are the names of the measures that rest on a hidden column, sorted.
    """

    hidden: tuple[str, ...]
    row_filters: Rows
    hidden_measures: tuple[str, ...] = ()


def authenticate(
    principal: PrincipalState | None, credential_id: str, proof: str, now: datetime
) -> None:
    """Check the proof against the credential, in constant time, then its revocation and expiry.

    `proof` is SHA-256 of the secret's text in hex. Why it failed is told to the holder only.

    Raises:
        Denied: with code `unauthenticated`, `credential_revoked` or `credential_expired`.
    """
    credential = None if principal is None else principal.credentials.get(credential_id)
    known = _NO_HASH if credential is None else credential.proof_sha256
    matches = hmac.compare_digest(known, _hashed(proof))
    if credential is None or not matches:
        message = "the credential does not authenticate the caller"
        raise Denied(message)
    if credential.revoked:
        message = "the credential was revoked"
        raise Denied(message, code="credential_revoked")
    if expired(credential, now):
        message = "the credential expired"
        raise Denied(message, code="credential_expired")


def expired(credential: Credential, now: datetime) -> bool:
    """Return whether the credential is over; the moment of expiry itself is too late."""
    return credential.expires_at is not None and now >= credential.expires_at


def effective_expiry(principal: PrincipalState, credential_id: str) -> datetime | None:
    """Return when the caller's credential ends, or None when it does not."""
    credential = principal.credentials.get(credential_id)
    return None if credential is None else credential.expires_at


def role_in(principal: PrincipalState, workspace_id: str) -> Role | None:
    """Return the principal's role in a workspace, or None for no member."""
    return principal.memberships.get(workspace_id)


def has_right(role: Role | None, least: Role) -> bool:
    """Return whether `role` includes the rights of `least`; an unknown role includes none."""
    rank = 0 if role is None else _RANKS.get(role, 0)
    return rank >= _RANKS[least]


def visible_to(principal: PrincipalState, resource: Readable, *, principal_id: str) -> bool:
    """Return whether the resource's visibility lets a member see it; unknown ones never do.

    Restricted needs a grant to the principal or a group of theirs; the declarer is given one with
    the declaration. Private is the declarer's alone.
    """
    if resource.visibility == "workspace":
        return True
    if resource.visibility == "restricted":
        held = {principal_id, *(f"group:{group}" for group in principal.groups)}
        return not held.isdisjoint(resource.grants)
    return resource.visibility == "private" and resource.declarer == principal_id


def may_read(
    tenant: TenantState | None,
    workspace: WorkspaceState | None,
    principal: PrincipalState | None,
    resource: Readable | None,
    *,
    principal_id: str,
) -> bool:
    """Return whether the principal may read the resource now; anything unknown means no.

    `workspace` is the state of `resource.workspace_id`. Whether a revision serves, and whether the
    credential is valid, are questions of their own.
    """
    if tenant is None or tenant.suspended or workspace is None or workspace.closed:
        return False
    if principal is None or resource is None:
        return False
    role = role_in(principal, resource.workspace_id)
    return has_right(role, "reader") and visible_to(principal, resource, principal_id=principal_id)


def may_read_file(
    tenant: TenantState | None,
    principal: PrincipalState | None,
    file: FileState | None,
    *,
    principal_id: str,
) -> bool:
    """Return whether the principal may read the private file now: only its owner ever may."""
    if tenant is None or tenant.suspended or principal is None or file is None:
        return False
    return file.owner == principal_id and not file.deleted


def column_view(dataset: DatasetState, role: Role) -> ColumnView:
    """Return what `role` does not see; roles are exact names, not ranks.

    Filters of one column (case does not count in SQL) allow the values of any of them; filters of
    several columns all apply.
    """
    hidden = sorted(
        name
        for name, policy in dataset.columns.items()
        if policy.roles and role not in policy.roles
    )
    allowed: dict[str, tuple[str, dict[tuple[type, Cell], Cell]]] = {}
    for each in dataset.row_filters:
        if role in each.roles:
            _, values = allowed.setdefault(each.column.lower(), (each.column, {}))
            values.update({(type(cell), cell): cell for cell in each.allowed})
    filters = tuple((column, tuple(values.values())) for column, values in allowed.values())
    measures = sorted(each.name for each in dataset.measures if _rests_on(each, hidden))
    return ColumnView(tuple(hidden), filters, tuple(measures))


def _rests_on(measure: Measure, hidden: Collection[str]) -> bool:
    """Return whether a measure names a hidden column, or the whole of a hidden field (`st.priv`).

    A name that hides nothing may be taken for such a field: then the measure is not told of either.
    """
    names = {name.lower() for name in (measure.column, *measure.where) if name is not None}
    taken = {each.lower() for each in hidden}
    return bool(names & taken) or any(each.partition(".")[0] in names for each in taken)


def _hashed(proof: str) -> str:
    try:
        return proof_hash(proof)
    except ValueError:
        return "malformed"
