"""Measured work in a process of its own: started with arguments, answers in one line of JSON."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from pydantic import BaseModel

READY: Final = b"ready\n"
READY_WITHIN_S: Final = 60.0
DONE_WITHIN_S: Final = 900.0

ToldT = TypeVar("ToldT", bound=BaseModel)


async def told_by(
    model: type[ToldT], module: str, *arguments: str, settings: Mapping[str, str]
) -> ToldT:
    """Run a module to its end and return what it printed."""
    process = await _started(module, arguments, settings)
    async with asyncio.timeout(DONE_WITHIN_S):
        output, _ = await process.communicate()
    if process.returncode != 0:
        message = f"{module} ended with {process.returncode}; its errors stand above"
        raise RuntimeError(message)
    return model.model_validate_json(output)


@asynccontextmanager
async def running_beside(
    module: str, *arguments: str, settings: Mapping[str, str]
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Run a module while the block runs; it says when it is ready and ends with its input."""
    process = await _started(module, arguments, settings)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            if await process.stdout.readline() != READY:
                message = f"{module} ended before it was ready; its errors stand above"
                raise RuntimeError(message)
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def ended(model: type[ToldT], process: asyncio.subprocess.Process) -> ToldT:
    """Let a process beside end, and return what it printed last."""
    async with asyncio.timeout(READY_WITHIN_S):
        output, _ = await process.communicate(b"")
    return model.model_validate_json(output)


async def _started(
    module: str, arguments: tuple[str, ...], settings: Mapping[str, str]
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **settings},
    )
