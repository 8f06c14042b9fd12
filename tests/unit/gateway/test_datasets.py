"""Datasets at the edge: what its caller is told of a snapshot, and why a file is no table."""

from __future__ import annotations

import pytest

from chancery.authority.errors import Withdrawn
from chancery.events import commands, queries
from chancery.gateway.handlers import appending
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Rejected
from tests.unit.gateway.fakes import World

DATASET = "/v1/workspaces/w/datasets/orders"
PINNED = queries.PinnedRevision(
    kind="dataset",
    key="k",
    id="orders",
    title="Orders",
    revision=1,
    content_sha256="0" * 64,
    media_type="text/csv",
    size_bytes=4711,
    state="ready",
    extraction_sha256="1" * 64,
    manifest_sha256="2" * 64,
    hidden_columns=("quagmire",),
    row_filters=(("region", ("quagmire",)),),
    field="columns.quagmire.type",
)
SCHEMA = queries.DatasetSchema(dataset=PINNED, columns=(("id", "BIGINT"),), rows=2)
OUTCOME = commands.PublishedOutcome(
    key="k", revision=1, sequence=7, content_sha256="0" * 64, event_id="e", changed=True
)


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("path", ["snapshots/1", "schema"])
async def test_policy_is_applied_and_never_told(path: str) -> None:
    world = World()
    world.owners.answers["query.release.authorise.v1"] = PINNED
    world.owners.answers["query.execution.schema.v1"] = SCHEMA

    async with world.client() as client:
        response = await client.get(f"{DATASET}/{path}")

    assert response.status_code == 200
    assert "1" * 64 in response.text
    assert not any(
        word in response.text
        for word in ("quagmire", "hidden", "filters", "region", "4711", "size_bytes")
    )


@pytest.mark.req("CR-27")
async def test_a_query_takes_the_policy_of_its_caller_along() -> None:
    """The control: what is not told is what the service that executes is given."""
    world = World()
    scope = queries.DatasetScope(sequence=1, datasets=(PINNED,))
    world.owners.answers["query.release.datasets.v1"] = scope
    world.owners.answers["query.execution.sql.v1"] = queries.QueryResult(json_text="{}")

    async with world.client() as client:
        response = await client.post("/v1/workspaces/w/query", json={"sql": "SELECT 1"})

    assert (response.status_code, response.text) == (200, "{}")
    asked = world.owners.asked[-1][1].body
    assert isinstance(asked, queries.RunQuery)
    assert asked.datasets[0].hidden_columns == ("quagmire",)


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("name", ["in", "allowed"])
async def test_a_filter_value_that_its_owner_refuses_is_told_by_the_name_that_was_sent(
    name: str,
) -> None:
    world = World()
    detail = "row_filters.1.allowed.0 must be a date in its exact form"
    field, code = "row_filters.1.allowed.0", "policy_filter_value"
    refused = Rejected(detail, field=field, code=code)
    world.owners.answers["command.ingestion.declare-dataset.v1"] = refused
    other = {"roles": ["reader"], "column": "name", "in": ["a"]}
    dated = {"roles": ["reader"], "column": "day", name: ["soon"]}

    async with world.client() as client:
        response = await client.put(DATASET, json={"title": "T", "row_filters": [other, dated]})

    told = response.json()
    assert (response.status_code, told["code"]) == (422, "policy_filter_value")
    assert told["field"] == f"row_filters.1.{name}.0"
    assert told["detail"] == f"row_filters.1.{name}.0 must be a date in its exact form"


@pytest.mark.parametrize(
    ("reason", "field"),
    [
        ("csv_value_mismatch", "columns"),
        ("csv_value_mismatch", "columns.amount.type"),
        ("xlsx_value_mismatch", "columns"),
        ("unknown_column", "columns"),
        ("policy_column_missing", "columns"),
        ("invalid_measure", "measures"),
        ("parquet_value_range", "snapshot"),
    ],
)
async def test_a_file_that_is_no_table_is_refused_by_code_and_field(
    reason: str, field: str
) -> None:
    world = World()
    told_by_owner = "columns.amount.type" if field == "columns.amount.type" else None
    changes = {"state": "failed", "reason": reason, "field": told_by_owner}
    failed = PINNED.model_copy(update=changes)
    world.owners.answers["query.ingestion.upload-permission.v1"] = commands.Outcome(
        sequence=1, changed=False
    )
    world.owners.answers["command.ingestion.publish-snapshot.v1"] = OUTCOME
    world.owners.answers["query.release.authorise.v1"] = failed

    async with world.client() as client:
        response = await client.post(
            f"{DATASET}/snapshots", content=b"a,b\n1,2\n", headers={"Content-Type": "text/csv"}
        )

    told = response.json()
    assert (response.status_code, told["code"], told["field"]) == (422, reason, field)


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    ("declared", "field"),
    [
        ({"columns": {"cost": {"rolse": ["publisher"]}}}, "columns.cost"),
        (
            {"row_filters": [{"roles": ["reader"], "column": "a", "allowed": [], "deny": []}]},
            "row_filters.0",
        ),
        ({"measures": [{"name": "n", "aggregate": "count", "filter": {"a": 1}}]}, "measures.0"),
        ({"columns": {"cost": {"roles": ["publisher"]}}}, None),
    ],
)
async def test_a_misspelled_policy_is_refused_and_not_ignored(
    declared: dict[str, object], field: str | None
) -> None:
    world = World()
    world.owners.answers["command.ingestion.declare-dataset.v1"] = commands.Outcome(
        sequence=7, changed=True
    )

    async with world.client() as client:
        response = await client.put(DATASET, json={"title": "Orders", **declared})

    assert response.status_code == (200 if field is None else 422)
    assert response.json().get("field") == field


