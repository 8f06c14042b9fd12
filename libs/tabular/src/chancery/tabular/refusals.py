"""Why a statement is refused: stable codes with fixed texts, never the engine's own words.

What a text repeats of a statement is a name of it: one that means nothing to the caller, or that
of a function that is not allowed to anybody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from chancery.kernel.errors import Rejected
from chancery.tabular.schema import quote_identifier

NAME_CHARACTERS_MAX = 64
"""As long as a name of a column can be; a dataset's id is no longer."""

_NO_NAME = re.compile(r"[^a-z]+")
TEXTS: Mapping[str, str] = {
    "sql_empty": "sql holds no statement; send one SELECT",
    "sql_too_long": "sql is longer than 8192 bytes; shorten it",
    "sql_not_text": "sql holds a control character; remove it",
    "sql_syntax": "sql is not a valid SELECT statement in the DuckDB dialect",
    "sql_not_one_statement": "sql holds more than one statement; send exactly one SELECT",
    "sql_statement_not_select": "sql is not a SELECT; only SELECT statements are allowed",
    "sql_too_complex": "sql has too many parts or is nested too deeply; simplify it",
    "sql_unknown_table": "sql names a table that is not a dataset of this workspace",
    "sql_table_not_ready": "sql names a dataset that cannot be queried yet; ask for its state",
    "sql_ambiguous_table": "sql names tables whose names differ only in case; use one of them",
    "sql_unknown_column": "sql names a column that the tables it reads do not have",
    "sql_lineage_unresolved": "the columns that sql reads cannot be proven; simplify it",
    "sql_lineage_disagrees": "the columns that sql reads cannot be proven; simplify it",
    "sql_not_bindable": "sql does not fit the columns or types of the tables it reads",
    "sql_result_type": "sql returns a type that a preview cannot carry; cast it to a plain type",
    "sql_result_value": "sql returns a date outside the years 1 to 9999; cast it to text",
    "sql_timeout": "sql ran longer than it may; select less",
    "sql_resources": "sql needed more memory than it may use; select less",
    "sql_failed": "sql failed while it ran, for instance in a cast or by overflow",
    "preview_too_large": "the column names alone exceed the preview's byte budget; select fewer",
    "dataset_unreadable": "the dataset's snapshot cannot be read",
}


_OF_THE_GATE = frozenset(
    {
        "sql_too_complex",
        "sql_not_bindable",
        "sql_syntax",
        "sql_result_type",
        "sql_lineage_disagrees",
        "sql_lineage_unresolved",
    }
)


def is_of_gate(code: str) -> bool:
    """Tell whether the gate refuses a statement so for its form, not for what data it meets.

    One that was accepted before meets it only where gate or engine changed since.
    """
    return code in _OF_THE_GATE or code.startswith("sql_feature_")


def unknown_name(code: str, name: str) -> Rejected:
    """Return the refusal of a name that the statement has and its tables do not.

    Hidden and absent names are told alike: the text is made of nothing but the name as it was sent.
    """
    return Rejected(f"{TEXTS[code]}: {_shown(name)}", field="sql", code=code)


def session_name(name: str) -> Rejected:
    """Return the refusal of a name that the engine takes for a session value where it stands.

    It is told alike whether a table has such a column or not, and whether an alias is called so.
    """
    remedy = "give the alias another name, or write the column with its table"
    detail = f"sql names {_shown(name)}, which the engine takes for the clock or the session there"
    return Rejected(f"{detail}; {remedy}", field="sql", code="sql_unknown_column")


def _shown(name: str) -> str:
    """Return a name on one line, quoted as in SQL; what no screen shows as it is, as escapes."""
    kept = name[:NAME_CHARACTERS_MAX]
    told = "".join(map(_escaped, kept))
    return quote_identifier(told) + ("" if kept == name else "…")


def _escaped(character: str) -> str:
    is_plain = character.isprintable() and character != "\\"
    return character if is_plain else character.encode("unicode_escape").decode("ascii")


def refusal(code: str) -> Rejected:
    """Return the refusal for one of the codes of `TEXTS`."""
    return Rejected(TEXTS[code], field="sql", code=code)


def feature_refusal(feature: str, name: str | None = None) -> Rejected:
    """Return the refusal of a named SQL feature; `feature` is of our own closed vocabulary.

    `name` is what the statement calls it by.
    """
    called = feature if name is None else f"{feature} {_shown(name)}"
    detail = f"sql uses a feature that is not allowed: {called}; docs/sql.md lists what is"
    return Rejected(detail, field="sql", code=feature_code(feature))


def feature_code(feature: str) -> str:
    """Return the stable code of a named SQL feature."""
    return "sql_feature_" + _NO_NAME.sub("_", feature).strip("_")
