"""Declaring again changes what is said, and opens nothing that is not spoken of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chancery.authority.declaring import decide_declare_dataset, decide_declare_source
from chancery.authority.states import DatasetState
from chancery.events import authority as events
from chancery.events import commands
from chancery.events.authority import Visibility
from chancery.kernel.errors import Rejected
from tests.unit.authority.bodies import DATASET_BODY, OPEN, SOURCE_BODY
from tests.unit.authority.worlds import DATASET_STATE, SOURCE_STATE, actor

PAT = actor("publisher")
POLICY = replace(
    DATASET_STATE,
    columns={"cost": events.ColumnPolicy(type="integer", roles=("publisher",))},
    row_filters=(events.RowFilter(roles=("reader",), column="region", allowed=("north",)),),
    measures=(events.Measure(name="orders", aggregate="count"),),
)


def declared(held: DatasetState | None, **said: object) -> events.DatasetDeclared:
    """Return what a declaration with a new title makes of the dataset."""
    body = commands.DeclareDataset.model_validate({**DATASET_BODY.model_dump(), **said})
    (change,) = decide_declare_dataset(PAT, OPEN, held, body)
    assert isinstance(change.data, events.DatasetDeclared)
    return change.data


def parts(found: events.DatasetDeclared | DatasetState) -> tuple[object, object, object]:
    return (found.columns, found.row_filters, found.measures)


@pytest.mark.req("CR-27")
def test_a_part_of_a_dataset_that_is_left_out_stays_as_it_is() -> None:
    column = {"region": {"roles": ["admin"]}}

    titled = declared(POLICY)
    widened = declared(POLICY, columns=column)

    assert (titled.title, parts(titled)) == ("New", parts(POLICY))
    assert list(widened.columns) == ["region"]
    assert parts(widened)[1:] == parts(POLICY)[1:]


@pytest.mark.req("CR-27")
def test_an_empty_part_of_a_dataset_removes_it() -> None:
    bare = declared(POLICY, columns={}, row_filters=[])
    unmeasured = declared(POLICY, measures=[])

    assert parts(bare) == ({}, (), POLICY.measures)
    assert parts(unmeasured) == (POLICY.columns, POLICY.row_filters, ())


def test_a_new_dataset_has_no_part_that_is_left_out() -> None:
    assert parts(declared(None)) == ({}, (), ())
    assert declared(None).visibility == "workspace"


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("visibility", ["workspace", "restricted", "private"])
def test_a_visibility_that_is_left_out_stays_as_it_is(visibility: Visibility) -> None:
    source, dataset = (
        replace(SOURCE_STATE, visibility=visibility),
        replace(DATASET_STATE, visibility=visibility),
    )

    changes = decide_declare_source(PAT, OPEN, source, SOURCE_BODY)
    again = declared(dataset)

    assert [type(change.data) for change in changes] == [events.SourceDeclared]
    assert isinstance(changes[0].data, events.SourceDeclared)
    assert changes[0].data.visibility == again.visibility == visibility
    # Control: what is said is done.
    opened = SOURCE_BODY.model_copy(update={"visibility": "workspace"})
    said = [type(each.data) for each in decide_declare_source(PAT, OPEN, source, opened)]
    assert (events.VisibilityChanged in said) is (visibility != "workspace")
    assert declared(dataset, visibility="workspace").visibility == "workspace"


def test_parts_that_fit_only_without_those_that_stay_are_refused() -> None:
    wide = {f"{number:03}{'c' * 60}": {"type": "t" * 40} for number in range(500)}
    texts = ["x" * 500] * 300
    filters = [{"roles": ["reader"], "column": "region", "allowed": texts}]
    held = replace(POLICY, columns=declared(None, columns=wide).columns)

    assert declared(POLICY, row_filters=filters).row_filters
    with pytest.raises(Rejected) as refused:
        declared(held, row_filters=filters)
    assert (refused.value.code, refused.value.field) == ("declaration_too_large", "columns")
    assert declared(held, columns={}, row_filters=filters).row_filters
