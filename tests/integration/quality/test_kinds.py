"""Every type of document goes through the processes that read it, the gate, and comes out equal."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.quality.equality import Compared, compare
from tests.quality.kinds import KINDS, Kind, squeezed
from tests.quality.shelf import read_all

pytestmark = pytest.mark.integration

TEXT = (
    "The harbour master signs every permit in Oslo.\n\n"
    "Permits | fee < 40 | valid & stamped\n\n"
    "Renewals are paid in March, says the café's owner.\n"
)


@pytest.mark.req("KO-3")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_quotations_of_every_type_are_their_source(kind: Kind, tmp_path: Path) -> None:
    found = compare(tmp_path, kind, {"p": TEXT}, ["Who signs every permit?"])

    assert found == Compared(kind.name, documents=1, released=1, differing=0, foreign=0)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_file_of_every_type_shows_the_whole_text(kind: Kind) -> None:
    found = asyncio.run(read_all(kind.media_type, {"p": kind.write(TEXT)}))["p"]

    assert squeezed(found.text).endswith(squeezed(kind.shown(TEXT)))
