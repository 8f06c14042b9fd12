"""A proposal stands as a whole on release's own records, or not at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.release import Pinned
from chancery.events.run import (
    Bounds,
    GatheredMeasure,
    GatheredPassage,
    ProposedQuote,
    ProposedValue,
    RunGathered,
)
from chancery.evidence.answer import QuoteFact
from chancery.evidence.manifest import DatasetManifest, build_manifest
from chancery.evidence.scope import Scope, ScopeEntry, build_scope
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Rejected
from chancery.release.domain.recorded import Query, checked_preview
from chancery.release.domain.selection import (
    Document,
    Evidence,
    Selected,
    check_bounds,
    entries_used,
    gathered_pins,
    is_selection_error,
    query_name,
    select,
)
from chancery.release.errors import InvalidSelection, OtherBuild
from chancery.tabular.labels import LabelText
from chancery.tabular.plan import plan
from chancery.tabular.preview import (
    BUDGET_BYTES_MAX,
    BUDGET_BYTES_MIN,
    Result,
    preview_of,
)
from chancery.tabular.schema import TableSchema, column_of

TEXT = "Reviews are owned by Mara. Invoices are in euro.\n"
SHA = sha256_hex(TEXT.encode())
MANIFEST = build_manifest("key", 3, content_sha256=SHA, extractor="text/1", text=TEXT)
PART = MANIFEST.parts[0]
ENTRY = ScopeEntry(
    kind="source",
    key="key",
    id="handbook",
    title="Handbook",
    revision=3,
    content_sha256=SHA,
    media_type="text/plain",
    extraction_sha256=MANIFEST.extraction_sha256,
    manifest_sha256=MANIFEST.sha256,
    state="ready",
    index_sequence=4,
)
SCOPE = build_scope((ENTRY,))
PASSAGE = GatheredPassage(
    key="key",
    revision=3,
    part_id=PART.part_id,
    start=0,
    end=len(TEXT),
    extraction_sha256=MANIFEST.extraction_sha256,
)


def gathered(*passages: GatheredPassage, measures: tuple[GatheredMeasure, ...] = ()) -> RunGathered:
    return RunGathered(
        run_id="r", generation=1, lease="l", passages=passages, measures=measures, index_position=4
    )


def quote(start: int, end: int, **changes: str | int) -> ProposedQuote:
    found = ProposedQuote(key="key", revision=3, part_id=PART.part_id, start=start, end=end)
    return found.model_copy(update=changes)


def selected(*quotes: ProposedQuote, scope: Scope = SCOPE) -> Selected:
    run = gathered(PASSAGE)
    used = list(entries_used(scope, run, quotes))
    evidence = Evidence({"key": Document(MANIFEST, TEXT)}, {})
    pins = gathered_pins(scope, run)
    return select("acme", used, evidence, gathered=pins, engine="duckdb/1")


@pytest.mark.req("KO-2")
@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
def test_a_quotation_is_the_exact_slice_or_nothing(start: int, end: int) -> None:
    if end < 1:
        return
    try:
        found = selected(quote(start, end))
    except Rejected:
        assert start >= end or not TEXT[start:end].strip()
        return

    (fact,) = found.facts
    assert isinstance(fact, QuoteFact)
    assert fact.text == TEXT[start:end]
    assert found.pinned == (Pinned("source", "key", 3),)


@pytest.mark.req("KO-2")
@pytest.mark.parametrize(
    "wrong",
    [
        quote(0, 7, key="other"),
        quote(0, 7, revision=2),
        quote(0, 7, part_id="other"),
    ],
    ids=["another source", "another revision", "another part"],
)
def test_a_selection_outside_scope_or_gathering_is_refused_with_its_valid_half(
    wrong: ProposedQuote,
) -> None:
    with pytest.raises(InvalidSelection):
        selected(quote(0, 7), wrong)

    assert len(selected(quote(0, 7)).facts) == 1


@pytest.mark.parametrize(
    "passage",
    [
        PASSAGE.model_copy(update={"key": "other"}),
        PASSAGE.model_copy(update={"revision": 4}),
        PASSAGE.model_copy(update={"extraction_sha256": "f" * 64}),
    ],
    ids=["not admitted", "another revision", "another extraction"],
)
def test_a_gathering_beyond_the_scope_is_refused(passage: GatheredPassage) -> None:
    with pytest.raises(InvalidSelection):
        gathered_pins(SCOPE, gathered(PASSAGE, passage))

    assert gathered_pins(SCOPE, gathered(PASSAGE, PASSAGE)) == (Pinned("source", "key", 3),)


def test_the_bounds_count_distinct_sources() -> None:
    used = [(quote(0, 7), ENTRY), (quote(8, 11), ENTRY)]

    check_bounds(Bounds(min_sources=1, max_sources=1), used)
    with pytest.raises(InvalidSelection) as refused:
        check_bounds(Bounds(min_sources=2), used)

    assert refused.value.field == "bounds.min_sources"


COLUMNS = (column_of("amount", "BIGINT"), column_of("region", "VARCHAR"))
TABLE = TableSchema("orders", COLUMNS)
DATASET = DatasetManifest(
    key="data",
    snapshot=1,
    content_sha256=SHA,
    extraction_sha256=SHA,
    extractor="csv/1",
    rows=2,
    columns=tuple((each.name, each.duckdb_type) for each in COLUMNS),
)


def recorded(
    sql: str,
    *columns: tuple[str, str],
    value: str = "4000",
    texts: Sequence[LabelText] = (),
    manifest: DatasetManifest = DATASET,
) -> Query:
    planned = plan(sql, [TABLE])
    result = Result(columns, ((value,) * len(columns),), truncated=False)
    preview = preview_of(planned.query.canonical_sql, result, planned.eligibility, texts=texts)
    return Query(manifest, planned.query.canonical_sql, preview.canonical())


@pytest.mark.req("CR-21", "CR-22")
def test_a_recorded_preview_is_accepted_only_as_we_derive_it() -> None:
    query = recorded("SELECT sum(amount) AS profit FROM orders", ("profit", "HUGEINT"))

    preview, planned = checked_preview(query, TABLE)

    assert preview.columns[0].label == "SUM(orders.amount)"
    assert planned.reads == {"orders": ("amount",)}
    for old, new in (
        (b"SUM(orders.amount)", b"SUM(orders.profit)"),
        (b'"truncated":false', b'"truncated":fals'),
        (b'"rows"', b'"lines"'),
    ):
        with pytest.raises(InvalidSelection):
            checked_preview(Query(DATASET, query.sql, query.preview.replace(old, new)), TABLE)


@pytest.mark.req("CR-22")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'[["4000"]]', b"[[]]"),
        (b'[["4000"]]', b'[["4000","4000"]]'),
        (b'[["4000"]]', b'[["\\ud800"]]'),
        (b'"name":"total"', b'"name":"\\ud800"'),
        (b'"truncated":false', b'"truncated":1e999'),
        (b'"truncated":false', b'"truncated":false,"truncated":false'),
        (b'{"columns"', b' {"columns"'),
    ],
)
def test_a_malformed_preview_is_refused_and_breaks_nothing(old: bytes, new: bytes) -> None:
    query = recorded("SELECT sum(amount) FROM orders", ("total", "HUGEINT"))
    checked_preview(query, TABLE)
    assert old in query.preview

    with pytest.raises(InvalidSelection) as refused:
        checked_preview(Query(DATASET, query.sql, query.preview.replace(old, new)), TABLE)

    assert refused.value.code == "preview_malformed"


@pytest.mark.req("CR-22")
@pytest.mark.parametrize("budget", [BUDGET_BYTES_MIN, BUDGET_BYTES_MAX])
def test_a_preview_of_another_budget_stands_up_and_one_beyond_it_does_not(budget: int) -> None:
    sql, row = "SELECT region FROM orders", ("n" * 4_000,)
    result = Result((("region", "VARCHAR"),), (row,) * 50, truncated=False)
    judged = plan(sql, [TABLE]).eligibility
    cut = preview_of(sql, result, judged, bytes_max=budget)
    stored = cut.canonical()

    checked, _ = checked_preview(Query(DATASET, sql, stored), TABLE)

    assert (checked, checked.truncated) == (cut, len(cut.rows) < 50)
    more = dataclasses.replace(cut, rows=(row,) * 100).canonical()
    unbounded = stored.replace(b'"bytes_max":%d' % budget, b'"bytes_max":99999999999')
    for forged, code in ((more, "preview_mismatch"), (unbounded, "preview_budget")):
        with pytest.raises(Rejected) as refused:
            checked_preview(Query(DATASET, sql, forged), TABLE)
        assert refused.value.code == code
        assert is_selection_error(refused.value)


@pytest.mark.parametrize("engine", ["duckdb/2", "duckdb 1", "DuckDB/1"])
def test_a_value_of_another_engine_is_refused(engine: str) -> None:
    sql, column = "SELECT sum(amount) FROM orders", ("sum(amount)", "HUGEINT")
    for known in (None, "duckdb/1"):
        (execution,) = stated(sql, column, engine=known).executions
        assert execution.engine == "duckdb/1"

    with pytest.raises(OtherBuild) as refused:
        stated(sql, column, engine=engine)

    assert refused.value.code == "engine_mismatch"


def test_a_statement_over_a_hidden_column_does_not_pass() -> None:
    query = recorded("SELECT min(region) FROM orders", ("min(region)", "VARCHAR"))
    visible = TableSchema("orders", COLUMNS[:1])

    with pytest.raises(Rejected):
        checked_preview(query, visible)


def test_a_value_pins_the_columns_that_its_statement_reads() -> None:
    query = recorded("SELECT sum(amount) FROM orders", ("sum(amount)", "HUGEINT"))
    entry = ENTRY.model_copy(
        update={"kind": "dataset", "key": "data", "id": "orders", "revision": 1}
    )
    value = ProposedValue(
        key="data",
        snapshot=1,
        query_sha256=sha256_hex(query.sql.encode()),
        preview_sha256=sha256_hex(query.preview),
        row=0,
        column=0,
    )
    evidence = Evidence({}, {query_name(value): query})

    found = select(
        "acme",
        [(value, entry)],
        evidence,
        gathered=(Pinned("dataset", "data", 1),),
        engine="duckdb/1",
    )

    assert found.pinned == (Pinned("dataset", "data", 1, ("amount",), ()),)
    assert [cell.result for cell in found.cells] == [0]


def stated(
    sql: str,
    *columns: tuple[str, str],
    value: str = "4000",
    entries: tuple[str, ...] = ("orders",),
    engine: str | None = None,
) -> Selected:
    """Return what is selected when the first cell of a recorded preview is stated of `entries`."""
    query = recorded(sql, *columns, value=value)
    used = [
        (
            ProposedValue(
                key=name,
                snapshot=1,
                query_sha256=sha256_hex(query.sql.encode()),
                preview_sha256=sha256_hex(query.preview),
                engine=engine,
                row=0,
                column=0,
            ),
            ENTRY.model_copy(update={"kind": "dataset", "key": name, "id": name, "revision": 1}),
        )
        for name in entries
    ]
    evidence = Evidence({}, {query_name(item): query for item, _ in used})
    pins = tuple(Pinned("dataset", name, 1) for name in entries)
    return select("acme", used, evidence, gathered=pins, engine="duckdb/1")


@pytest.mark.req("KO-2", "KO-4")
@pytest.mark.parametrize("entries", [("orders", "costs"), ("costs", "orders"), ("costs",)])
def test_a_result_is_stated_of_no_other_dataset_than_the_one_it_was_read_from(
    entries: tuple[str, ...],
) -> None:
    sql, column = "SELECT sum(amount) FROM orders", ("sum(amount)", "HUGEINT")
    assert len(stated(sql, column).facts) == 1

    with pytest.raises(Rejected):
        stated(sql, column, entries=entries)


@pytest.mark.req("KO-2", "KO-4")
@pytest.mark.parametrize(
    ("sql", "duckdb_type", "value", "honest"),
    [
        ("SELECT sum(amount) FROM orders", "VARCHAR", "all is well", ("HUGEINT", "4000")),
        ("SELECT sum(amount) FROM orders", "HUGEINT", "all is well", ("HUGEINT", "-3")),
        ("SELECT sum(amount) FROM orders", "HUGEINT", "4000 ", ("HUGEINT", "4000")),
        ("SELECT sum(amount) FROM orders", "HUGEINT", "04000", ("HUGEINT", "0")),
        ("SELECT sum(amount) FROM orders", "FOO", "4000", ("HUGEINT", "4000")),
        ("SELECT max(amount) FROM orders", "VARCHAR", "all is well", ("BIGINT", "2750")),
        ("SELECT count(*) FROM orders", "VARCHAR", "all is well", ("BIGINT", "2")),
        ("SELECT amount FROM orders", "VARCHAR", "all is well", ("BIGINT", "1250")),
        ("SELECT region FROM orders", "BIGINT", "7", ("VARCHAR", "north")),
    ],
)
def test_a_preview_cannot_hold_what_its_statement_cannot_give(
    sql: str, duckdb_type: str, value: str, honest: tuple[str, str]
) -> None:
    assert len(stated(sql, ("cell", honest[0]), value=honest[1]).facts) == 1

    with pytest.raises(InvalidSelection) as refused:
        stated(sql, ("cell", duckdb_type), value=value)

    assert refused.value.code == "value_malformed"


FORGED = "north\n\n[2] \u201cThe CEO resigned.\u201d\n\u2014 Handbook, part 1, 1\u201320"


@pytest.mark.req("KO-2", "CR-21")
@pytest.mark.parametrize(
    "value",
    [
        FORGED, "a\rb", "a\u2028b", "a\x85b", "a\x00b", "\u202enorth",
        "a\u200bb", "\ufeffnorth", "north\U000e0041", "a\u00adb", "a\u3164b",
    ],
)  # fmt: skip
@pytest.mark.parametrize("sql", ["SELECT region FROM orders", "SELECT min(region) FROM orders"])
def test_a_text_that_could_forge_a_line_of_the_answer_is_not_stated(sql: str, value: str) -> None:
    column = ("region", "VARCHAR")
    for honest in (
        "north",
        "a b \u201cc\u201d [2]",
        "\u06cc\u200c\u062f",
        "\u2764\ufe0f",
        "\u00a0\u00e4\U0001f469\u200d\U0001f467",
        "",
    ):
        assert len(stated(sql, column, value=honest).facts) == 1

    with pytest.raises(InvalidSelection) as refused:
        stated(sql, column, value=value)

    assert refused.value.code == "value_not_one_line"
