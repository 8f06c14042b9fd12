"""Dates, times and durations as the number formats of workbooks show them, named in English."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from chancery.extract.format_codes import Piece, UnknownFormat

Moment: TypeAlias = dt.datetime | dt.date | dt.time | dt.timedelta

_FIRST_SURE_DAY: Final = dt.date(1900, 3, 1)
"""Before it a spreadsheet counts a day that there was not, 29 February 1900."""

_LONGEST: Final = dt.timedelta(days=2_958_466)
"""What lasts longer than the days up to the end of 9999 is shown as hashes."""

_MICROSECOND: Final = dt.timedelta(microseconds=1)
_SECOND_US: Final = 1_000_000
_MINUTE_US: Final = 60 * _SECOND_US
_HOUR_US: Final = 60 * _MINUTE_US
_NOON: Final = 12
_PLACES_MAX: Final = 3
_WIDTHS: Final = {"y": 4, "m": 5, "d": 4, "h": 2, "s": 2}
_NUMERIC: Final = 2
"""Longer months and days are shown by their names, longer years in full."""

_LETTERS: Final = {3: 3, 4: None, 5: 1}
"""How many letters of a name are shown, by the width of its unit."""

_BESIDE_ELAPSED: Final = {"[h]": {"minute", "s"}, "[m]": {"s"}, "[s]": set[str]()}
"""What may stand beside an elapsed time: smaller units."""

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class DateCode:
    """A section that shows a date, a time or a duration: units with their widths, and literals."""

    parts: tuple[tuple[str, int, str], ...]
    """A unit, its width, and the text of a literal."""

    units: frozenset[str]
    """The units that are shown."""

    is_elapsed: bool
    needs_day: bool
    step_us: int
    """The microseconds of the least unit of time that is shown."""

    def shown(self, moment: Moment) -> str | None:
        """Return how a moment is shown, None where what a spreadsheet does is not sure."""
        if isinstance(moment, dt.timedelta) is not self.is_elapsed:
            return None
        day = moment if isinstance(moment, dt.date) else None
        if self.needs_day and (day is None or _day(day) < _FIRST_SURE_DAY):
            return None
        passed = _passed(moment)
        if passed is None:
            return None
        rounded = (passed + self.step_us // 2) // self.step_us * self.step_us
        if rounded // _MINUTE_US != passed // _MINUTE_US:
            return None
        return "".join([self._part(part, day, rounded) for part in self.parts])

    def _part(self, part: tuple[str, int, str], day: dt.date | None, passed: int) -> str:
        unit, width, text = part
        match unit:
            case "literal":
                return text
            case "y" | "m" | "d":
                assert day is not None, "units of a date were asked for with one"
                return _of_date(unit, width, day)
            case "half":
                half = "AP"[passed // _HOUR_US >= _NOON]
                return half if width == 1 else f"{half}M"
            case "fraction":
                return f".{passed % _SECOND_US:06d}"[: width + 1]
            case _:
                return f"{self._count(unit, passed):0{width}d}"

    def _count(self, unit: str, passed: int) -> int:
        match unit:
            case "h":
                hour = passed // _HOUR_US
                return (hour % _NOON or _NOON) if "half" in self.units else hour
            case "[h]":
                return passed // _HOUR_US
            case "minute":
                return passed // _MINUTE_US % 60
            case "[m]":
                return passed // _MINUTE_US
            case "s":
                return passed // _SECOND_US % 60
            case _:
                return passed // _SECOND_US


def date_code(pieces: Sequence[Piece]) -> DateCode:
    """Return what a section of kind `date` says.

    Raises:
        UnknownFormat: when a letter in it may mean two things, or it asks for what there is not.
    """
    parts: list[tuple[str, int, str]] = []
    units = [(kind, text) for kind, text in pieces if kind in {"date", "elapsed", "half"}]
    at = 0
    for kind, text in pieces:
        match kind:
            case "date" | "elapsed" | "half":
                parts.append(_unit(units, at))
                at += 1
            case "digit" if text == "0" and parts[-1:] and parts[-1][0] == "fraction":
                parts[-1] = ("fraction", parts[-1][1] + 1, "")
            case "point" if parts[-1:] and parts[-1][0] in {"s", "[s]"}:
                parts.append(("fraction", 0, ""))
            case "digit":
                raise UnknownFormat
            case _:
                parts.append(("literal", 0, text))
    return _checked(parts)


def _unit(units: Sequence[Piece], at: int) -> tuple[str, int, str]:
    kind, text = units[at]
    if kind == "half":
        return ("half", 1 if text == "A/P" else 2, "")
    letter, width = text[0].lower(), len(text)
    if kind == "elapsed":
        return (f"[{letter}]", width, "")
    if width > _WIDTHS[letter]:
        raise UnknownFormat
    if letter == "y":
        return ("y", 4 if width > _NUMERIC else 2, "")
    if letter == "m" and width <= _NUMERIC and _is_minute(units, at):
        return ("minute", width, "")
    return (letter, width, "")


def _is_minute(units: Sequence[Piece], at: int) -> bool:
    before = units[at - 1][1][0].lower() if at else ""
    after = units[at + 1][1][0].lower() if at + 1 < len(units) else ""
    if before == "h" or after == "s":
        return True
    if before in {"s", "a"} or after == "a":
        raise UnknownFormat
    return False


def _checked(parts: list[tuple[str, int, str]]) -> DateCode:
    units = frozenset(unit for unit, *_ in parts) - {"literal"}
    widths = [width for unit, width, _ in parts if unit == "fraction"]
    elapsed = units & _BESIDE_ELAPSED.keys()
    has_time = units & {"h", "minute", "s", "half", *elapsed}
    is_named = any(unit == "m" and width > _NUMERIC for unit, width, _ in parts)
    if len(widths) > 1 or any(not 0 < width <= _PLACES_MAX for width in widths):
        raise UnknownFormat
    if "m" in units and has_time and not (units & {"y", "d"} or is_named):
        raise UnknownFormat
    for each in elapsed:
        if units - {each, "fraction"} - _BESIDE_ELAPSED[each]:
            raise UnknownFormat
    return DateCode(
        parts=tuple(parts),
        units=units,
        is_elapsed=bool(elapsed),
        needs_day=bool(units & {"y", "m", "d"}),
        step_us=_SECOND_US // 10 ** sum(widths) if has_time else 1,
    )


def _of_date(unit: str, width: int, day: dt.date) -> str:
    if unit == "y":
        return f"{day.year:04d}"[-width:]
    number, name = (
        (day.month, _MONTHS[day.month - 1]) if unit == "m" else (day.day, _DAYS[day.weekday()])
    )
    return name[: _LETTERS[width]] if width in _LETTERS else f"{number:0{width}d}"


def _day(day: dt.date) -> dt.date:
    return day.date() if isinstance(day, dt.datetime) else day


def _passed(moment: Moment) -> int | None:
    """Return the microseconds since midnight, or of a duration; None when they are not shown."""
    if isinstance(moment, dt.timedelta):
        return moment // _MICROSECOND if dt.timedelta(0) <= moment < _LONGEST else None
    if not isinstance(moment, dt.datetime | dt.time):
        return 0
    seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
    return seconds * _SECOND_US + moment.microsecond
