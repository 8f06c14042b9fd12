"""Items at the seal: pinned with all that they rest on; what moves is never sealed over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest
from pydantic import JsonValue, TypeAdapter

from chancery.authority.names import item_ref
from chancery.events.authority_knowledge import ItemGranted, ItemWithdrawn
from chancery.events.run import Bounds, RunAdmitted, RunCancelled
from chancery.kernel.canonical import canonical_bytes
from chancery.kernel.errors import Corrupt
from chancery.release.adapters.evidence_reader import EvidenceReader
from chancery.release.domain.selection import Document, Pin
from chancery.testkit.waiting import eventually
from tests.integration.release.committed import commit, make_ready, publish_item
from tests.integration.release.published import Published
from tests.integration.release.test_moves import propose_to
from tests.integration.release.test_seal import (
    QUOTE,
    TEXT,
    outcome_of,
    propose_with,
    receipt_of,
)
from tests.integration.release.world import WORKSPACE, World

pytestmark = pytest.mark.integration

ITEM = item_ref(WORKSPACE, "guide")
ITEMS = 4
BASIS = "The basis of the guide: minutes of a meeting.\n"


Move = Callable[[World], Awaitable[int]]


async def gathered(world: World) -> tuple[RunAdmitted, Published]:
    """Play a run of anna over a restricted item that was granted to her, up to gathered."""
    basis = await world.publish_source("basis", BASIS)
    version = await commit(world, "guide", TEXT, evidence=[basis], visibility="restricted")
    await world.append(ITEM, ItemGranted(grantee="anna"))
    guide = await make_ready(world, version)
    admitted = await world.admitted(await world.ask())
    await world.gather(admitted, guide)
    return admitted, guide


@pytest.mark.req("CR-2", "CR-4", "CR-13", "CR-17")
async def test_a_sealed_item_is_pinned_with_its_commit_and_its_evidence(world: World) -> None:
    admitted, guide = await gathered(world)

    await propose_with(world, world.parts.authority.position, admitted, guide)

    receipt = await receipt_of(world, admitted.run_id)
    (used,) = receipt.core.items
    assert receipt.core.sources == ()
    assert used.key == guide.ref.id
    assert [root.id for root in used.pin.roots] == ["basis"]
    named = {(each.kind, each.id) for each in receipt.read_set}
    assert {("item", guide.ref.id), ("source", world.sources["basis"].ref.id)} <= named


@dataclass(frozen=True, slots=True)
class LastAmbushed(EvidenceReader):
    """Strikes while the last of several items is read, when all others have been."""

    last: str = ""
    strike: Callable[[], Awaitable[int]] | None = None
    checked: list[str] = field(default_factory=list[str])

    async def document(self, tenant: str, pin: Pin) -> Document:
        """Return the pinned view of an item."""
        if pin.key == self.last and self.strike is not None:
            await eventually(lambda: len(self.checked) == ITEMS - 1)
            await self.strike()
        found = await EvidenceReader.document(self, tenant, pin)
        self.checked.append(pin.key)
        return found


STRIKES: dict[str, tuple[Move, tuple[str, str | None]]] = {
    "the first item": (
        lambda world: world.append(item_ref(WORKSPACE, "i0"), ItemWithdrawn()),
        ("refused", "access_changing"),
    ),
    "the root of the first": (lambda world: world.withdraw("r0"), ("refused", "access_changing")),
    "something else": (lambda world: world.withdraw("other"), ("sealed", None)),
}


@pytest.mark.req("CR-6", "CR-15")
@pytest.mark.parametrize("name", STRIKES)
async def test_an_earlier_item_is_revoked_while_a_later_one_is_checked(
    world: World, name: str
) -> None:
    move, wanted = STRIKES[name]
    items: list[Published] = []
    for number in range(ITEMS):
        root = await world.publish_source(f"r{number}", f"{number}. {BASIS}")
        items.append(await publish_item(world, f"i{number}", f"{number}. {TEXT}", evidence=[root]))
    await world.publish_source("other", BASIS)
    admitted = await world.admitted(await world.ask(bounds=Bounds(max_sources=ITEMS)))
    await world.gather(admitted, *items)
    evidence = LastAmbushed(world.blobs, last=items[-1].ref.id, strike=lambda: move(world))

    await propose_to(replace(world.parts.seal, evidence=evidence), admitted, *items)

    assert len(evidence.checked) == ITEMS
    assert await outcome_of(world, admitted.run_id) == wanted


@pytest.mark.req("CR-2")
async def test_a_version_that_was_committed_under_other_native_ids_is_not_admitted(
    world: World,
) -> None:
    await make_ready(world, await commit(world, "guide", TEXT))
    await make_ready(world, await commit(world, "odd", TEXT, native="somebody-elses"))

    scope = await world.scope(await world.admitted(await world.ask()))

    assert [entry.id for entry in scope.entries] == ["guide"]


@pytest.mark.req("CR-2")
async def test_a_version_without_an_acknowledged_commit_is_not_admitted(world: World) -> None:
    first = await commit(world, "guide", TEXT)
    await make_ready(world, first)

    # The index claims a second version, which no publication on the log has made.
    state = replace(first.state, versions=(*first.state.versions, first.state.versions[0]))
    await make_ready(world, replace(first, number=2, text=f"Newer. {TEXT}", state=state))
    scope = await world.scope(await world.admitted(await world.ask()))

    assert [(entry.id, entry.revision) for entry in scope.entries] == [("guide", 1)]


Fields = Mapping[str, JsonValue]
Alter = Callable[[Fields], Fields]
_FIELDS: TypeAdapter[Fields] = TypeAdapter(dict[str, JsonValue])


def other_parts(view: Fields, change: Callable[[list[JsonValue]], list[JsonValue]]) -> Fields:
    """Return a manifest that names its parts otherwise."""
    parts = view["parts"]
    assert isinstance(parts, list)
    return {**view, "parts": change(parts)}


def of_another_commit(view: Fields) -> Fields:
    """Return a manifest that names another publication."""
    pin = view["pin"]
    assert isinstance(pin, dict)
    return {**view, "pin": {**pin, "operation_id": "another-operation"}}


ALTERED: dict[str, Alter] = {
    "another commit": of_another_commit,
    "another size": lambda view: {**view, "body_bytes": 5},
    "a missing part": lambda view: other_parts(view, lambda parts: parts[:-1]),
    "reordered parts": lambda view: other_parts(view, lambda parts: parts[::-1]),
    "a repeated part": lambda view: other_parts(view, lambda parts: [*parts, parts[-1]]),
}
LONG = TEXT + "Nothing of note stands here. " * 400


async def propose_view(world: World, guide: Published) -> str:
    """Play a run that quotes the item, and return its id."""
    admitted = await world.admitted(await world.ask())
    await world.gather(admitted, guide)
    await propose_with(world, world.parts.authority.position, admitted, guide)
    return admitted.run_id


@pytest.mark.req("CR-8", "CR-13", "CR-20", "KO-2")
@pytest.mark.parametrize("name", ALTERED)
async def test_an_incomplete_or_altered_view_supplies_no_facts(world: World, name: str) -> None:
    version = await commit(world, "guide", LONG)
    view = ALTERED[name](_FIELDS.validate_json(version.view().to_bytes()))
    guide = await make_ready(world, version, manifest=canonical_bytes(view))

    with pytest.raises(Corrupt):
        await propose_view(world, guide)


@pytest.mark.req("CR-8", "CR-13", "CR-20", "KO-2")
async def test_a_view_of_another_text_supplies_no_facts(world: World) -> None:
    version = await commit(world, "guide", LONG)
    other = LONG.replace("Mara", "Mira")
    view = version.view(other)
    guide = await make_ready(world, version, manifest=view.to_bytes(), text=other)

    with pytest.raises(Corrupt):
        await propose_view(world, guide)


@pytest.mark.req("CR-8", "CR-20")
async def test_the_same_view_as_it_was_made_supplies_its_facts(world: World) -> None:
    guide = await make_ready(world, await commit(world, "guide", LONG))

    run_id = await propose_view(world, guide)

    assert await outcome_of(world, run_id) == ("sealed", None)


async def cancel(world: World, admitted: RunAdmitted, guide: Published) -> None:
    """Give the run up as its asker does."""
    del guide
    data = RunCancelled(run_id=admitted.run_id, credential_id="c-anna", generation=1)
    await world.tell(admitted.run_id, "cancelled", data)


async def complete(world: World, admitted: RunAdmitted, guide: Published) -> None:
    """Seal the run elsewhere, from the same proposal."""
    await propose_to(world.parts.seal, admitted, guide)


Ending = Callable[[World, RunAdmitted, Published], Awaitable[None]]
ENDINGS: dict[str, tuple[Ending, str]] = {
    "cancelled": (cancel, "refused"),
    "completed": (complete, "sealed"),
}


@pytest.mark.req("CR-9")
@pytest.mark.parametrize("how", ENDINGS)
async def test_a_read_that_ends_after_its_run_is_released_into_nothing(
    world: World, how: str
) -> None:
    end, status = ENDINGS[how]
    guide = await make_ready(world, await commit(world, "guide", TEXT))
    admitted = await world.admitted(await world.ask())
    await world.gather(admitted, guide)
    before: list[str] = []

    async def strike() -> int:
        await end(world, admitted, guide)
        before.append((await world.ended(admitted.run_id)).json_text)
        return 0

    ambush = LastAmbushed(
        world.blobs, last=guide.ref.id, strike=strike, checked=[str(n) for n in range(ITEMS - 1)]
    )
    await propose_to(replace(world.parts.seal, evidence=ambush), admitted, guide)
    later = await world.admitted(await world.ask())
    await world.gather(later)
    await world.propose(later)

    after = await world.ended(admitted.run_id)
    assert (after.status, after.json_text) == (status, before[0])
    assert (QUOTE in after.json_text) == (status == "sealed")
    assert await world.count("release", admitted.run_id) == 1
    assert len(ambush.checked) == ITEMS
    other = await world.ended(later.run_id)
    assert other.status == "refused"
    assert QUOTE not in other.json_text
