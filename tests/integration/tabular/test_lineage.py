"""What a statement is said to read is all that can change its result, and nothing hidden is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.jobs import Uncut
from chancery.tabular.lineage import Reads
from chancery.tabular.plan import Plan, plan
from chancery.tabular.pool import WorkerPool
from chancery.tabular.schema import TableSchema
from chancery.tabular.twin import check_reads, create_tables, open_twin
from tests.integration.tabular.perturbation import (
    BASE,
    FULL,
    OWN_CORPUS,
    SHARED_CORPUS,
    VISIBLE,
    Change,
    changed,
    changes,
    open_world,
    parquet_of,
    results_of,
    statements,
)

CORPORA = [
    pytest.param(OWN_CORPUS, id="own"),
    pytest.param(
        SHARED_CORPUS,
        id="shared",
        marks=pytest.mark.skipif(
            not SHARED_CORPUS.exists(), reason="the shared corpus is not beside the repository"
        ),
    ),
]
REFUSED_FEATURES = Path(__file__).parent / "refused_features.txt"
"""Which statements use a feature that docs/sql.md refuses, and its code: data, not the verdict."""

ACCEPTED_MIN = {OWN_CORPUS: 30, SHARED_CORPUS: 93}
"""How many statements of each corpus have to be accepted at least, whatever the rate says."""

HIDDEN_NAMES = re.compile(r"\b(?:secret|pin|priv)\b")


@dataclass(frozen=True, slots=True)
class Judged:
    """A statement with its plan, or the code with which the gate or the binder refuses it."""

    sql: str
    plan: Plan | None
    code: str


@pytest.mark.req("CR-21")
@pytest.mark.parametrize("corpus", CORPORA)
def test_no_accepted_statement_has_an_influence_that_its_lineage_misses(corpus: Path) -> None:
    accepted = [each.plan for each in judge(statements(corpus), FULL) if each.plan is not None]

    found = influences(accepted)

    assert len(accepted) >= 50
    assert len({plan.query.canonical_sql for plan, _ in found}) >= 40, "the oracle sees influences"
    missed = [
        (planned.query.canonical_sql, change.table, change.column)
        for planned, change in found
        if change.column not in planned.reads.get(change.table, ())
    ]
    assert missed == []


@pytest.mark.req("CR-21")
def test_the_oracle_notices_a_lineage_that_lies() -> None:
    honest = plan("select a from t where secret = 's1'", FULL)
    lying: Reads = {"t": ("a",)}

    influencing = {change.column for _, change in influences([honest])}

    assert influencing == {"a", "secret"} == set(honest.reads["t"])
    assert not influencing <= set(lying["t"])


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("corpus", CORPORA)
async def test_nothing_hidden_changes_what_a_caller_gets(corpus: Path, tmp_path: Path) -> None:
    asked = statements(corpus)
    before, after = (authorised(change, tmp_path) for change in (BASE, hidden_rewritten()))

    async with WorkerPool(concurrency=4) as pool:
        given = await asyncio.gather(*(answer(pool, sql, before) for sql in asked))
        repeated = await asyncio.gather(*(answer(pool, sql, after) for sql in asked))

    assert given == repeated
    assert sum(not text.startswith("sql_") for text in given) >= 20


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("corpus", CORPORA)
def test_a_hidden_name_is_answered_as_a_name_that_does_not_exist(corpus: Path) -> None:
    """Hidden and absent names of one length, so that nothing but the name differs."""
    named = [sql for sql in statements(corpus) if HIDDEN_NAMES.search(sql)]
    absent = [HIDDEN_NAMES.sub(lambda found: found.group().upper()[::-1], sql) for sql in named]

    answers = [each.code for each in judge(named, VISIBLE)]

    assert answers == [each.code for each in judge(absent, VISIBLE)]
    assert answers != [each.code for each in judge(named, FULL)]


@pytest.mark.req("CR-27")
async def test_a_visible_change_does_change_what_a_caller_gets(tmp_path: Path) -> None:
    """The positive control of the test above."""
    change = next(each for each in changes() if (each.table, each.column) == ("t", "a"))
    async with WorkerPool() as pool:
        before = await answer(pool, "select a from t", authorised(BASE, tmp_path))
        after = await answer(pool, "select a from t", authorised(change, tmp_path))

    assert before != after


@pytest.mark.req("CR-23")
@pytest.mark.parametrize("corpus", CORPORA)
async def test_nearly_every_well_formed_statement_is_accepted(corpus: Path, tmp_path: Path) -> None:
    """Well-formed: plain DuckDB runs it on the visible columns, and no refused feature is in it.

    Accepted: the whole of it runs in a worker. What uses a refused feature is told by a file.
    """
    with open_world(visible_only=True) as bare:
        asked = statements(corpus)
        shown = results_of(bare, asked)
    running = [sql for sql, text in zip(asked, shown, strict=True) if not text.startswith("sql_")]
    codes = await codes_of(running, authorised(BASE, tmp_path))
    expected = refused_features()

    featured = {sql: code for sql, code in codes.items() if sql in expected}
    well_formed = {sql: code for sql, code in codes.items() if sql not in expected}
    refused = {sql: code for sql, code in well_formed.items() if code}

    assert featured == {sql: expected[sql] for sql in featured}
    assert len(well_formed) - len(refused) >= ACCEPTED_MIN[corpus]
    assert len(refused) <= 0.05 * len(well_formed), refused


@pytest.mark.req("CR-23")
@pytest.mark.skipif(not SHARED_CORPUS.exists(), reason="the shared corpus is not there")
def test_no_feature_is_called_refused_without_a_statement_that_runs() -> None:
    """Else the list could grow, and refusing more would look like accepting nearly everything."""
    asked = [*statements(SHARED_CORPUS), *statements(OWN_CORPUS)]
    with open_world(visible_only=True) as bare:
        shown = dict(zip(asked, results_of(bare, asked), strict=True))

    listed = refused_features()

    assert [sql for sql in listed if shown.get(sql, "sql_").startswith("sql_")] == []
    assert len(listed) == 87


async def codes_of(asked: Sequence[str], tables: Sequence[Uncut]) -> dict[str, str]:
    """Return the code with which each statement is refused before or in a worker, or nothing."""
    async with WorkerPool(concurrency=4) as pool:
        given = await asyncio.gather(*(answer(pool, sql, tables) for sql in asked))
    codes = (each.split(" ")[0] if each.startswith("sql_") else "" for each in given)
    return dict(zip(asked, codes, strict=True))


def refused_features() -> dict[str, str]:
    """Return the statements of the file with their codes."""
    lines = (each.partition(" ") for each in statements(REFUSED_FEATURES))
    return {sql: code for code, _, sql in lines}


def judge(asked: Sequence[str], schemas: Sequence[TableSchema]) -> list[Judged]:
    """Judge each statement as a worker would, before it runs."""
    with open_twin() as twin:
        return [_judged(twin, sql, schemas) for sql in asked]


def influences(plans: Sequence[Plan]) -> list[tuple[Plan, Change]]:
    """Return every statement with every change of the rows that changes its result."""
    asked = [each.query.canonical_sql for each in plans]
    found: list[tuple[Plan, Change]] = []
    with open_world() as world:
        base = results_of(world, asked)
        for change in changes():
            with changed(world, change):
                now = results_of(world, asked)
            pairs = zip(plans, base, now, strict=True)
            found.extend((each, change) for each, before, after in pairs if before != after)
    return found


def authorised(change: Change, folder: Path) -> list[Uncut]:
    """Return the tables of `change` as a caller's query may load them."""
    return [Uncut(each, parquet_of(each.name, change, folder / "file")) for each in VISIBLE]


