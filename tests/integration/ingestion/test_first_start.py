"""The first start on a real log, by one process and by several."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chancery.authority.tokens import parse_token, proof_of
from chancery.bus.connection import connect
from chancery.events.commands import (
    RevokeCredential,
)
from chancery.ingestion.adapters.log import AuthorityLog
from chancery.ingestion.adapters.token_file import OperatorTokenFile
from chancery.ingestion.domain import access
from chancery.ingestion.domain.first_start import Operator
from chancery.ingestion.errors import ForeignTokenKey
from chancery.ingestion.handlers.first_start import write_token
from chancery.kernel.errors import Denied
from tests.integration.ingestion.bodies import (
    WORKSPACE,
    begin,
)
from tests.integration.ingestion.harness import (
    ADMIN,
    TOKEN_KEY,
    Desk,
    new_executor,
    open_desk,
)

pytestmark = pytest.mark.integration


async def test_of_processes_that_start_at_once_one_begins_the_log(
    provisioned_nats_url: str,
) -> None:
    async with connect(provisioned_nats_url, name="test") as connection:
        executors = [new_executor(AuthorityLog(connection)) for _ in range(6)]

        await asyncio.gather(*(begin(each) for each in executors))

        desk = Desk(connection, executors[-1])
        assert await desk.position() == 3
        await desk.send(access.CREATE_WORKSPACE, WORKSPACE)


async def test_a_second_start_adds_nothing(provisioned_nats_url: str) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await begin(desk.restarted().executor)

        assert await desk.position() == 3


@pytest.mark.req("EV-10")
async def test_the_operator_token_is_written_where_it_is_missing_and_authenticates(
    provisioned_nats_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "data" / "operator.token"
    file, operator = OperatorTokenFile(path), Operator(TOKEN_KEY)
    async with open_desk(provisioned_nats_url) as desk:
        first = await write_token(desk.executor.aggregates, operator, file)
        again = await write_token(desk.executor.aggregates, operator, file)
        token = parse_token(path.read_text(encoding="ascii").strip())
        mode = path.stat().st_mode & 0o777
        path.unlink()
        after_loss = await write_token(desk.executor.aggregates, operator, file)

        assert (first, again, after_loss) == (True, False, True)
        assert mode == 0o600
        assert [each.name for each in path.parent.iterdir()] == ["operator.token"]
        assert (token.tenant, token.principal) == ("default", "admin")
        assert proof_of(token.secret) == ADMIN.proof


async def test_another_token_key_and_a_revoked_credential_write_no_token(
    provisioned_nats_url: str, tmp_path: Path
) -> None:
    file = OperatorTokenFile(tmp_path / "operator.token")
    async with open_desk(provisioned_nats_url) as desk:
        with pytest.raises(ForeignTokenKey):
            await write_token(desk.executor.aggregates, Operator(b"x" * 32), file)

        body = RevokeCredential(principal="admin", credential_id=ADMIN.credential_id)
        await desk.send(access.REVOKE_CREDENTIAL, body)

        assert not await write_token(desk.executor.aggregates, Operator(TOKEN_KEY), file)
        with pytest.raises(Denied):
            await desk.send(access.CREATE_WORKSPACE, WORKSPACE)
    assert not await file.exists()
