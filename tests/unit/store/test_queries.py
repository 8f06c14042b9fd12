"""Named SQL: the format is strict, so a wrong file or name fails at import."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.store.queries import MalformedSql, Queries, UnknownQuery, load_queries, parse_queries

GOOD = "-- name: find_it\n-- Find the thing.\nSELECT 1;\n"
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)


def test_a_statement_is_found_by_its_name() -> None:
    assert parse_queries(GOOD, file="q.sql") == {"find_it": "SELECT 1;"}


def test_comments_inside_a_statement_stay() -> None:
    text = "-- name: a\n-- Purpose.\nSELECT 1 -- one\n-- why\n, 2;"

    assert parse_queries(text, file="q.sql")["a"] == "SELECT 1 -- one\n-- why\n, 2;"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("SELECT 0;\n" + GOOD, "before the first"),
        (GOOD + GOOD, "defined twice"),
        ("-- name: find_it\nSELECT 1;\n", "what it is for"),
        ("-- name: find_it\n-- Find the thing.\n", "no statement"),
        ("-- name: find_it\n-- Find the thing.\n-- only a comment\n", "no statement"),
        ("-- name: Find-It\n-- Find the thing.\nSELECT 1;\n", "lower_case_words"),
        ("-- name: find_it\n", "what it is for"),
    ],
)
def test_a_malformed_file_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(MalformedSql, match=complaint):
        parse_queries(text, file="q.sql")


def test_an_unknown_name_is_refused_with_the_package() -> None:
    queries = Queries("chancery.release", {"a": "SELECT 1;"})

    with pytest.raises(UnknownQuery, match=re.escape("chancery.release has no query 'b'")):
        queries["b"]


def test_the_queries_of_an_installed_package_are_found() -> None:
    queries = load_queries("chancery.store")

    assert "pg_advisory_lock" in queries["lock_migrations"]
    assert len(queries) == len(list(queries))


@given(names=st.lists(NAMES, unique=True, min_size=1, max_size=8))
def test_every_name_of_a_file_is_found_in_order(names: list[str]) -> None:
    text = "".join(f"-- name: {name}\n-- Purpose.\nSELECT {n};\n\n" for n, name in enumerate(names))

    found = parse_queries(text, file="q.sql")

    assert list(found.items()) == [(name, f"SELECT {n};") for n, name in enumerate(names)]
