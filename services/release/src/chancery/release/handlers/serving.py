"""Which handler answers which request subject: exactly those that the topology gives to release."""

from __future__ import annotations

from chancery.events import commands, corpora, queries, search
from chancery.events.topology import command_subject, query_subject
from chancery.release.handlers.commands import Commands
from chancery.release.handlers.corpora import Corpora
from chancery.release.handlers.disclosures import Disclosures
from chancery.release.handlers.event_rows import RowsOfRun
from chancery.release.handlers.knowledge import Knowledge
from chancery.release.handlers.questions import Questions
from chancery.release.handlers.retrying import Retrying
from chancery.release.handlers.searching import Searching
from chancery.release.ports import Responders


def serve_knowledge(service: Responders, handlers: Knowledge, asking: Corpora) -> None:
    """Answer everything about curated items, private files and corpora."""
    service.responder(query_subject("release", "items"), queries.OfWorkspace, handlers.items)
    service.responder(query_subject("release", "item"), queries.OfResource, handlers.item)
    service.responder(query_subject("release", "files"), queries.OwnFiles, handlers.files)
    service.responder(query_subject("release", "corpus"), queries.OfCorpus, handlers.corpus)
    service.responder(query_subject("release", "corpus-record"), corpora.OfRecord, handlers.record)
    service.responder(query_subject("release", "corpus-run"), corpora.OfCorpusRun, asking.run)
    service.responder(
        query_subject("release", "available"), corpora.OfCorpusAnswer, asking.available
    )
    service.responder(command_subject("release", "ask-corpus"), corpora.AskCorpus, asking.ask)


def serve_commands(service: Responders, handlers: Commands, retry: Retrying) -> None:
    """Answer every command of release."""
    service.responder(
        command_subject("release", "create-conversation"),
        commands.CreateConversation,
        handlers.create_conversation,
    )
    service.responder(
        command_subject("release", "post-message"), commands.PostMessage, handlers.post_message
    )
    service.responder(command_subject("release", "retry-run"), commands.RetryRun, retry)


def serve_questions(service: Responders, handlers: Questions, searching: Searching) -> None:
    """Answer every query about access and resources."""
    scope = query_subject("release", "search-scope")
    service.responder(scope, search.SearchScopeOf, searching)
    service.responder(query_subject("release", "identity"), queries.WhoAmI, handlers.identity)
    service.responder(query_subject("release", "authorise"), queries.OfResource, handlers.authorise)
    service.responder(query_subject("release", "sources"), queries.OfWorkspace, handlers.sources)
    service.responder(query_subject("release", "source"), queries.OfResource, handlers.source)
    service.responder(query_subject("release", "datasets"), queries.OfWorkspace, handlers.datasets)
    service.responder(
        query_subject("release", "credential"), queries.OfCredential, handlers.credential
    )
    service.responder(query_subject("release", "policy"), queries.OfWorkspace, handlers.policy)


def serve_disclosures(service: Responders, handlers: Disclosures, rows: RowsOfRun) -> None:
    """Answer every query that discloses something of a run."""
    service.responder(query_subject("release", "run"), queries.OfRun, handlers.run)
    service.responder(query_subject("release", "answer"), queries.OfRun, handlers.answer)
    service.responder(query_subject("release", "audit"), queries.OfRun, handlers.audit)
    service.responder(query_subject("release", "bundle"), queries.OfRun, handlers.bundle)
    service.responder(query_subject("release", "events"), queries.EventsAfter, rows)
    service.responder(
        query_subject("release", "conversation"), queries.OfConversation, handlers.conversation
    )
