"""Every function that a statement may call gives what its name says, through gate and lineage."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chancery.tabular.engine import Engine
from chancery.tabular.grammar import FUNCTIONS
from chancery.tabular.plan import plan
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.tree import objects_within
from chancery.tabular.values import canonical

SCHEMA = TableSchema(
    "t",
    (
        column_of("n", "BIGINT"),
        column_of("x", "DOUBLE"),
        column_of("w", "VARCHAR"),
        column_of("d", "DATE"),
    ),
)
GIVEN: dict[str, tuple[str, str | None]] = {
    "!~~": ("w not like 'b%'", "false"),
    "!~~*": ("w not ilike 'B%'", "false"),
    "%": ("n % 2", "1"),
    "*": ("n * 2", "6"),
    "+": ("n + 1", "4"),
    "-": ("n - 1", "2"),
    "/": ("n / 2", "1.5"),
    "//": ("n // 2", "1"),
    "abs": ("abs(-n)", "3"),
    "any_value": ("any_value(n)", "3"),
    "arg_max": ("arg_max(w, n)", "berlin"),
    "arg_min": ("arg_min(w, n)", "berlin"),
    "avg": ("avg(n)", "3.0"),
    "bool_and": ("bool_and(n > 1)", "true"),
    "bool_or": ("bool_or(n > 1)", "true"),
    "ceil": ("ceil(x)", "3.0"),
    "ceiling": ("ceiling(x)", "3.0"),
    "concat": ("concat(w, n)", "berlin3"),
    "concat_ws": ("concat_ws('-', w, n)", "berlin-3"),
    "contains": ("contains(w, 'e')", "true"),
    "count": ("count(n)", "1"),
    "count_if": ("count_if(n > 1)", "1"),
    "count_star": ("count(*)", "1"),
    "cume_dist": ("cume_dist() over (order by n)", "1.0"),
    "date_add": ("date_add(d, interval 1 day)::date", "2024-03-01"),
    "date_diff": ("date_diff('day', d, date '2024-03-01')", "1"),
    "date_part": ("date_part('month', d)", "2"),
    "date_sub": ("date_sub('month', date '2024-01-01', d)", "1"),
    "date_trunc": ("date_trunc('month', d)::date", "2024-02-01"),
    "datediff": ("datediff('day', d, date '2024-03-01')", "1"),
    "day": ("day(d)", "29"),
    "dayofweek": ("dayofweek(d)", "4"),
    "dayofyear": ("dayofyear(d)", "60"),
    "dense_rank": ("dense_rank() over (order by n)", "1"),
    "ends_with": ("ends_with(w, 'b')", "false"),
    "exp": ("exp(0)", "1.0"),
    "first": ("first(n order by d)", "3"),
    "first_value": ("first_value(n) over (order by n)", "3"),
    "floor": ("floor(x)", "2.0"),
    "greatest": ("greatest(n, 2)", "3"),
    "hour": ("hour(timestamp '2024-02-29 13:14:15')", "13"),
    "if": ("if(n > 2, 'many', 'few')", "many"),
    "instr": ("instr(w, 'e')", "2"),
    "isfinite": ("isfinite(x)", "true"),
    "isinf": ("isinf(x)", "false"),
    "isnan": ("isnan(x)", "false"),
    "lag": ("lag(n, 1, 0) over (order by n)", "0"),
    "last": ("last(n order by d)", "3"),
    "last_day": ("last_day(d)", "2024-02-29"),
    "last_value": ("last_value(n) over (order by n)", "3"),
    "lead": ("lead(n, 1, 9) over (order by n)", "9"),
    "least": ("least(n, 2)", "2"),
    "left": ("left(w, 1)", "b"),
    "length": ("length(w)", "6"),
    "ln": ("ln(exp(0))", "0.0"),
    "log": ("log(100)", "2.0"),
    "log10": ("log10(100)", "2.0"),
    "log2": ("log2(8)", "3.0"),
    "lower": ("lower('AB')", "ab"),
    "ltrim": ("ltrim('  a')", "a"),
    "make_date": ("make_date(2024, n, 1)", "2024-03-01"),
    "max": ("max(n)", "3"),
    "mean": ("mean(n)", "3.0"),
    "median": ("median(n)", "3.0"),
    "min": ("min(n)", "3"),
    "minute": ("minute(timestamp '2024-02-29 13:14:15')", "14"),
    "mod": ("mod(n, 2)", "1"),
    "mode": ("mode(n)", "3"),
    "month": ("month(d)", "2"),
    "nth_value": ("nth_value(n, 1) over (order by n)", "3"),
    "ntile": ("ntile(2) over (order by n)", "1"),
    "nullif": ("nullif(n, 3)", None),
    "percent_rank": ("percent_rank() over (order by n)", "0.0"),
    "position": ("position('e' in w)", "2"),
    "pow": ("pow(n, 2)", "9.0"),
    "power": ("power(n, 2)", "9.0"),
    "prefix": ("prefix(w, 'b')", "true"),
    "quantile_cont": ("quantile_cont(n, 0.5)", "3.0"),
    "quantile_disc": ("quantile_disc(n, 0.5)", "3"),
    "quarter": ("quarter(d)", "1"),
    "rank": ("rank() over (order by n)", "1"),
    "regexp_extract": ("regexp_extract(w, 'b(.)', 1)", "e"),
    "regexp_full_match": ("regexp_full_match(w, 'b.*')", "true"),
    "regexp_matches": ("regexp_matches(w, '^b')", "true"),
    "regexp_replace": ("regexp_replace(w, '[aeiou]', '_')", "b_rlin"),
    "replace": ("replace(w, 'b', 'x')", "xerlin"),
    "reverse": ("reverse(w)", "nilreb"),
    "right": ("right(w, 1)", "n"),
    "round": ("round(x, 1)", "2.5"),
    "row_number": ("row_number() over (order by n)", "1"),
    "rtrim": ("rtrim('a  ')", "a"),
    "second": ("second(timestamp '2024-02-29 13:14:15')", "15"),
    "sign": ("sign(-n)", "-1"),
    "split_part": ("split_part('a_b', '_', 2)", "b"),
    "sqrt": ("sqrt(n * n)", "3.0"),
    "starts_with": ("starts_with(w, 'b')", "true"),
    "stddev": ("stddev(n)", None),
    "stddev_pop": ("stddev_pop(n)", "0.0"),
    "stddev_samp": ("stddev_samp(n)", None),
    "strftime": ("strftime(d, '%d.%m.%Y')", "29.02.2024"),
    "string_agg": ("string_agg(w, ',')", "berlin"),
    "strpos": ("strpos(w, 'e')", "2"),
    "substr": ("substr(w, 2, 2)", "er"),
    "substring": ("substring(w, 2, 2)", "er"),
    "suffix": ("suffix(w, 'a')", "false"),
    "sum": ("sum(n)", "3"),
    "to_days": ("(d + to_days(1))::date", "2024-03-01"),
    "to_hours": ("d + to_hours(1)", "2024-02-29T01:00:00"),
    "to_minutes": ("d + to_minutes(1)", "2024-02-29T00:01:00"),
    "to_months": ("(d + to_months(1))::date", "2024-03-29"),
    "to_seconds": ("d + to_seconds(1)", "2024-02-29T00:00:01"),
    "to_weeks": ("(d + to_weeks(1))::date", "2024-03-07"),
    "to_years": ("(d + to_years(1))::date", "2025-02-28"),
    "trim": ("trim('  a ')", "a"),
    "trunc": ("trunc(x)", "2.0"),
    "upper": ("upper(w)", "BERLIN"),
    "var_pop": ("var_pop(n)", "0.0"),
    "var_samp": ("var_samp(n)", None),
    "variance": ("variance(n)", None),
    "week": ("week(d)", "9"),
    "year": ("year(d)", "2024"),
    "||": ("w || '!'", "berlin!"),
    "~~": ("w like 'b%'", "true"),
    "~~*": ("w ilike 'B%'", "true"),
}  # fmt: skip
"""Each function in an expression over the one row (3, 2.55, berlin, 2024-02-29), and its value."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as opened:
        opened.run("CREATE TABLE t (n BIGINT, x DOUBLE, w VARCHAR, d DATE)")
        opened.run("INSERT INTO t VALUES (3, 2.55, 'berlin', '2024-02-29')")
        opened.lock()
        yield opened


def test_every_function_has_its_example() -> None:
    assert set(GIVEN) == FUNCTIONS


@pytest.mark.req("CR-23")
@pytest.mark.parametrize("name", sorted(GIVEN))
def test_an_allowed_function_gives_what_its_name_says(engine: Engine, name: str) -> None:
    expression, value = GIVEN[name]
    planned = plan(f"SELECT {expression} FROM t", [SCHEMA])
    select = planned.query.canonical_sql

    called = [each.get("function_name") for each in objects_within(planned.query.node)]
    ((_, duckdb_type),) = engine.describe(select)
    ((found,),) = engine.fetch(select, rows_max=2)

    assert name in called
    assert canonical(found, duckdb_type) == value
