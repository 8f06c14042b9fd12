"""What is told of a field that does not fit: our sentences, never the validator's or the value."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from chancery.runtime.sentences import ANYTHING, Misfit, sentence_of
from tests.unit.gateway.fakes import World

CANARY = "quagmire7741"
SOURCE = "/v1/workspaces/w/sources/s"
DATASET = "/v1/workspaces/w/datasets/d"
LITERAL = "must be a text of at most 500 characters, a whole number, true or false"
POST = "/v1/conversations/c/messages"
FOREIGN = re.compile(r"String should|Input should|Field required|Value error|Extra inputs|pattern")


async def told(method: str, path: str, body: Mapping[str, object]) -> str:
    """Return the detail of what the surface refuses."""
    async with World().client() as client:
        response = await client.request(method, path, json=body)
    assert response.status_code == 422
    assert CANARY not in response.text
    assert FOREIGN.search(response.text) is None
    detail: str = response.json()["detail"]
    return detail


@pytest.mark.parametrize(
    ("method", "path", "body", "sentence"),
    [
        ("PUT", SOURCE, {}, "title: is missing; send it"),
        ("PUT", SOURCE, {"title": 7}, "title: must be a text in quotes"),
        ("PUT", SOURCE, {"title": ""}, "title: must not be empty"),
        ("PUT", SOURCE, {"title": f"{CANARY}\n"}, "title: must be one line"),
        ("PUT", SOURCE, {"title": "t", "colour": CANARY}, "colour: is no field of this request"),
        ("PUT", SOURCE, {"title": "t", "visibility": CANARY},
         "visibility: must be one of 'workspace', 'restricted' or 'private'"),
        ("PUT", SOURCE, {"title": "t", "date": CANARY}, "date: must be a day as YYYY-MM-DD"),
        ("PUT", SOURCE, {"title": "t", "date": "2026-02-30"},
         "date: must be a day of the calendar"),
        ("PUT", f"/v1/workspaces/{CANARY}.x/sources/s", {"title": "t"},
         "ws: must be 1 to 64 characters of A-Z a-z 0-9 _ -"),
        ("PUT", f"{SOURCE}/grants/{CANARY}:x", {}, "grantee: must be a principal or group:NAME"),
        ("POST", POST, {"question": " "}, "question: must hold at least one character"),
        ("POST", POST, {"question": "q", "sources": CANARY}, "sources: must be a list"),
        ("POST", POST, {"question": "q", "bounds": CANARY}, "bounds: must be an object"),
        ("POST", POST, {"question": "q", "bounds": {"max_duration_s": 601}},
         "bounds.max_duration_s: must be at most 600"),
        ("POST", POST, {"question": "q", "bounds": {"min_sources": CANARY}},
         "bounds.min_sources: must be a whole number"),
        ("PUT", DATASET, {"title": "t", "row_filters": [
            {"roles": ["reader"], "column": "c", "in": ["north", {CANARY: 1}, None]}]},
         f"row_filters.0.in.1: {LITERAL}"),
        ("PUT", DATASET, {"title": "t", "row_filters": [
            {"roles": ["reader"], "column": "c", "in": [CANARY * 50]}]},
         f"row_filters.0.in.0: {LITERAL}"),
        ("PUT", DATASET, {"title": "t", "row_filters": [
            {"roles": ["reader"], "column": "c", "allowed": [CANARY * 50]}]},
         f"row_filters.0.allowed.0: {LITERAL}"),
        ("PUT", DATASET, {"title": "t", "row_filters": [
            {"roles": ["reader"], "column": "c", "in": CANARY}]},
         "row_filters.0.in: must be a list"),
        ("PUT", DATASET, {"title": "t", "row_filters": [{"roles": ["reader"], "column": "c"}]},
         "row_filters.0.in: is missing; send it"),
        ("PUT", DATASET, {"title": "t", "measures": [
            {"name": "m", "aggregate": "sum", "column": "c", "where": {"region": [CANARY]}}]},
         f"measures.0.where.region: {LITERAL}"),
        ("POST", "/v1/credentials", {"principal": "p", "expires_at": CANARY},
         "expires_at: must be a moment as"),
        ("POST", "/v1/credentials", {"principal": "p", "expires_at": "2026-01-01T00:00:00"},
         "expires_at: must name its time zone"),
    ],
)  # fmt: skip
async def test_a_field_that_does_not_fit_is_told_in_a_sentence_of_ours(
    method: str, path: str, body: Mapping[str, object], sentence: str
) -> None:
    assert (await told(method, path, body)).startswith(sentence)


@pytest.mark.parametrize(
    ("method", "path", "body", "sentence"),
    [
        ("PUT", SOURCE, {"titel": CANARY},
         "titel: is no field of this request; did you mean title?"),
        ("PUT", SOURCE, {"title": "t", "Visibilty": "workspace"},
         "Visibilty: is no field of this request; did you mean visibility?"),
        ("POST", POST, {"question": "q", "bounds": {"max_source": 3}},
         "bounds.max_source: is no field of this request; did you mean max_sources?"),
        ("POST", POST, {"question": "q", "filters": {"data_from": "2024-01-01"}},
         "filters.data_from: is no field of this request; did you mean date_from?"),
        ("POST", "/v1/workspaces/w/sources", {"documents": [{"source_id": "a", "txt": CANARY}]},
         "documents.0.txt: is no field of this request; did you mean text?"),
        ("PUT", "/v1/workspaces/w/corpora/c", {"modl": CANARY},
         "modl: is no field of this request; did you mean model?"),
        ("PUT", SOURCE, {"title": "t", "x" * 65: CANARY},
         f"{'x' * 65}: is no field of this request; leave it out"),
    ],
)  # fmt: skip
async def test_a_misspelt_field_is_told_with_the_one_that_was_meant(
    method: str, path: str, body: Mapping[str, object], sentence: str
) -> None:
    assert (await told(method, path, body)).startswith(sentence)


@pytest.mark.parametrize("kind", ["something_new", "string_too_long"])
def test_a_kind_without_a_sentence_or_its_limit_has_a_general_one(kind: str) -> None:
    assert sentence_of(Misfit(type=kind)) == ANYTHING
