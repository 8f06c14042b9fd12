"""A changed state is the one that the standard library's `replace` gives."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.changed import changed
from chancery.authority.states import (
    Credential,
    FileState,
    PrincipalState,
    SourceState,
    State,
    TenantState,
    WorkspaceState,
)

STATES: tuple[State | Credential, ...] = (
    TenantState(),
    WorkspaceState("Legal", "anna"),
    Credential("a" * 64),
    PrincipalState(groups=("g",)),
    SourceState(
        workspace_id="w", source_id="s", title="T", visibility="restricted", declarer="anna"
    ),
    FileState(
        owner="anna", title="T", content_sha256="a" * 64, media_type="text/plain", size_bytes=1
    ),
)


@given(st.sampled_from(STATES), st.data())
def test_a_changed_state_equals_a_replaced_one(
    state: State | Credential, data: st.DataObject
) -> None:
    names = [field.name for field in fields(state)]
    changes = {name: object() for name in data.draw(st.sets(st.sampled_from(names)))}
    before = replace(state)

    found = changed(state, **changes)

    assert found == replace(state, **changes)
    assert type(found) is type(state)
    assert state == before


def test_a_field_that_the_state_does_not_have_is_refused() -> None:
    with pytest.raises(KeyError):
        changed(TenantState(), closed=True)
