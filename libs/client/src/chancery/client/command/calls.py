"""`token` and `ask`: one call each to a server that runs somewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path

from chancery.client.command.output import (
    EXIT_DONE,
    EXIT_REFUSED,
    tell,
    tell_json,
    tell_progress,
)
from chancery.client.command.server import server_client
from chancery.client.command.settings import load_settings
from chancery.client.http import Ask
from chancery.client.replies import Answer, SealedAnswer
from chancery.client.streaming import RunEvent


async def issue_token(principal: str, tenant: str | None, *, as_json: bool) -> None:
    """Issue a credential and print its token."""
    settings = load_settings()
    async with server_client(settings) as client:
        credential = await client.issue_credential(principal, tenant=tenant)
    if as_json:
        tell_json(credential.model_dump(mode="json"))
    else:
        tell(credential.token)


async def run_ask(ask: Ask, workspace_id: str, *, bundle: Path | None, as_json: bool) -> int:
    """Ask, print the answer, save its bundle; return 0 for a sealed one, else 1."""
    settings = load_settings()
    async with server_client(settings) as client:
        conversation_id = await client.workspace(workspace_id).open_conversation()
        posted = await client.post_message(conversation_id, ask)
        handle = await client.wait(posted.run_id, heard=None if as_json else _say)
        answer = await client.answer(handle)
        if bundle is not None:
            data = await client.bundle(handle.run_id)
            await asyncio.to_thread(bundle.write_bytes, data)
    _print(answer, as_json=as_json)
    return EXIT_DONE if isinstance(answer, SealedAnswer) else EXIT_REFUSED


def _say(event: RunEvent) -> None:
    stage = event.told.get("stage") or event.told.get("state")
    if stage is not None:
        tell_progress(f"{event.kind}: {stage}")


def _print(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        tell_json(answer.model_dump(mode="json"))
        return
    tell(answer.text if isinstance(answer, SealedAnswer) else answer.explanation)
    tell_progress(f"{answer.status}: chancery verify {answer.run_id}")
