"""The log's adapter keeps the contract that the memory log of the unit tests keeps."""

from __future__ import annotations

import pytest

from chancery.bus.connection import connect
from chancery.ingestion.adapters.log import AuthorityLog
from tests.unit.ingestion.contract import check_log

pytestmark = pytest.mark.integration


async def test_the_authority_log_keeps_the_contract(provisioned_nats_url: str) -> None:
    async with connect(provisioned_nats_url, name="test") as connection:
        log = AuthorityLog(connection)

        await check_log(log)

        assert await log.position() == 4
