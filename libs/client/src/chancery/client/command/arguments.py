"""What stands on the command line, looked at before anything is read or called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chancery.client.command.output import WrongUsage
from chancery.kernel.errors import Rejected
from chancery.kernel.ids import parse_id


def given_id(value: str, *, field: str) -> str:
    """Return an id as it was given.

    Raises:
        WrongUsage: it is none; `field` names the option or argument.
    """
    try:
        return parse_id(value, field=field)
    except Rejected as error:
        raise WrongUsage(error.detail, field=field, code=error.code) from error


def check_words(text: str, *, field: str) -> None:
    """Refuse a text without a word.

    Raises:
        WrongUsage: naming the argument.
    """
    if not text.strip():
        message = f"{field} is empty"
        raise WrongUsage(message, field=field, code="empty")


def check_given(values: Mapping[str, str | None]) -> None:
    """Refuse the first option that is given without a word; None is not given.

    Raises:
        WrongUsage: naming the option.
    """
    for option, value in values.items():
        if value is not None:
            check_words(value, field=option)


def check_ids(values: Iterable[str], *, field: str) -> None:
    """Refuse the first of the values that is no id.

    Raises:
        WrongUsage: naming the option that it was given with.
    """
    for value in values:
        given_id(value, field=field)
