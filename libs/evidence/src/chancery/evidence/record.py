"""The base of everything here that is stored or hashed: strict, frozen, canonical."""

from __future__ import annotations

from typing import Final, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from chancery.kernel.canonical import Json, canonical_bytes, exact_bytes, parse_json
from chancery.kernel.errors import Corrupt

PLACES_MAX: Final = 20
"""How many places of wrong fields are told: a file of somebody else can have any number of them."""


class Malformed(Corrupt):
    """Stored bytes are not the canonical form of the record they should hold."""

    code = "malformed_record"


class Record(BaseModel):
    """A frozen message that refuses unknown fields and wrong types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    def to_json(self) -> dict[str, Json]:
        """Return the record as a JSON object."""
        fields: dict[str, Json] = self.model_dump(mode="json")
        return fields

    def to_bytes(self) -> bytes:
        """Return the canonical bytes, which are what is hashed and stored.

        A record that may hold floating-point numbers uses `canonical_bytes` instead.
        """
        return exact_bytes(self.to_json())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the record whose canonical bytes are `data`.

        Raises:
            Malformed: for other bytes, another layout of the same JSON included.
        """
        record = cls.from_json_text(data)
        if record.to_bytes() != data:
            message = f"the bytes are not the canonical form of a {cls.__name__}"
            raise Malformed(message)
        return record

    @classmethod
    def from_pinned(cls, data: bytes) -> Self:
        """Return the record in bytes that have the hash of a pin.

        Their form was checked by whoever pinned them; here only their fields are.

        Raises:
            Malformed: naming the fields that are missing, unknown or of a wrong type.
        """
        try:
            return cls.model_validate_json(data)
        except ValidationError as error:
            message = f"not a {cls.__name__}: {places(error)}"
            raise Malformed(message, field=first_place(error)) from None

    @classmethod
    def from_json_text(cls, data: bytes) -> Self:
        """Return the record in the JSON text `data`, whatever its spaces and order of keys.

        Every field must be there, and written as this build writes it: nothing is filled in.

        Raises:
            Malformed: naming the fields that are missing, unknown or of a wrong type.
        """
        try:
            canonical = canonical_bytes(parse_json(data))
            record = cls.model_validate_json(data)
        except ValidationError as error:
            message = f"not a {cls.__name__}: {places(error)}"
            raise Malformed(message, field=first_place(error)) from None
        except (Corrupt, ValueError) as error:
            message = f"not a {cls.__name__}: the bytes are not JSON that has a canonical form"
            raise Malformed(message) from error
        if record.to_bytes() != canonical:
            message = f"not a {cls.__name__}: a field is missing or not in its canonical form"
            raise Malformed(message)
        return record


def places(error: ValidationError) -> str:
    """Return the first dotted paths that `error` is about, without the values found there."""
    found = sorted({*_paths(error)} - {""})
    more = f" and {len(found) - PLACES_MAX} more" if len(found) > PLACES_MAX else ""
    return ", ".join(found[:PLACES_MAX]) + more or "its fields do not fit together"


def first_place(error: ValidationError) -> str | None:
    """Return the first dotted path that `error` is about."""
    return _paths(error)[0] or None


def _paths(error: ValidationError) -> list[str]:
    told = error.errors(include_url=False, include_context=False, include_input=False)
    return [".".join(str(step) for step in each["loc"]) for each in told]
