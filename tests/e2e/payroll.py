"""The same table twice: once with what policy hides, once as if that had never existed."""

from __future__ import annotations

import re

from chancery.client.http import Chancery
from chancery.client.workspace import Table
from chancery.events.authority import ColumnPolicy, Measure, RowFilter
from tests.e2e.world import World, send

HIDDEN = "bonus"
ABSENT = "bonks"
"""A name of the same length that no column has."""

WHOLE_CSV = (
    b"id,name,region,amount,bonus\n"
    b"1,Ada,north,100,7001\n2,Bob,quagmire,900,7002\n3,Cyd,north,250,7003\n"
)
VISIBLE_CSV = b"id,name,region,amount\n1,Ada,north,100\n3,Cyd,north,250\n"
SECRETS = (HIDDEN, "quagmire", "7001", "7002", "7003", "Bob", "1250", "900")
"""What only the whole table holds: a column, a region, its values, and what they add up to."""

TOTAL = Measure(name="total amount", aggregate="sum", column="amount")
EXTRA = Measure(name="extra pay", aggregate="sum", column=HIDDEN)
EXTRA_PAID = Measure(
    name="extra paid amount", aggregate="sum", column="amount", where={HIDDEN: 7001}
)
WHOLE = Table(
    title="Payroll",
    columns={HIDDEN: ColumnPolicy(roles=("publisher", "admin"))},
    row_filters=(RowFilter(roles=("reader",), column="region", allowed=("north",)),),
    measures=(TOTAL, EXTRA, EXTRA_PAID),
)
PLAIN = Table(title="Payroll", measures=(TOTAL,))

_PLACES = re.compile(r'"\w*(?:sequence|checkpoint|barrier|index_position|duration_ms)":\d+')
_MOMENTS = re.compile(r'"(?:as_of|decided_at|deadline|cut_payload|signature)":"[^"]*"')
_NAMES = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16}")


async def publish_payroll(world: World, table: Table, csv: bytes) -> None:
    """Publish the table `payroll`."""
    await world.desk.declare_dataset("payroll", table)
    published = await world.desk.publish_snapshot("payroll", csv)
    assert published.state == "ready"


async def ask_sql(client: Chancery, world: World, sql: str, **page: int) -> tuple[int, str]:
    """Run a statement; return the status and the body without its trace id."""
    path = f"/v1/workspaces/{world.id}/query"
    response = await send(client, "POST", path, json={"sql": sql, **page})
    return response.status_code, re.sub(r'"trace_id":"\w+"', "", response.text)


async def read(client: Chancery, world: World, path: str) -> str:
    """Return status, headers and body of a request, without what differs between any two."""
    response = await send(client, "GET", path)
    own = {"idempotency-key", "date", "content-length"}
    kept = sorted((name, text) for name, text in response.headers.items() if name not in own)
    return plain(f"{response.status_code} {kept} {response.text}", world)


def plain(text: str, world: World) -> str:
    """Return a text without ids, hashes, moments and places in the log."""
    for pattern in (_MOMENTS, _PLACES, _NAMES):
        text = pattern.sub("~", text)
    return text.replace(world.id, "~")
