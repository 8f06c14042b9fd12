"""Names that would forge what stands around them, and texts that cannot be stored, are refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.declaring import decide_declare_dataset, decide_declare_source
from chancery.authority.files import decide_upload_file
from chancery.authority.items import decide_save_draft
from chancery.authority.wording import UnreadableText, check_name, check_storable, check_wording
from chancery.authority.workspaces import decide_create_workspace, decide_revise_policy
from chancery.events import authority as events
from chancery.events import commands
from chancery.kernel.canonical import canonical_bytes, parse_json
from tests.unit.authority.bodies import OPEN
from tests.unit.authority.knowledge import OPEN_ROOTS, SAVE, UPLOAD
from tests.unit.authority.worlds import actor

REORDERING = "Budget \u202e4202 tfard"


@pytest.mark.parametrize(
    "name", ["Handbook", "\u624b\u518c", "a\u0301", "\u05e1\u05e4\u05e8\u200f 7", "#", "\U0001f4c4"]
)
def test_a_readable_name_in_any_script_is_taken(name: str) -> None:
    changes = _declaring_a_source(name)

    assert changes != ()


@pytest.mark.parametrize(
    "name",
    ["", " ", "\u00a0", "\u200b", "\ufeff", "\U000e0041", "\u0301", REORDERING, "\u2066x",
     "\u3164", "\u2800", "\u115f\u1160", "\uffa0 \u200b",
     "a\nb", "a\tb", "a\rb", "a\x00b", "a\x1bb", "a\x85b", "a\u2028b", "a\u2029b", "a\ud800b"],
)  # fmt: skip
def test_a_name_that_shows_nothing_or_forges_is_refused_by_field(name: str) -> None:
    with pytest.raises(UnreadableText) as refused:
        check_name(name, field="title")

    assert refused.value.field == "title"


def test_a_description_may_have_lines_and_no_override() -> None:
    check_wording("one\n\ttwo", field="description")

    with pytest.raises(UnreadableText):
        check_wording("one\u202dtwo", field="description")


@pytest.mark.parametrize("sign", ["\x00", "\ud800", "\ufffe", "\U0010ffff", "\ufdd0"])
def test_a_text_that_cannot_be_stored_is_found_wherever_it_stands(sign: str) -> None:
    check_storable({"a": [{"b": "text"}, 1, None, True]})

    with pytest.raises(UnreadableText) as refused:
        check_storable({"a": [{"b": f"te{sign}xt"}]})
    assert refused.value.field == "a.0.b"
    with pytest.raises(UnreadableText):
        check_storable({"a": {f"na{sign}me": 1}})


@given(st.text())
def test_what_is_storable_survives_canonical_json(text: str) -> None:
    try:
        check_storable(text)
    except UnreadableText:
        return
    assert parse_json(canonical_bytes(text)) == text
    assert "\x00" not in text


Naming = Callable[[str], object]


def _creating(text: str) -> object:
    command = commands.CreateWorkspace(workspace_id="new", title=text)
    return decide_create_workspace(actor("admin", tenant_admin=True), None, command)


def _revising(text: str) -> object:
    command = commands.RevisePolicy(workspace_id="ws", policy_revision=text)
    return decide_revise_policy(actor("admin"), OPEN, None, command)


def _declaring_a_source(text: str) -> object:
    command = commands.DeclareSource(workspace_id="ws", source_id="s", title=text)
    return decide_declare_source(actor("publisher"), OPEN, None, command)


def _declaring_a_dataset(text: str) -> object:
    command = commands.DeclareDataset(workspace_id="ws", dataset_id="d", title=text)
    return decide_declare_dataset(actor("publisher"), OPEN, None, command)


def _measuring(name: str = "total", synonym: str = "sum", description: str = "") -> object:
    measure = events.Measure(
        name=name, description=description, synonyms=(synonym,), aggregate="count"
    )
    command = commands.DeclareDataset(
        workspace_id="ws", dataset_id="d", title="Orders", measures=(measure,)
    )
    return decide_declare_dataset(actor("publisher"), OPEN, None, command)


def _drafting(text: str) -> object:
    command = SAVE.model_copy(update={"title": text})
    return decide_save_draft(actor("curator"), OPEN, None, command, roots=OPEN_ROOTS)


def _uploading(text: str) -> object:
    return decide_upload_file(actor(None), None, UPLOAD.model_copy(update={"title": text}))


NAMINGS: tuple[tuple[Naming, str], ...] = (
    (_creating, "title"),
    (_revising, "policy_revision"),
    (_declaring_a_source, "title"),
    (_declaring_a_dataset, "title"),
    (_drafting, "title"),
    (_uploading, "title"),
    (lambda text: _measuring(name=text), "measures.0.name"),
    (lambda text: _measuring(synonym=text), "measures.0.synonyms"),
    (lambda text: _measuring(description=text), "measures.0.description"),
)


@pytest.mark.parametrize(("decide", "field"), NAMINGS)
def test_every_command_that_names_something_checks_the_name(decide: Naming, field: str) -> None:
    assert decide("Readable") != ()

    with pytest.raises(UnreadableText) as refused:
        decide(REORDERING)
    assert refused.value.field == field
