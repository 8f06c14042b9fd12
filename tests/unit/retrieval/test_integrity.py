"""An index that was damaged on disk is noticed when it is opened, whatever was damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chancery.retrieval.adapters.integrity import check_files
from chancery.retrieval.adapters.tenant_index import TenantIndex
from chancery.retrieval.domain.entries import Entry, Pin, RevisionRef
from chancery.retrieval.errors import IndexBroken
from chancery.testkit.folders import take_away
from chancery.testkit.waiting import eventually
from tests.unit.retrieval.world import TENANT, World


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small index with deletions."""
    folder = tmp_path_factory.mktemp("sound") / TENANT
    index = TenantIndex.open(TENANT, folder)
    for number in range(1, 4):
        ref = RevisionRef("source", "key", number)
        text = "service reviews " * number
        entry = Entry("passage", text, 1, 0, len(text))
        index.replace(ref, Pin(ref, "1" * 64, "2" * 64), [entry] * 20)
        index.commit(number)
    index.replace(RevisionRef("source", "key", 1), None, ())
    index.commit(4)
    index.release_writer()
    return folder


def data_files(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.iterdir() if path.suffix != ".lock" and path.name[0] not in ".m"
    )


def test_a_sound_index_passes(sound: Path) -> None:
    check_files(TENANT, sound)

    assert any(path.suffix == ".del" for path in data_files(sound))


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(choice=st.data())
def test_a_changed_byte_or_a_cut_of_a_committed_file_is_noticed(
    sound: Path, tmp_path_factory: pytest.TempPathFactory, choice: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("broken") / TENANT
    shutil.copytree(sound, folder)
    TenantIndex.open(TENANT, folder)
    committed = [each for each in data_files(folder) if _is_committed(folder, each)]
    path = choice.draw(st.sampled_from(committed))
    data = bytearray(path.read_bytes())
    footer_bytes = int.from_bytes(data[-8:-4], "little") + 8
    place = choice.draw(st.integers(0, len(data) - footer_bytes - 1))
    if choice.draw(st.booleans()):
        data[place] ^= choice.draw(st.integers(1, 255))
    else:
        del data[place:]
    _replace(path, data)

    with pytest.raises(IndexBroken):
        check_files(TENANT, folder)


async def test_a_service_over_a_damaged_index_builds_it_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "service reviews")
    await world.start().catch_up()
    fast = next((tmp_path / "index" / TENANT).glob("*.fast"))
    _replace(fast, bytes(len(fast.read_bytes())))
    service = world.start()
    before = service.found("service", pin)

    await service.catch_up()

    assert before == []
    assert service.found("service", pin) == [pin.number]


@pytest.mark.parametrize("taken", ["tenant", "everything"])
async def test_a_folder_that_is_taken_away_while_it_runs_is_built_again(
    tmp_path: Path, taken: str
) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "service reviews")
    other = await world.document("b", "service reviews", tenant="other")
    service = world.start()
    async with service.following_along():
        await eventually(lambda: service.following.position == 2)

        take_away(tmp_path / "index" / (TENANT if taken == "tenant" else ""))

        await eventually((tmp_path / "index" / TENANT / "meta.json").exists)
        found = await eventually(lambda: service.found("service", pin))
        beside = await eventually(lambda: service.found("service", other, tenant="other"))

    assert (found, beside) == ([pin.number], [other.number])


def _replace(path: Path, data: bytes | bytearray) -> None:
    """Write another file in the place of one that may still be mapped into memory."""
    path.unlink()
    path.write_bytes(data)


def _is_committed(folder: Path, path: Path) -> bool:
    meta = (folder / "meta.json").read_text("ascii").replace("-", "")
    name, *rest = path.name.split(".")
    return name in meta and (path.suffix != ".del" or rest[0] in meta)
