"""Request and reply: a refusal crosses the bus as it was raised."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

from chancery import events
from chancery.events.requests import Failure, Message
from chancery.events.topology import REQUESTS
from chancery.kernel.errors import (
    ChanceryError,
    Conflict,
    Corrupt,
    Denied,
    NotFound,
    Rejected,
    TooLarge,
    Unavailable,
)

HOMES = tuple(
    import_module(f"{events.__name__}.{each.name}") for each in iter_modules(events.__path__)
)


@pytest.mark.parametrize(
    "kind", [Rejected, NotFound, Denied, TooLarge, Conflict, Unavailable, Corrupt]
)
def test_a_refusal_comes_back_as_the_same_error(kind: type[ChanceryError]) -> None:
    error = kind("what to do", field="body.title", code="some_code")

    returned = Failure.of(error).to_error()

    assert type(returned) is kind
    assert (returned.detail, returned.field, returned.code) == (
        "what to do",
        "body.title",
        "some_code",
    )


def test_every_request_names_models_that_exist() -> None:
    for topic in REQUESTS:
        for name in (topic.request, topic.reply):
            found = [vars(home)[name] for home in HOMES if name in vars(home)]
            model: object = found[0] if found else None
            assert isinstance(model, type), name
            assert issubclass(model, Message), name


def test_a_subject_is_served_once() -> None:
    subjects = [topic.subject for topic in REQUESTS]

    assert len(set(subjects)) == len(subjects)
