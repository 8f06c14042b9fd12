"""Corpora: declared once, asked by request pairs, and the index state of their revisions."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from chancery.events import commands, corpora, queries
from chancery.evidence.corpora import CorpusDeclaration
from chancery.evidence.corpus_text import format_line, parse_declaration
from chancery.extract.media import check_charset
from chancery.gateway.domain.knowledge import (
    AvailableBody,
    CorpusBody,
    CorpusQuestion,
    CorpusReply,
    RecordBody,
    RequestPair,
)
from chancery.gateway.domain.media import UnsupportedMediaType, essence
from chancery.gateway.domain.problems import FIELD_CHARACTERS_MAX
from chancery.gateway.domain.searches import RefreshBody
from chancery.gateway.errors import QuestionMissing
from chancery.gateway.handlers.asking import announce_cancel, announce_request
from chancery.gateway.handlers.edge import Context, Here, PathId, RevisionNumber
from chancery.gateway.handlers.refreshing import refresh_source
from chancery.kernel.canonical import canonical_bytes, parse_json, sha256_hex
from chancery.kernel.errors import Rejected, TooLarge
from chancery.runtime.misspelled import fields_at
from chancery.runtime.sentences import Misfit, sentence_of

router = APIRouter(prefix="/v1/workspaces/{ws}/corpora", tags=["corpora"])

DECLARATION_BYTES_MAX = 16 * 1024
_TEXTS = frozenset({"text/plain", "application/yaml", "text/yaml"})
_TEXT = {"schema": {"type": "string"}}


@router.put(
    "/{corpus}",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": CorpusBody.model_json_schema()},
                "application/yaml": _TEXT,
                "text/plain": _TEXT,
            },
        }
    },
)
async def declare_corpus(ws: PathId, corpus: PathId, request: Request, here: Here) -> CorpusReply:
    """Declare a corpus in JSON, in YAML, or on one line; it grants nobody anything."""
    declaration = _declared(corpus, request.headers.get("content-type", ""), await request.body())
    command = commands.DeclareCorpus(
        workspace_id=ws,
        corpus_id=corpus,
        **declaration.model_dump(exclude={"corpus"}),
    )
    await here.command("ingestion", "declare-corpus", command, commands.Outcome)
    return _reply(declaration)


@router.get("/{corpus}")
async def read_corpus(ws: PathId, corpus: PathId, here: Here) -> CorpusReply:
    """Return a corpus as it is declared now."""
    question = queries.OfCorpus(workspace_id=ws, corpus_id=corpus)
    view = await here.query("release", "corpus", question, queries.CorpusView)
    named = view.model_dump(include={"model", "scope", "title", "content", "where", "binding"})
    return _reply(CorpusDeclaration.model_validate({"corpus": view.id, **named}))


@router.post("/{corpus}/answer", status_code=202)
async def ask_corpus(ws: PathId, corpus: PathId, body: CorpusQuestion, here: Here) -> Response:
    """Ask a question; its pair of source and revision starts one run, and repeats return it."""
    question = body.question.encode()
    command = corpora.AskCorpus(
        workspace_id=ws,
        corpus_id=corpus,
        source=body.source,
        revision=body.revision,
        question_sha256=sha256_hex(question),
        question_characters=len(body.question),
        bounds=body.bounds(),
    )
    begun = await here.command("release", "ask-corpus", command, corpora.RunBegun)
    if begun.is_open:
        await here.edge.blobs.put_run(here.call.caller.tenant, begun.asked.run_id, question)
        await announce_request(here, begun)
    return await _run(here, begun, body, status=202)


@router.post("/{corpus}/cancel", status_code=202)
async def cancel_request(ws: PathId, corpus: PathId, body: RequestPair, here: Here) -> Response:
    """Give the run of a request pair up, and return it."""
    found = await _begun(here, ws, corpus, body)
    await announce_cancel(here, found.asked.run_id, found.generation)
    return await _run(here, found, body, status=202)


@router.post("/{corpus}/reconcile")
async def reconcile_request(ws: PathId, corpus: PathId, body: RequestPair, here: Here) -> Response:
    """Bring an uncertain request to its end: announce it again if it is open; return its run."""
    found = await _begun(here, ws, corpus, body)
    if found.is_open:
        await _require_question(here, found)
        await announce_request(here, found)
    return await _run(here, found, body, status=200)


@router.post("/{corpus}/available")
async def is_available(
    ws: PathId, corpus: PathId, body: AvailableBody, here: Here
) -> corpora.Availability:
    """Tell whether an answer could be disclosed now: false for null or invalidated context."""
    handle = body.answer
    question = corpora.OfCorpusAnswer(
        workspace_id=ws,
        corpus_id=corpus,
        run_id=None if handle is None else handle.run_id,
        generation=None if handle is None else handle.generation,
    )
    return await here.query("release", "available", question, corpora.Availability)


@router.post("/{corpus}/refresh", status_code=202)
async def refresh_record(
    ws: PathId, corpus: PathId, body: RecordBody, here: Here
) -> corpora.RecordStatus:
    """Ask for an exact eligible revision to be indexed again, at most once in a minute."""
    await _status(here, ws, corpus, body.source, body.revision)
    told = await refresh_source(ws, body.source, RefreshBody(revision=body.revision), here)
    return corpora.RecordStatus(
        source=body.source, revision=told.revision, state=told.state, reason=told.reason
    )


@router.get("/{corpus}/status/{source}/{revision}")
async def read_status(
    ws: PathId, corpus: PathId, source: PathId, revision: RevisionNumber, here: Here
) -> corpora.RecordStatus:
    """Return the index state of a revision of the corpus; nothing is written."""
    return await _status(here, ws, corpus, source, revision)


def _declared(name: str, content_type: str, body: bytes) -> CorpusDeclaration:
    """Return the declaration in a body; it may name itself, as the path does.

    Raises:
        Rejected: with the attribute as `field`.
    """
    media_type = essence(content_type)
    if len(body) > DECLARATION_BYTES_MAX:
        message = f"a declaration takes at most {DECLARATION_BYTES_MAX} bytes"
        raise TooLarge(message, field="body")
    if media_type == "application/json":
        return _from_json(body).declaration(name)
    if media_type not in _TEXTS:
        message = "declare a corpus as application/json, application/yaml or text/plain"
        raise UnsupportedMediaType(message, field="Content-Type")
    check_charset(content_type)
    try:
        declaration = parse_declaration(body.decode())
    except UnicodeDecodeError as error:
        message = "the declaration is not UTF-8"
        raise Rejected(message, field="body", code="invalid_utf8") from error
    if declaration.corpus != name:
        message = "the declaration names another corpus than the path"
        raise Rejected(message, field="corpus", code="other_corpus")
    return declaration


def _from_json(body: bytes) -> CorpusBody:
    try:
        return CorpusBody.model_validate_json(body)
    except ValidationError as error:
        misfits = [Misfit.model_validate(each) for each in error.errors()]
        # A misspelt attribute is missing as well: what was written says more than what was not.
        first = next((each for each in misfits if each.type == "extra_forbidden"), misfits[0])
        place = ".".join(str(step) for step in first.loc)[:FIELD_CHARACTERS_MAX] or "body"
        message = f"{place}: {sentence_of(first, fields_at(CorpusBody, first.loc[:-1]))}"
        raise Rejected(message, field=place, code="invalid_request") from error


def _reply(declaration: CorpusDeclaration) -> CorpusReply:
    return CorpusReply(
        id=declaration.corpus,
        **declaration.model_dump(exclude={"corpus"}),
        declaration=format_line(declaration),
        declaration_sha256=declaration.sha256,
    )


async def _begun(
    here: Context, workspace_id: str, corpus_id: str, pair: RequestPair
) -> corpora.RunBegun:
    question = corpora.OfCorpusRun(
        workspace_id=workspace_id, corpus_id=corpus_id, source=pair.source, revision=pair.revision
    )
    return await here.query("release", "corpus-run", question, corpora.RunBegun)


async def _require_question(here: Context, begun: corpora.RunBegun) -> None:
    """Refuse to announce a run whose question was never stored: its run would end without it."""
    asked, tenant = begun.asked, here.call.caller.tenant
    if not await here.edge.blobs.exists(tenant, asked.question_sha256, run=asked.run_id):
        message = "the question did not arrive; repeat the request itself, with this pair"
        raise QuestionMissing(message)


async def _run(
    here: Context, begun: corpora.RunBegun, pair: RequestPair, *, status: int
) -> Response:
    """Return the run as its caller sees it, under the pair by which the caller knows it."""
    question = queries.OfRun(run_id=begun.asked.run_id)
    document = await here.query("release", "run", question, queries.Document)
    shown = parse_json(document.json_text)
    assert isinstance(shown, Mapping), "a run is an object"
    named = {**shown, "source": pair.source, "revision": pair.revision}
    place = {"Location": f"/v1/runs/{begun.asked.run_id}"}
    return Response(
        canonical_bytes(named), status_code=status, media_type="application/json", headers=place
    )


async def _status(
    here: Context, workspace_id: str, corpus_id: str, source: str, revision: int
) -> corpora.RecordStatus:
    question = corpora.OfRecord(
        workspace_id=workspace_id, corpus_id=corpus_id, source=source, revision=revision
    )
    return await here.query("release", "corpus-record", question, corpora.RecordStatus)