def hidden_rewritten() -> Change:
    """Return the base with every hidden value replaced."""
    rows = {
        "t": tuple((a, b, "'HIDDEN'") for a, b, _ in BASE.rows["t"]),
        "u": tuple((a, c, "NULL") for a, c, _ in BASE.rows["u"]),
        "s": tuple((i, "{'pub': 7, 'priv': 'HIDDEN'}", arr) for i, _, arr in BASE.rows["s"]),
    }
    return Change("", "", {**BASE.rows, **rows})


async def answer(pool: WorkerPool, sql: str, tables: Sequence[Uncut]) -> str:
    """Return the canonical preview, or the code of the refusal and its text."""
    try:
        return (await pool.query(sql, tables)).canonical().decode()
    except Rejected as refused:
        return f"{refused.code} {refused.detail}"


def _judged(twin: Engine, sql: str, schemas: Sequence[TableSchema]) -> Judged:
    try:
        planned = plan(sql, schemas)
    except Rejected as refused:
        return Judged(sql, None, refused.code)
    twin.run("BEGIN")
    try:
        create_tables(twin, planned.tables)
        check_reads(twin, planned.query.canonical_sql, planned.reads, flat=planned.flat)
    except EngineFailure as failure:
        return Judged(sql, None, failure.code)
    finally:
        twin.run("ROLLBACK")
    return Judged(sql, planned, "")
