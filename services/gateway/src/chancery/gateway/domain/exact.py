"""Numbers and switches of a body are what JSON says they are: `"1"` and `true` are no 1."""

from __future__ import annotations

from typing import Final, get_args

from pydantic import BaseModel, ValidationInfo, field_validator

_WHOLE: Final = "must be a whole number"
_EITHER: Final = "must be true or false"


class Exact(BaseModel):
    """A body whose whole numbers and switches are taken from nothing else."""

    @field_validator("*", mode="before")
    @classmethod
    def _is_of_its_type(cls, value: object, info: ValidationInfo) -> object:
        kind = cls.model_fields[info.field_name or ""].annotation
        kinds = (kind, *get_args(kind))
        if int in kinds and isinstance(value, bool | str):
            raise ValueError(_WHOLE)
        if bool in kinds and isinstance(value, int | float | str) and not isinstance(value, bool):
            raise ValueError(_EITHER)
        return value
