"""`token` and `ask`: one call each to a server that runs somewhere."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from chancery.client.command.arguments import check_ids, check_words, given_id
from chancery.client.command.cells import Cells, cells_of, tell_cells, with_cells
from chancery.client.command.coverage import tell_answer_coverage
from chancery.client.command.file_ids import readable
from chancery.client.command.output import (
    EXIT_DONE,
    EXIT_REFUSED,
    tell,
    tell_json,
    tell_progress,
)
from chancery.client.command.progress import showing_progress
from chancery.client.command.server import entering, server_client
from chancery.client.command.settings import load_settings
from chancery.client.http import Ask
from chancery.client.replies import Answer, SealedAnswer
from chancery.kernel.errors import Rejected


async def issue_token(principal: str, tenant: str | None, *, as_json: bool) -> None:
    """Issue a credential and print its token."""
    given_id(principal, field="--principal")
    if tenant is not None:
        given_id(tenant, field="--tenant")
    settings = load_settings()
    async with server_client(settings) as client:
        credential = await client.issue_credential(principal, tenant=tenant)
    if as_json:
        tell_json(credential.model_dump(mode="json"))
    else:
        tell(credential.token)


async def run_ask(ask: Ask, workspace_id: str, *, bundle: Path | None, as_json: bool) -> int:
    """Ask, print the answer, save its bundle; return 0 for a sealed one, else 1.

    Raises:
        Rejected: when the bundle could not be saved where it is wanted.
    """
    given_id(workspace_id, field="--workspace")
    check_words(ask.question, field="question")
    for option, ids in (
        ("--source", ask.sources),
        ("--item", ask.items),
        ("--dataset", ask.datasets),
        ("--file", ask.files),
    ):
        check_ids(ids, field=option)
    if bundle is not None:
        check_target(bundle)
    async with server_client(load_settings()) as client:
        workspace = client.workspace(workspace_id)
        with entering(workspace_id):
            conversation_id = await workspace.open_conversation()
        posted = await client.post_message(conversation_id, ask)
        with showing_progress(is_shown=not as_json) as heard:
            handle = await client.wait(posted.run_id, heard=heard)
        answer = await client.answer(handle)
        cells = await cells_of(workspace, answer)
        saved: Path | None = None
        try:
            if bundle is not None:
                data = await client.bundle(handle.run_id)
                saved = await asyncio.to_thread(_save, bundle, data)
        finally:
            _print(answer, saved, cells, as_json=as_json)
    return EXIT_DONE if isinstance(answer, SealedAnswer) else EXIT_REFUSED


def check_target(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is asked.

    Raises:
        Rejected: naming the folder, or saying that the path is one.
    """
    if path.is_dir():
        message = f"{path} is a folder; name a file in it"
        raise Rejected(message, field="--bundle", code="not_a_file")
    if not os.access(path.absolute().parent, os.W_OK | os.X_OK):
        message = f"{path.absolute().parent} is no folder that can be written to"
        raise Rejected(message, field="--bundle", code="folder_not_usable")


def _save(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path.absolute()


def _print(answer: Answer, saved: Path | None, cells: Cells, *, as_json: bool) -> None:
    if as_json:
        told = with_cells(answer.model_dump(mode="json"), cells)
        tell_json(told if saved is None else {**told, "bundle": readable(saved)})
        return
    tell(answer.text if isinstance(answer, SealedAnswer) else answer.explanation)
    tell_cells(answer, cells)
    tell_answer_coverage(answer)
    check = "verify" if isinstance(answer, SealedAnswer) else "audit"
    tell_progress(f"{answer.status}: chancery {check} {answer.run_id}")
    if saved is not None:
        tell_progress(f"saved: {readable(saved)}")
