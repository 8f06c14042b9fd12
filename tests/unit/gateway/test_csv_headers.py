"""A CSV file that is said to have no row of names is refused, in whichever form it is sent."""

from __future__ import annotations

import pytest

from chancery.events import commands
from tests.unit.gateway.fakes import World

SNAPSHOTS = "/v1/workspaces/w/datasets/d/snapshots"


@pytest.mark.req("CR-18")
@pytest.mark.parametrize("form", ["raw", "appended", "part"])
async def test_a_csv_file_without_its_names_is_refused_and_nothing_is_stored(form: str) -> None:
    world = World()
    world.owners.answers |= {
        "query.ingestion.upload-permission.v1": commands.Outcome(sequence=1, changed=True),
    }
    kind = "text/csv; header=absent"

    async with world.client() as client:
        if form == "part":
            told = await client.post(SNAPSHOTS, files={"file": ("a.csv", b"1,2\n", kind)})
        else:
            url = SNAPSHOTS + ("?mode=append" if form == "appended" else "")
            told = await client.post(url, content=b"1,2\n", headers={"Content-Type": kind})

    found = told.json()
    assert (told.status_code, found["code"], found["field"]) == (
        422, "csv_header_absent", "media_type",
    )  # fmt: skip
    assert not [subject for subject, _ in world.owners.asked if subject.startswith("command.")]
