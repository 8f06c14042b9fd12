"""Nothing but the topology spells a subject."""

from __future__ import annotations

import pytest

from tests.tidy import subjects
from tests.tidy.tree import findings, production


@pytest.mark.parametrize(
    "bad",
    [
        'x = "authority.*.source.*"',
        'x = "run.>"',
        'x = f"run.{tenant}.{run}.requested"',
        'x = f"cut.{tenant}"',
        'x = f"intake-outcome.{tenant}.{principal}.{event}"',
        'x = "query.release.authorise.v1"',
    ],
)
def test_check_finds_a_spelled_subject(bad: str) -> None:
    found = list(subjects.spelled_subjects(bad))

    assert len(found) == 1


@pytest.mark.parametrize(
    "good",
    [
        'x = "run.json"',
        'x = "run.admitted"',
        'x = "the query.release part of a sentence"',
        'x = f"{run}.requested"',
        'x = f"query {name}"',
        'x = f"query.{number}"',
        '"""authority.tenant.source.id is told in a docstring."""',
    ],
)
def test_check_spares_what_is_no_subject(good: str) -> None:
    found = list(subjects.spelled_subjects(good))

    assert found == []


def test_only_the_topology_spells_subjects() -> None:
    home = [source for source in production() if source.path.startswith(subjects.HOME)]
    others = [source for source in production() if not source.path.startswith(subjects.HOME)]

    assert findings(home, subjects.spelled_subjects)
    assert findings(others, subjects.spelled_subjects) == []
