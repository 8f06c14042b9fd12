"""The load notices what it is there to notice, and its oracle agrees with plain counting."""

from __future__ import annotations

import json
from decimal import Decimal
from random import Random

import pytest

from tests.bench.judging import BUSY, VIOLATIONS, Case, Reply, Verdict, judge
from tests.bench.sql_cases import HOSTILE, Oracle, csv_of, draw_orders

SECRETS = ("margin-7",)


def answered(*rows: tuple[str | None, ...]) -> Reply:
    """Return a result of these rows."""
    return Reply(200, json.dumps({"rows": rows, "truncated": False}))


def refused(code: str, status: int = 422) -> Reply:
    """Return a problem document."""
    return Reply(status, json.dumps({"code": code, "title": "no"}))


@pytest.mark.parametrize(
    ("case", "reply", "verdict"),
    [
        (Case("good", "q", (("4",),)), answered(("4",)), "right"),
        (Case("good", "q", (("4",),)), answered(("5",)), "wrong answer"),
        (Case("good", "q", (("4",),)), answered((None,)), "wrong answer"),
        (Case("good", "q", (("4",),)), refused("sql_failed"), "wrong answer"),
        (Case("good", "q", (("4",),)), refused("sql_busy", 503), "busy"),
        (Case("hostile", "q"), answered(("1",)), "hostile accepted"),
        (Case("hostile", "q"), refused("sql_feature_function"), "refused"),
        (Case("hostile", "q"), refused("internal", 503), "broken reply"),
        (Case("hostile", "q"), Reply(500, "oops"), "broken reply"),
        (Case("hostile", "q"), Reply(200, "oops"), "broken reply"),
        (Case("hostile", "q"), Reply(422, "it is margin-7"), "secret told"),
        (Case("good", "q", (("margin-7",),)), answered(("margin-7",)), "secret told"),
        (Case("slow", "q"), refused("sql_timeout"), "ended"),
        (Case("slow", "q"), answered(("1",)), "answered"),
        (Case("huge", "q"), refused("bus_timeout", 503), "broken reply"),
        (Case("huge", "q"), Reply(0, "ReadTimeout"), "broken reply"),
    ],
)
def test_each_reply_means_what_it_means(case: Case, reply: Reply, verdict: Verdict) -> None:
    assert judge(case, reply, SECRETS) == verdict


def test_a_refusal_to_try_again_is_no_violation() -> None:
    verdicts = {judge(Case("good", "q"), refused(code, 503), SECRETS) for code in BUSY}

    assert verdicts == {"busy"}
    assert "busy" not in VIOLATIONS


def test_the_oracle_counts_the_visible_rows_only() -> None:
    orders = draw_orders(1)
    visible = [each for each in orders if each.is_visible]
    drawn = [Oracle(orders, Random(seed)).draw() for seed in range(40)]

    sums = [case for case in drawn if case.sql.startswith("SELECT sum(")]
    totals = {
        f"{sum((o.amount for o in visible if o.region == f'r{n}'), Decimal()):.2f}"
        for n in range(6)
    }

    assert sums
    assert all(case.rows[0][0] in totals for case in sums)
    assert len(visible) < len(orders)
    assert len({case.sql.split(" FROM")[0] for case in drawn}) == 6
    assert csv_of(orders).count(b"\n") == len(orders) + 1
    assert len(HOSTILE) > 100
