"""`verify`: a saved bundle, or the one that the server hands out for a run now."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from chancery.client.command.output import WrongUsage, tell, tell_json
from chancery.client.command.server import server_client
from chancery.client.command.settings import load_settings
from chancery.client.demo.closing import report_lines
from chancery.kernel.errors import Rejected
from chancery.kernel.ids import ID_PATTERN
from chancery.verify.verify import BUNDLE_BYTES_MAX, verify_bundle

_KEY = re.compile(r"[0-9a-fA-F]{64}")


class NothingToVerify(Rejected):
    """What was named is neither a file nor a run."""

    code = "nothing_to_verify"


def run_verify(subject: str, public_key: str | None, *, as_json: bool) -> int:
    """Verify what `subject` names, print the report and return its exit code."""
    trusted = None if public_key is None else _key(public_key)
    report = verify_bundle(_bundle(subject), public_key=trusted)
    if as_json:
        tell_json(report.to_json())
    else:
        for line in report_lines(report):
            tell(line)
    return report.exit_code


def _bundle(subject: str) -> bytes:
    path = Path(subject)
    if path.exists():
        with path.open("rb") as file:
            return file.read(BUNDLE_BYTES_MAX + 1)
    if re.fullmatch(ID_PATTERN, subject) is None:
        message = f"{subject} is no file that exists and no id of a run"
        raise NothingToVerify(message, field="subject")
    return asyncio.run(_of_run(subject))


async def _of_run(run_id: str) -> bytes:
    settings = load_settings()
    async with server_client(settings) as client:
        return await client.bundle(run_id)


def _key(text: str) -> bytes:
    if _KEY.fullmatch(text) is None:
        message = "a public key is 64 hex digits"
        raise WrongUsage(message, field="--public-key", code="invalid_key")
    return bytes.fromhex(text)
