"""A grant that would give nobody anything is refused, and says what makes it work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chancery.authority.access import visible_to
from chancery.authority.evolve import evolve
from chancery.authority.resources import decide_grant, decide_revoke_grant
from chancery.authority.states import (
    DatasetState,
    ItemState,
    PrincipalState,
    SourceState,
)
from chancery.events import commands
from chancery.events.authority import SourceGranted, VisibilityChanged
from chancery.kernel.errors import NotFound, Rejected
from tests.unit.authority.bodies import GRANT, OPEN
from tests.unit.authority.knowledge import ITEM_STATE
from tests.unit.authority.worlds import DATASET_STATE, SOURCE_STATE, actor

KINDS: list[tuple[commands.GovernedKind, SourceState | DatasetState | ItemState, str]] = [
    ("source", SOURCE_STATE, "make it restricted first"),
    ("dataset", DATASET_STATE, "make it restricted first"),
    ("item", ITEM_STATE, "make another one that is restricted"),
]


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(("kind", "held", "remedy"), KINDS, ids=[kind for kind, _, _ in KINDS])
def test_a_grant_of_what_is_private_is_refused_with_the_field_and_the_remedy(
    kind: commands.GovernedKind, held: SourceState | DatasetState | ItemState, remedy: str
) -> None:
    pat, private = actor("publisher"), replace(held, visibility="private")
    new = GRANT.model_copy(update={"kind": kind, "resource_id": "handbook"})
    given = new.model_copy(update={"grantee": "pat"})

    for grant in (new, given):
        with pytest.raises(Rejected) as refused:
            decide_grant(pat, OPEN, private, grant)
        assert (refused.value.code, refused.value.field) == ("private_resource", "visibility")
        assert remedy in refused.value.detail
    assert decide_grant(pat, OPEN, held, new)
    # What was granted before it became private can be ended while it is.
    assert decide_revoke_grant(pat, OPEN, private, given)


def test_who_does_not_see_what_is_private_learns_nothing_by_granting() -> None:
    private = replace(SOURCE_STATE, visibility="private")
    other = actor("publisher", principal_id="other")

    with pytest.raises(NotFound) as hidden:
        decide_grant(other, OPEN, private, GRANT)
    with pytest.raises(NotFound) as absent:
        decide_grant(other, OPEN, None, GRANT)

    assert (hidden.value.code, hidden.value.detail) == (absent.value.code, absent.value.detail)


def test_a_grant_on_the_log_replays_and_takes_effect_once_the_source_is_restricted() -> None:
    reader = PrincipalState(memberships={"ws": "reader"})
    private = replace(SOURCE_STATE, visibility="private")

    granted = evolve("source", private, SourceGranted(grantee="bob"))
    opened = evolve("source", granted, VisibilityChanged(visibility="restricted"))

    assert isinstance(granted, SourceState)
    assert isinstance(opened, SourceState)
    assert not visible_to(reader, granted, principal_id="bob")
    assert visible_to(reader, opened, principal_id="bob")
