"""Every column of the sealed record is compared: one changed by hand is found, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from chancery.release.domain.compared import COMPARED, NOT_COMPARED
from chancery.store.pool import Connection
from tests.integration.release import test_fsck
from tests.integration.release.lab import Lab

pytestmark = [pytest.mark.integration, pytest.mark.req("XB-2")]

lab = test_fsck.lab

CHANGES: Final[Mapping[str, str]] = {
    "text": "{0} = coalesce({0}, 'x') || '0'",
    "integer": "{0} = {0} + 1",
    "bigint": "{0} = {0} + 1",
    "bytea": "{0} = set_byte({0}, 9, get_byte({0}, 9) # 1)",
    "timestamp with time zone": "{0} = {0} + interval '1 day'",
}
OWN_CHANGES: Final[Mapping[tuple[str, str], str]] = {
    ("release", "kind"): "kind = 'refused', outcome = 'unavailable'",
    ("release", "outcome"): "kind = 'refused', outcome = 'unavailable'",
    ("release", "citations"): "citations = 2, cards = 2",
    ("release", "cards"): "citations = 2, cards = 2",
    ("release", "request"): 'request = request || \'{"policy_revision": "9"}\'',
    ("citation", "kind"): "kind = 'value'",
    ("content", "kind"): "kind = 'frame', n = 1",
    ("receipt", "receipt_sha256"): "receipt_sha256 = repeat('0', 64)",
    ("run", "state"): "state = 'refused'",
    ("run", "bounds"): "bounds = bounds || '{\"max_sources\": 3}'",
    ("run_event", "number"): "number = number + 9",
    ("run_event", "event"): "event = 'refused'",
    ("run_event", "body"): "body = '{}', release_id = NULL, event = 'state'",
}
WHERE: Final[Mapping[str, str]] = {
    "content": "kind = 'text'",
    "run_event": "release_id IS NOT NULL",
    "release_read": "kind = 'source'",
}
"""Of a table with many rows for a release: the one that is changed."""

RECORD: Final = tuple(COMPARED)

ANOTHER_STAGE: Final = """UPDATE release.run SET {0} = convert_to(regexp_replace(
    convert_from({0}, 'UTF8'), '"{1}":[0-9]+', '"{1}":77'), 'UTF8')"""
"""A stage that agrees with the receipt, and not with the event on the log."""


async def columns(db: Connection, table: str) -> dict[str, str]:
    rows = await db.fetch(
        """SELECT column_name, data_type FROM information_schema.columns
        WHERE table_schema = 'release' AND table_name = $1""",
        table,
    )
    return {str(row["column_name"]): str(row["data_type"]) for row in rows}


async def test_every_column_of_a_sealed_table_is_said_to_be_compared_to_something(lab: Lab) -> None:
    async with lab.superuser() as db:
        sealed = await db.fetch(
            """SELECT DISTINCT c.relname
            FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
            WHERE t.tgname = 'refuse_change'"""
        )
        found = {table: set(await columns(db, table)) for table in RECORD}

    left = {table: {name for each, name in NOT_COMPARED if each == table} for table in RECORD}
    assert {str(row["relname"]) for row in sealed} == set(RECORD) - {"run"}
    assert found == {table: {*COMPARED[table], *left[table]} for table in RECORD}


@pytest.mark.parametrize("table", RECORD)
async def test_a_changed_column_is_found(lab: Lab, table: str) -> None:
    async with lab.superuser() as db:
        types = await columns(db, table)
    missed: list[str] = []
    for column in COMPARED[table]:
        change = OWN_CHANGES.get((table, column)) or CHANGES[types[column]].format(column)
        where = WHERE.get(table, "true")
        statement = f"UPDATE release.{table} SET {change} WHERE {where}"
        if not (await lab.damaged(table, statement)).codes:
            missed.append(column)
    assert missed == []
    assert (await lab.examine()).codes == (), "what is sound is found sound"


@pytest.mark.parametrize(
    ("stage", "field"), [("admitted", "index_sequence"), ("gathered", "passages_total")]
)
async def test_a_stage_that_the_log_has_otherwise_is_found(
    lab: Lab, stage: str, field: str
) -> None:
    found = await lab.damaged("run", ANOTHER_STAGE.format(stage, field))

    assert found.codes == ("run_differs",)
    where = found.findings[0]["where"]
    assert isinstance(where, Mapping)
    assert where["parts"] == stage


async def test_of_erased_content_the_receipt_alone_is_asked(lab: Lab) -> None:
    async with lab.superuser() as db:
        await db.execute("ALTER TABLE release.release_key DISABLE TRIGGER ALL")
        await db.execute("DELETE FROM release.release_key")
    assert (await lab.examine()).codes == ("key_missing",)

    for table, change, code in (
        ("citation", "aggregate_id = 'another'", "citations_differ"),
        ("citation", "citation_id = 'another'", "citations_differ"),
        ("card", "citation_id = 'another'", "cards_differ"),
        ("release", "language = 'fr'", "release_differs"),
    ):
        found = await lab.damaged(table, f"UPDATE release.{table} SET {change}")
        assert set(found.codes) == {"key_missing", code}, change


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("message", "credential_id = 'another'"),
        ("message", "run_id = 'another'"),
        ("message", "number = 2"),
        ("message", 'body = body || \'{"question_sha256": "00"}\''),
        ("message", 'body = body || \'{"mode": "data"}\''),
        ("conversation", "principal = 'bert'"),
        ("conversation", "workspace_id = 'another'"),
        ("conversation", "messages = 0"),
    ],
)
async def test_a_message_that_asks_something_else_is_found(
    lab: Lab, table: str, change: str
) -> None:
    found = await lab.damaged(table, f"UPDATE release.{table} SET {change}")

    assert found.codes == ("message_differs",)
