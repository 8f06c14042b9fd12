"""What the commands about corpora call, and what they tell of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chancery.client.command.arguments import check_words, given_id
from chancery.client.command.cells import cells_of, tell_cells, with_cells
from chancery.client.command.coverage import tell_answer_coverage
from chancery.client.command.output import EXIT_DONE, EXIT_REFUSED, tell, tell_json, tell_progress
from chancery.client.command.reading import read_text
from chancery.client.command.server import entering, server_client
from chancery.client.command.settings import load_settings
from chancery.client.handles import AnswerHandle
from chancery.client.knowledge import CorpusAsk, CorpusRun, RecordStatus
from chancery.client.replies import SealedAnswer
from chancery.evidence.corpus_text import TEXT_MAX, parse_declaration

_DECLARATION_BYTES_MAX = 4 * TEXT_MAX
"""As many bytes as the characters of a declaration may take."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A question to a corpus; no policy revision means the current one."""

    corpus_id: str
    source: str
    revision: int
    question: str
    profile: str
    policy_revision: str | None


async def declare_corpus(workspace_id: str, path: Path, *, as_json: bool) -> None:
    """Check the declaration here, declare it there, and print its one line."""
    given_id(workspace_id, field="--workspace")
    text = read_text(path, bytes_max=_DECLARATION_BYTES_MAX)
    declaration = parse_declaration(text)
    async with server_client(load_settings()) as client:
        with entering(workspace_id):
            found = await client.workspace(workspace_id).corpora.declare(declaration.corpus, text)
    if as_json:
        tell_json(found.model_dump(mode="json", by_alias=True))
    else:
        tell(found.declaration)


async def show_corpus(workspace_id: str, corpus_id: str, *, as_json: bool) -> None:
    """Print the declaration of a corpus."""
    given_id(workspace_id, field="--workspace")
    given_id(corpus_id, field="corpus")
    async with server_client(load_settings()) as client:
        found = await client.workspace(workspace_id).corpora.read(corpus_id)
    if as_json:
        tell_json(found.model_dump(mode="json", by_alias=True))
    else:
        tell(found.declaration)


async def ask_corpus(workspace_id: str, asking: Asking, *, as_json: bool) -> int:
    """Ask, wait, and print the answer; return 0 for a sealed one, else 1."""
    given_id(workspace_id, field="--workspace")
    given_id(asking.corpus_id, field="corpus")
    check_words(asking.question, field="question")
    async with server_client(load_settings()) as client:
        workspace = client.workspace(workspace_id)
        policy_revision = asking.policy_revision
        if policy_revision is None:
            with entering(workspace_id):
                policy_revision = (await workspace.policy()).policy_revision
        ask = CorpusAsk(
            source=asking.source,
            revision=asking.revision,
            question=asking.question,
            profile=asking.profile,
            policy_revision=policy_revision,
        )
        run = await workspace.corpora.answer(asking.corpus_id, ask)
        answer = await client.answer(await client.wait(run.run_id))
        cells = await cells_of(workspace, answer)
    if as_json:
        tell_json(with_cells(answer.model_dump(mode="json"), cells))
    else:
        tell(answer.text if isinstance(answer, SealedAnswer) else answer.explanation)
        tell_cells(answer, cells)
        tell_answer_coverage(answer)
        tell_progress(f"{answer.status}: run {answer.run_id}")
    return EXIT_DONE if isinstance(answer, SealedAnswer) else EXIT_REFUSED


async def tell_status(
    workspace_id: str, corpus_id: str, source_id: str, revision: int, *, as_json: bool
) -> None:
    """Print the index state of a revision."""
    given_id(workspace_id, field="--workspace")
    given_id(corpus_id, field="corpus")
    async with server_client(load_settings()) as client:
        corpora = client.workspace(workspace_id).corpora
        found = await corpora.status(corpus_id, source_id, revision)
    _tell_state(found, as_json=as_json)


async def refresh_record(
    workspace_id: str, corpus_id: str, source_id: str, revision: int, *, as_json: bool
) -> None:
    """Ask for a revision to be indexed again, and print its state."""
    given_id(workspace_id, field="--workspace")
    given_id(corpus_id, field="corpus")
    async with server_client(load_settings()) as client:
        corpora = client.workspace(workspace_id).corpora
        found = await corpora.refresh(corpus_id, source_id, revision)
    _tell_state(found, as_json=as_json)


async def cancel_request(
    workspace_id: str, corpus_id: str, source: str, revision: int, *, as_json: bool
) -> None:
    """Give the run of a request pair up, and print its state."""
    given_id(workspace_id, field="--workspace")
    given_id(corpus_id, field="corpus")
    async with server_client(load_settings()) as client:
        corpora = client.workspace(workspace_id).corpora
        run = await corpora.cancel(corpus_id, source, revision)
    _tell_run(run, as_json=as_json)


async def reconcile_request(
    workspace_id: str, corpus_id: str, source: str, revision: int, *, as_json: bool
) -> None:
    """Bring an uncertain request to its end, and print the state of its run."""
    given_id(workspace_id, field="--workspace")
    given_id(corpus_id, field="corpus")
    async with server_client(load_settings()) as client:
        corpora = client.workspace(workspace_id).corpora
        run = await corpora.reconcile(corpus_id, source, revision)
    _tell_run(run, as_json=as_json)


async def tell_availability(
    workspace_id: str, corpus_id: str, run_id: str, *, as_json: bool
) -> int:
    """Print whether the newest answer of a run could be shown now; return 0 if so, else 1."""
    given_id(workspace_id, field="--workspace")
    given_id(corpus_id, field="corpus")
    given_id(run_id, field="run")
    async with server_client(load_settings()) as client:
        corpora = client.workspace(workspace_id).corpora
        is_available = await corpora.is_available(corpus_id, AnswerHandle(run_id))
    if as_json:
        tell_json({"available": is_available})
    else:
        tell("available" if is_available else "not available")
    return EXIT_DONE if is_available else EXIT_REFUSED


def _tell_state(found: RecordStatus, *, as_json: bool) -> None:
    if as_json:
        tell_json(found.model_dump(mode="json"))
    else:
        tell(found.state + (f" ({found.reason})" if found.reason else ""))


def _tell_run(run: CorpusRun, *, as_json: bool) -> None:
    if as_json:
        tell_json(run.model_dump(mode="json"))
    else:
        tell(f"{run.state}: run {run.run_id}")
