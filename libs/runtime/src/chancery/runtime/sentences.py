"""What is told of a field that does not fit: a sentence of ours for every kind of misfit.

The sentences of the validator are for programmers, and some repeat what was sent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from chancery.events.authority import LINE_PATTERN
from chancery.kernel.ids import ID_PATTERN
from chancery.runtime.misspelled import meant

GRANTEE_PATTERN: Final = r"^(group:)?[A-Za-z0-9_-]{1,64}$"
_DAY_OF_EVENTS: Final = r"^\d{4}-\d{2}-\d{2}$"
_HASH: Final = r"^[0-9a-f]{64}$"
DAY_PATTERN: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
ANYTHING: Final = "has a value that does not fit; the contract of the request says what does"

_PATTERNS: Mapping[str, str] = {
    ID_PATTERN: "must be 1 to 64 characters of A-Z a-z 0-9 _ -",
    GRANTEE_PATTERN: "must be a principal or group:NAME, of A-Z a-z 0-9 _ -",
    DAY_PATTERN: "must be a day as YYYY-MM-DD",
    _DAY_OF_EVENTS: "must be a day as YYYY-MM-DD",
    _HASH: "must be a SHA-256 hash, as 64 characters of 0-9 a-f",
    LINE_PATTERN: "must be one line without control characters",
}
_SENTENCES: Mapping[str, str] = {
    "missing": "is missing; send it",
    "extra_forbidden": "is no field of this request; leave it out",
    "string_type": "must be a text in quotes",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_unicode": "must be valid Unicode",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object with names and values",
    "mapping_type": "must be an object with names and values",
    "model_type": "must be an object with names and values",
    "model_attributes_type": "must be an object with names and values",
    "datetime_type": "must be a moment as 2026-01-31T12:00:00Z",
    "datetime_parsing": "must be a moment as 2026-01-31T12:00:00Z",
    "datetime_from_date_parsing": "must be a moment as 2026-01-31T12:00:00Z",
    "timezone_aware": "must name its time zone, as in 2026-01-31T12:00:00Z",
    "json_invalid": "must be valid JSON",
    "json_type": "must be valid JSON",
}


class Misfit(BaseModel):
    """What the validator says of one field: the kind, the limits that it broke, never the value."""

    model_config = ConfigDict(extra="ignore", arbitrary_types_allowed=True)

    type: str
    loc: tuple[int | str, ...] = ()
    ctx: Mapping[str, object] = {}


def first_misfit(error: ValidationError) -> Misfit:
    """Return the first thing that does not fit, without the value."""
    return Misfit.model_validate(error.errors(include_url=False, include_input=False)[0])


def sentence_of(misfit: Misfit, known: Collection[str] = ()) -> str:
    """Return what has to change about the field, as the end of a sentence that its name begins.

    `known` are the fields that there are at its place: one of them may have been meant.
    """
    if misfit.type == "extra_forbidden" and misfit.loc:
        near = meant(str(misfit.loc[-1]), known)
        if near is not None:
            return f"is no field of this request; did you mean {near}?"
    if misfit.type == "value_error":
        # Only validators of ours raise it; none repeats what it was given.
        return str(misfit.ctx.get("error", ANYTHING))
    if misfit.type == "string_pattern_mismatch":
        return _PATTERNS.get(str(misfit.ctx.get("pattern")), "has characters that do not fit here")
    if misfit.ctx.get("min_length") == 1:
        return "must not be empty"
    sentence = _SENTENCES.get(misfit.type, ANYTHING)
    try:
        return sentence.format_map(misfit.ctx)
    except KeyError:
        return ANYTHING
