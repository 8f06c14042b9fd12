"""Release answers exactly the subjects that the topology gives it, with their models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar, get_type_hints

from chancery.events.requests import Message, Request
from chancery.events.topology import REQUESTS
from chancery.release.handlers.commands import Commands
from chancery.release.handlers.corpora import Corpora
from chancery.release.handlers.disclosures import Disclosures
from chancery.release.handlers.event_rows import RowsOfRun
from chancery.release.handlers.knowledge import Knowledge
from chancery.release.handlers.questions import Questions
from chancery.release.handlers.retrying import Retrying
from chancery.release.handlers.searching import Searching
from chancery.release.handlers.serving import (
    serve_commands,
    serve_disclosures,
    serve_knowledge,
    serve_questions,
)

BodyT = TypeVar("BodyT", bound=Message)
AnswerT = TypeVar("AnswerT", bound=Message)


@dataclass(slots=True)
class Recorder:
    """Remembers what was registered."""

    served: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    def responder(
        self,
        subject: str,
        body_type: type[BodyT],
        handler: Callable[[Request[BodyT]], Awaitable[AnswerT]],
    ) -> None:
        method = handler if hasattr(handler, "__name__") else type(handler).__call__
        reply = get_type_hints(method)["return"]
        self.served[subject] = (body_type.__name__, reply.__name__)


def test_release_serves_exactly_its_requests() -> None:
    recorder = Recorder()
    wanted = {
        each.subject: (each.request, each.reply)
        for each in REQUESTS
        if each.server == "release" and each.clients == ("gateway",)
    }

    serve_commands(recorder, Commands.__new__(Commands), Retrying.__new__(Retrying))
    serve_questions(recorder, Questions.__new__(Questions), Searching.__new__(Searching))
    serve_knowledge(recorder, Knowledge.__new__(Knowledge), Corpora.__new__(Corpora))
    serve_disclosures(recorder, Disclosures.__new__(Disclosures), RowsOfRun.__new__(RowsOfRun))

    assert recorder.served == wanted
    assert len(wanted) > 10
