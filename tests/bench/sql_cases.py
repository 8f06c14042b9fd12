"""The statements of the load, and an oracle in plain Python that knows what good ones return."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Final

from tests.bench.judging import Case, Rows
from tests.integration.tabular import attacks

ROWS: Final = 20_000
REGIONS: Final = 7
HIDDEN_REGION: Final = "quagmire"
SECRET_MARGIN: Final = 987_654_321
"""Stands in each row of the hidden column, so no reply may hold it."""

SECRETS: Final = (str(SECRET_MARGIN), HIDDEN_REGION, attacks.SECRET)
"""What stands in no reply, whatever is asked; the words of `t` are read by what is refused."""

HIDDEN: Final = (
    "SELECT margin FROM orders",
    "SELECT sum(margin) FROM orders",
    "SELECT id FROM orders WHERE margin > 5",
    "SELECT id FROM orders ORDER BY margin",
    "SELECT orders FROM orders",
    "SELECT to_json(orders) FROM orders",
    "SELECT x FROM orders AS o(a, b, c, x)",
    "SELECT COLUMNS('m.*') FROM orders",
    "SELECT * FROM orders PIVOT (sum(margin) FOR region IN ('r1'))",
    "SELECT margin::DATE FROM orders",
    "SELECT error(region) FROM orders",
)
HOSTILE: Final = (
    *HIDDEN, *attacks.FILES, *attacks.NETWORK, *attacks.EXTENSIONS, *attacks.SETTINGS,
    *attacks.CATALOG, *attacks.VARIABLES_AND_MACROS, *attacks.LEAKS,
)  # fmt: skip
HUGE: Final = (
    *attacks.GROWTHS,
    "SELECT a.region || b.region FROM orders a, orders b",
    "SELECT string_agg(a.region || b.id, ',') FROM orders a, orders b",
    "SELECT a.id FROM orders a, orders b ORDER BY a.id + b.id DESC, b.amount",
)
SLOW: Final = (
    *attacks.BOMBS,
    "SELECT count(*) FROM orders a, orders b, orders c WHERE a.id + b.id < c.id",
    "SELECT median(a.amount * b.amount) FROM orders a, orders b",
)


@dataclass(frozen=True, slots=True)
class Order:
    """One row of the table `orders`; its margin is the secret one."""

    id: int
    region: str
    amount: Decimal

    @property
    def is_visible(self) -> bool:
        """Whether the row filter lets readers see the row."""
        return self.region != HIDDEN_REGION


def draw_orders(seed: int) -> tuple[Order, ...]:
    """Return the rows of the table, the same for the same seed."""
    random = Random(seed)
    return tuple(
        Order(n, _region(n % REGIONS), Decimal(random.randrange(1, 10_000_000)).scaleb(-2))
        for n in range(ROWS)
    )


def _region(number: int) -> str:
    return HIDDEN_REGION if number == REGIONS - 1 else f"r{number}"


def csv_of(orders: tuple[Order, ...]) -> bytes:
    """Return the file to publish."""
    rows = (f"{o.id},{o.region},{o.amount:.2f},{SECRET_MARGIN}\n" for o in orders)
    return ("id,region,amount,margin\n" + "".join(rows)).encode()


class Oracle:
    """Draws good statements with the rows that a reader has to get."""

    def __init__(self, orders: tuple[Order, ...], random: Random) -> None:
        """Keep the visible rows only."""
        self._orders = tuple(each for each in orders if each.is_visible)
        self._random = random

    def draw(self) -> Case:
        """Return the next good statement."""
        make = self._random.choice(
            (self._sum, self._count, self._regions, self._first, self._bounds, self._page)
        )
        sql, rows = make()
        return Case("good", sql, rows)

    def _sum(self) -> tuple[str, Rows]:
        region = f"r{self._random.randrange(REGIONS - 1)}"
        found = sum((o.amount for o in self._orders if o.region == region), Decimal())
        return f"SELECT sum(amount) FROM orders WHERE region = '{region}'", ((f"{found:.2f}",),)

    def _count(self) -> tuple[str, Rows]:
        low = self._random.randrange(ROWS)
        high = self._random.randrange(low, ROWS)
        found = sum(low <= o.id <= high for o in self._orders)
        sql = f"SELECT count(*) FROM orders WHERE id BETWEEN {low} AND {high}"
        return sql, ((str(found),),)

    def _regions(self) -> tuple[str, Rows]:
        low = self._random.randrange(ROWS // 2)
        rows: list[tuple[str | None, ...]] = []
        for number in range(REGIONS - 1):
            amounts = [o.amount for o in self._orders if o.region == f"r{number}" and o.id >= low]
            rows.append((f"r{number}", str(len(amounts)), f"{sum(amounts, Decimal()):.2f}"))
        sql = (
            f"SELECT region, count(*), sum(amount) FROM orders WHERE id >= {low}"
            " GROUP BY region ORDER BY region"
        )
        return sql, tuple(rows)

    def _first(self) -> tuple[str, Rows]:
        low = self._random.randrange(ROWS)
        found = [o for o in self._orders if o.id >= low][:5]
        sql = f"SELECT id, amount FROM orders WHERE id >= {low} ORDER BY id LIMIT 5"
        return sql, tuple((str(o.id), f"{o.amount:.2f}") for o in found)

    def _bounds(self) -> tuple[str, Rows]:
        high = self._random.randrange(1, ROWS)
        amounts = [o.amount for o in self._orders if o.id < high]
        sql = f"SELECT min(amount), max(amount) FROM orders WHERE id < {high}"
        return sql, ((f"{min(amounts):.2f}", f"{max(amounts):.2f}"),)

    def _page(self) -> tuple[str, Rows]:
        found = self._orders[-50:]
        rows = tuple((str(o.id), o.region, f"{o.amount:.2f}") for o in reversed(found))
        return f"SELECT * FROM orders ORDER BY id DESC -- {self._random.random()}", rows