@pytest.mark.req("KO-3")
@pytest.mark.parametrize(
    ("serving", "added", "status", "code"),
    [
        ({}, b"id\n2\n", 201, None),
        ({}, b"id\n22\n", 413, "append_too_large"),
        ({"media_type": "application/pdf"}, b"id\n2\n", 422, "append_not_csv"),
        ({"media_type": "application/csv"}, b"id\n2\n", 201, None),
    ],
    ids=["as long as it may be", "one byte longer", "not CSV", "CSV by its other name"],
)
async def test_what_cannot_be_appended_to_is_refused_by_its_code(
    monkeypatch: pytest.MonkeyPatch,
    serving: dict[str, str],
    added: bytes,
    status: int,
    code: str | None,
) -> None:
    base = b"id\n1\n"
    monkeypatch.setattr(appending, "APPENDED_BYTES_MAX", len(base) + len(b"id\n2\n"))
    world = World()
    await world.blobs.put("default", base)
    pinned = PINNED.model_copy(
        update={"content_sha256": sha256_hex(base), "size_bytes": len(base), **serving}
    )
    world.owners.answers["query.release.authorise.v1"] = pinned
    permitted = commands.Outcome(sequence=1, changed=False)
    world.owners.answers["query.ingestion.upload-permission.v1"] = permitted
    world.owners.answers["command.ingestion.publish-snapshot.v1"] = OUTCOME

    async with world.client() as client:
        response = await client.post(
            f"{DATASET}/snapshots?mode=append", content=added, headers={"Content-Type": "text/csv"}
        )

    told = response.json()
    assert (response.status_code, told.get("code")) == (status, code)


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("mode", ["replace", "append"])
@pytest.mark.parametrize("restore", [True, False])
async def test_a_snapshot_asks_for_a_withdrawn_dataset_to_serve_again_or_not(
    mode: str, *, restore: bool
) -> None:
    base = b"id\n1\n"
    world = World()
    await world.blobs.put("default", base)
    state = "ready" if restore else "excluded"
    served = {"content_sha256": sha256_hex(base), "size_bytes": len(base), "state": state}
    world.owners.answers["query.release.authorise.v1"] = PINNED.model_copy(update=served)
    permitted = commands.Outcome(sequence=1, changed=False)
    world.owners.answers["query.ingestion.upload-permission.v1"] = permitted
    subject = "command.ingestion.publish-snapshot.v1"
    world.owners.answers[subject] = OUTCOME if restore else Withdrawn("dataset")

    async with world.client() as client:
        response = await client.post(
            f"{DATASET}/snapshots?mode={mode}{'&restore=true' if restore else ''}",
            content=b"id\n2\n",
            headers={"Content-Type": "text/csv"},
        )

    told = response.json()
    assert (response.status_code, told.get("code"), told.get("field")) == (
        (201, None, None) if restore else (409, "withdrawn", "restore")
    )
    (asked,) = [each.body for name, each in world.owners.asked if name == subject]
    assert isinstance(asked, commands.PublishSnapshot)
    assert asked.restore is restore


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    ("said", "columns", "row_filters"),
    [
        ({}, None, None),
        ({"columns": {}, "row_filters": []}, {}, ()),
    ],
    ids=["left out", "empty"],
)
async def test_a_part_that_is_left_out_is_told_apart_from_an_empty_one(
    said: dict[str, object], columns: object, row_filters: object
) -> None:
    world = World()
    subject = "command.ingestion.declare-dataset.v1"
    world.owners.answers[subject] = commands.Outcome(sequence=7, changed=True)

    async with world.client() as client:
        response = await client.put(DATASET, json={"title": "Orders", **said})

    assert response.status_code == 200
    (asked,) = [each.body for name, each in world.owners.asked if name == subject]
    assert isinstance(asked, commands.DeclareDataset)
    assert (asked.columns, asked.row_filters, asked.measures) == (columns, row_filters, None)
    assert asked.visibility is None


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    ("silent", "media_type", "told"),
    [
        (None, "text/csv", None),
        ((), "text/csv", ["id", "Region", "amount"]),
        (("region", "amount"), "text/csv", ["id"]),
        (("region",), "application/vnd.apache.parquet", []),
    ],
)
async def test_a_publisher_is_told_which_types_were_found_from_rows_that_a_filter_hides(
    silent: tuple[str, ...] | None, media_type: str, told: list[str] | None
) -> None:
    world = World()
    pinned = PINNED.model_copy(update={"silent_columns": silent, "media_type": media_type})
    columns = (("id", "BIGINT"), ("Region", "VARCHAR"), ("amount", "DECIMAL(18,4)"))
    world.owners.answers["query.release.authorise.v1"] = pinned
    world.owners.answers["query.execution.schema.v1"] = queries.DatasetSchema(
        dataset=pinned, columns=columns, rows=2
    )

    async with world.client() as client:
        response = await client.get(f"{DATASET}/schema")

    assert response.json()["types_from_all_rows"] == told
    assert "silent" not in response.text
