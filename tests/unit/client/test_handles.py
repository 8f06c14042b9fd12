"""A handle is no text, and nothing makes text of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chancery.client.handles import AnswerHandle

USES: tuple[Callable[[AnswerHandle], object], ...] = (
    str,
    lambda handle: f"{handle}",
    lambda handle: f"{handle:>10}",
    lambda handle: "%s" % handle,  # noqa: UP031 - this is one of the ways
    lambda handle: handle + "",
    lambda handle: "" + handle,
)


@pytest.mark.req("CL-11")
@pytest.mark.parametrize("use", USES)
def test_making_text_of_a_handle_is_an_error(use: Callable[[AnswerHandle], object]) -> None:
    handle = AnswerHandle("run-1", 1)

    with pytest.raises(TypeError):
        use(handle)


@pytest.mark.req("CL-11")
@pytest.mark.parametrize("name", ["text", "citations", "statements", "cards"])
def test_a_handle_holds_no_content(name: str) -> None:
    handle = AnswerHandle("run-1", 1)

    assert not hasattr(handle, name)
    assert hasattr(handle, "run_id")


def test_a_handle_can_be_looked_at_while_debugging() -> None:
    shown = repr(AnswerHandle("run-1", 1))

    assert shown == "AnswerHandle(run_id='run-1', generation=1)"
