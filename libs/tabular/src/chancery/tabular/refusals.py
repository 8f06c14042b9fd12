"""Why a statement is refused: stable codes with fixed texts, never the engine's own words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from chancery.kernel.errors import Rejected

_NO_NAME = re.compile(r"[^a-z]+")
TEXTS: Mapping[str, str] = {
    "sql_empty": "sql holds no statement; send one SELECT",
    "sql_too_long": "sql is longer than 8192 bytes; shorten it",
    "sql_not_text": "sql holds a control character; remove it",
    "sql_syntax": "sql is not a valid SELECT statement in the DuckDB dialect",
    "sql_not_one_statement": "sql holds more than one statement; send exactly one SELECT",
    "sql_statement_not_select": "sql is not a SELECT; only SELECT statements are allowed",
    "sql_too_complex": "sql has too many parts or is nested too deeply; simplify it",
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


def refusal(code: str) -> Rejected:
    """Return the refusal for one of the codes of `TEXTS`."""
    return Rejected(TEXTS[code], field="sql", code=code)


def feature_refusal(feature: str) -> Rejected:
    """Return the refusal of a named SQL feature; `feature` is of our own closed vocabulary."""
    detail = f"sql uses a feature that is not allowed: {feature}"
    return Rejected(detail, field="sql", code=feature_code(feature))


def feature_code(feature: str) -> str:
    """Return the stable code of a named SQL feature."""
    return "sql_feature_" + _NO_NAME.sub("_", feature).strip("_")
