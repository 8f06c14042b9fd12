"""The named SQL of the fixtures and of the tests that read the catalog."""

from __future__ import annotations

from chancery.store.queries import load_queries

QUERIES = load_queries("chancery.testkit")
