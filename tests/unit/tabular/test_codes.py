"""Every code of the code of datasets stands in docs/sql.md, none is invented, each has a test."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "sql.md").read_text()
SOURCES = (
    "libs/tabular/src",
    "services/execution/src",
    "services/indexing/src",
    "services/gateway/src",
    "services/ingestion/src",
)
OWN_CODE = re.compile(r'"((?:append|sql|csv|parquet|xlsx|dataset|preview|policy|measure)_[a-z_]+)"')
MADE_CODE = re.compile(r'f"\{(?:file_format|found)\}_([a-z_]+)"')
DECLARATION_CODES = ("unknown_column", "invalid_column_type", "invalid_measure")
FORMATS = ("csv", "parquet", "xlsx")
NO_CODES = frozenset(
    {
        "sql_feature_",
        "dataset_id",
        "csv_unreadable",
        "preview_budget",
        "preview_label_texts",
        "preview_label_names",
    }
)
"""The beginning of codes, a column, a refusal that one format never meets, and what only a record
can have that was tampered with: no query and no file is refused with it."""


def codes_in_the_code() -> set[str]:
    """Return every code that a query or a file can be refused with."""
    texts = [path.read_text() for each in SOURCES for path in (ROOT / each).rglob("*.py")]
    found = {code for text in texts for code in OWN_CODE.findall(text)}
    made = {ending for text in texts for ending in MADE_CODE.findall(text)}
    found |= {f"{each}_{ending}" for each in FORMATS for ending in made}
    return {*found, *DECLARATION_CODES} - NO_CODES


def documented_codes() -> set[str]:
    """Return the codes in the tables of the page."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    cells = [row.split("|")[1] for row in rows]
    return {
        code
        for cell in cells
        for code in re.findall(r"`([a-z_]+)`", cell)
        if code in DECLARATION_CODES or OWN_CODE.fullmatch(f'"{code}"')
    }


def test_every_code_is_documented_and_every_documented_code_exists() -> None:
    found = {each for each in codes_in_the_code() if not each.startswith("sql_feature_")}
    documented = {each for each in documented_codes() if not each.startswith("sql_feature_")}

    assert len(found) > 40
    assert documented == found


def test_every_documented_code_has_a_test() -> None:
    """The refused examples of the page are tests themselves (test_documented)."""
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if path.name != "test_codes.py"]
    tested = "\n".join(path.read_text() for path in tests)
    examples = {
        line.split("|")[1].strip().strip("`")
        for line in PAGE.splitlines()
        if line.startswith("| `") and len(re.split(r"(?<!\\)\|", line)) == 5
    }

    named = {code for code in documented_codes() if f'"{code}"' in tested}
    assert documented_codes() - named - examples == set()
