"""Numbers as the number formats of workbooks show them, rounded as spreadsheets round.

A spreadsheet shows 15 digits of a number and rounds those by halves away from zero, so that 1.005
in two places is 1.01, which it is not in binary.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

from chancery.extract.format_codes import Piece, UnknownFormat

_DIGITS: Final = 15
_FIFTEEN: Final = Context(prec=_DIGITS, rounding=ROUND_HALF_UP)
_EXACT: Final = Context(prec=1000, rounding=ROUND_HALF_UP)
"""More digits than the largest number has with all the places that a code can ask for."""

_EXACT_MAX: Final = 1e15
_GENERAL_CHARACTERS: Final = 11
_GENERAL_POWER_DIGITS: Final = 6
_WHOLE: Final = re.compile(r"#*\?*0*")
_FRACTION: Final = re.compile(r"0*\?*#*")
_POWERS_OF_THREE: Final = "##0"
_GROUP: Final = 3
_BETWEEN_GROUPS: Final = re.compile(r"(?<=[0-9])(?=(?:[0-9]{3})+$)")
_FILLING: Final = {"0": "0", "?": " ", "#": ""}
"""What stands where a number has no digit."""


def fifteen_digits(value: float) -> Decimal:
    """Return what a spreadsheet takes a number for."""
    return _FIFTEEN.create_decimal_from_float(value)


def general(value: float) -> str | None:
    """Return how a cell without a format shows a number, or None where its width decides.

    `General` cuts digits to fit its column; what it would cut even from a wide one is not shown
    so, and neither are whole numbers, which stay in full.
    """
    if value.is_integer() and abs(value) < _EXACT_MAX:
        return str(int(value))
    shortest = repr(value)
    if len(shortest) <= _GENERAL_CHARACTERS and "e" not in shortest:
        return shortest
    number = fifteen_digits(value).normalize()
    fixed = f"{number:f}"
    if len(fixed) - number.is_signed() <= _GENERAL_CHARACTERS:
        return fixed
    digits = "".join(map(str, number.as_tuple().digits))
    is_small = abs(value) < 1
    if len(digits) > _GENERAL_POWER_DIGITS or not (is_small or abs(value) >= _EXACT_MAX):
        return None
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{'-' if number.is_signed() else ''}{mantissa}{_power(number.adjusted(), 'E+', 2)}"


@dataclass(frozen=True, slots=True)
class NumberCode:
    """A section that shows digits: what stands before its point, after it, and its exponent."""

    whole: tuple[Piece, ...]
    fraction: tuple[Piece, ...] | None
    places: int
    shift: int
    """Powers of ten that percent signs and thousands commas move the number by."""

    is_grouped: bool
    around: tuple[str, str] | None = None
    """What stands before and after the digits, when they are one run of zeros at the end."""

    exponent: str = ""
    exponent_digits: int = 0
    after: str = ""

    def shown(self, number: Decimal, *, is_negative: bool) -> str | None:
        """Return how the digits of a number, which come without its sign, are shown.

        Return None where what a spreadsheet does is not sure: a negative that is rounded to
        nothing, or thousands of powers of a thousand.
        """
        if self.exponent:
            return self._scientific(number)
        rounded = _rounded(_EXACT.scaleb(number, self.shift), self.places)
        return None if is_negative and not rounded else self._fixed(rounded)

    def _fixed(self, rounded: Decimal) -> str:
        if self.around is not None:
            before, after = self.around
            return (
                f"{before}{rounded:,f}{after}" if self.is_grouped else f"{before}{rounded:f}{after}"
            )
        whole, _, fraction = f"{rounded:f}".partition(".")
        shown = _whole(self.whole, whole.lstrip("0"), is_grouped=self.is_grouped)
        if self.fraction is None:
            return shown
        return f"{shown}.{_fraction(self.fraction, fraction)}"

    def _scientific(self, number: Decimal) -> str | None:
        step = sum(kind == "digit" for kind, _ in self.whole)
        if not number:
            mantissa, power = _rounded(number, self.places), 0
        else:
            power = number.adjusted() // step * step
            mantissa = _rounded(_EXACT.scaleb(number, -power), self.places)
        if step > 1 and (not number or mantissa >= 10**step):
            return None
        if mantissa >= 10**step:
            mantissa, power = _rounded(_EXACT.scaleb(mantissa, -1), self.places), power + 1
        return (
            self._fixed(mantissa) + _power(power, self.exponent, self.exponent_digits) + self.after
        )


def number_code(pieces: Sequence[Piece]) -> NumberCode:
    """Return what a section of kind `number` says.

    Raises:
        UnknownFormat: when its digits do not stand in the order in which they mean one thing.
    """
    kinds = [kind for kind, _ in pieces]
    if kinds.count("point") > 1 or kinds.count("exponent") > 1 or kinds.count("percent") > 1:
        raise UnknownFormat
    body, power = _parted(pieces, "exponent")
    body, thousands, is_grouped = _without_commas(body)
    whole, fraction = _parted(body, "point")
    _check_order(whole, fraction or (), is_grouped=is_grouped)
    code = NumberCode(
        whole=whole,
        fraction=fraction,
        places=sum(kind == "digit" for kind, _ in fraction or ()),
        shift=2 * kinds.count("percent") - _GROUP * thousands,
        is_grouped=is_grouped,
        around=_around(whole, fraction),
    )
    return code if power is None else _with_power(code, pieces[kinds.index("exponent")][1], power)


def _with_power(code: NumberCode, sign: str, power: tuple[Piece, ...]) -> NumberCode:
    digits = next((at for at, (kind, _) in enumerate(power) if kind != "digit"), len(power))
    after = power[digits:]
    placeholders = "".join(text for _, text in power[:digits])
    whole = _placeholders(code.whole)
    inner = [kind for kind, _ in (*_from_first_digit(code.whole), *(code.fraction or ()))]
    if (
        code.is_grouped or code.shift or set(placeholders) != {"0"} or set(inner) != {"digit"}
        or (len(whole) != 1 and whole != _POWERS_OF_THREE)
        or any(kind != "literal" for kind, _ in after)
    ):  # fmt: skip
        raise UnknownFormat
    return NumberCode(
        code.whole, code.fraction, code.places, 0, is_grouped=False, exponent=sign,
        exponent_digits=digits, after="".join(text for _, text in after),
    )  # fmt: skip


def _around(whole: Sequence[Piece], fraction: Sequence[Piece] | None) -> tuple[str, str] | None:
    """Return what stands around digits that are all shown: one before the point, and its places."""
    pieces = [*whole, *(fraction or ())]
    kinds = [kind for kind, _ in pieces]
    first = kinds.index("digit") if "digit" in kinds else 0
    count = kinds.count("digit")
    last = first + count
    has_places = fraction is None or "digit" in (kind for kind, _ in fraction)
    is_run = kinds[first:last] == ["digit"] * count and len(whole) > first and has_places
    digits = _placeholders(whole)
    if not is_run or digits.strip("#") != "0" or _placeholders(fraction or ()).strip("0"):
        return None
    before, after = pieces[:first], pieces[last:]
    return "".join(text for _, text in before), "".join(text for _, text in after)


def _parted(pieces: Sequence[Piece], at: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...] | None]:
    for index, (kind, _) in enumerate(pieces):
        if kind == at:
            return tuple(pieces[:index]), tuple(pieces[index + 1 :])
    return tuple(pieces), None


def _without_commas(pieces: Sequence[Piece]) -> tuple[tuple[Piece, ...], int, bool]:
    """Return the other pieces, how often commas divide by a thousand, and whether some group."""
    kept: list[Piece] = []
    thousands = 0
    is_grouped = False
    for at, piece in enumerate(pieces):
        if piece[0] != "comma":
            kept.append(piece)
            continue
        following = next((kind for kind, _ in pieces[at + 1 :] if kind != "comma"), "")
        later = [kind for kind, _ in pieces[at + 1 :]]
        is_of_whole = not any(kind == "point" for kind, _ in kept)
        if not kept or kept[-1][0] != "digit":
            raise UnknownFormat
        if following == "digit" and is_of_whole:
            is_grouped = True
        elif "digit" not in later or following == "point":
            thousands += 1
        else:
            raise UnknownFormat
    return tuple(kept), thousands, is_grouped


def _check_order(whole: Sequence[Piece], fraction: Sequence[Piece], *, is_grouped: bool) -> None:
    before, after = _placeholders(whole), _placeholders(fraction)
    if not _WHOLE.fullmatch(before) or not _FRACTION.fullmatch(after):
        raise UnknownFormat
    is_parted = any(kind != "digit" for kind in _between_digits(whole))
    if is_grouped and (is_parted or "?" in before):
        raise UnknownFormat
    if "percent" in _between_digits([*whole, *fraction]):
        raise UnknownFormat


def _placeholders(pieces: Sequence[Piece]) -> str:
    return "".join(text for kind, text in pieces if kind == "digit")


def _from_first_digit(pieces: Sequence[Piece]) -> Sequence[Piece]:
    first = next((at for at, (kind, _) in enumerate(pieces) if kind == "digit"), len(pieces))
    return pieces[first:]


def _between_digits(pieces: Sequence[Piece]) -> Sequence[str]:
    """Return what the pieces from the first to the last digit are."""
    kinds = [kind for kind, _ in _from_first_digit(pieces)]
    while kinds and kinds[-1] != "digit":
        kinds.pop()
    return kinds


def _rounded(number: Decimal, places: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-places), context=_EXACT)


def _whole(pieces: Sequence[Piece], digits: str, *, is_grouped: bool) -> str:
    """Return the pieces with digits in them, from the right; the first one takes what is left."""
    left = sum(kind == "digit" for kind, _ in pieces)
    if not left:
        return "".join(text for _, text in pieces) + digits
    if is_grouped:
        zeros = _placeholders(pieces).count("0")
        digits = _BETWEEN_GROUPS.sub(",", digits.zfill(zeros))
    shown: list[str] = []
    for kind, text in reversed(pieces):
        if kind != "digit":
            shown.append(text)
            continue
        left -= 1
        taken, digits = (digits[-1:], digits[:-1]) if left else (digits, "")
        shown.append(taken or _FILLING[text])
    return "".join(reversed(shown))


def _fraction(pieces: Sequence[Piece], digits: str) -> str:
    significant = len(digits.rstrip("0"))
    shown: list[str] = []
    at = 0
    for kind, text in pieces:
        if kind != "digit":
            shown.append(text)
            continue
        is_needed = at < significant or text == "0"
        shown.append(digits[at] if is_needed else _FILLING[text])
        at += 1
    return "".join(shown)


def _power(power: int, sign: str, digits: int) -> str:
    mark = "-" if power < 0 else "+" if sign == "E+" else ""
    return f"E{mark}{abs(power):0{digits}d}"
