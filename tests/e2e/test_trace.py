"""One trace from the request through every hop to the seal, without a word of content."""

from __future__ import annotations

import pytest

from chancery.client.replies import SealedAnswer
from chancery.events.topology import (
    EXECUTION_RUNS,
    RELEASE_GATHERED,
    RELEASE_PROPOSED,
    RELEASE_REQUESTED,
    RETRIEVAL_RUNS,
)
from chancery.gateway.handlers.intake import REQUEST_SPAN
from chancery.runtime.telemetry import HANDLE, SEAL
from chancery.testkit.waiting import eventually
from tests.e2e.running import System
from tests.e2e.tracing import Span, spans_beside, spans_of, traces_with
from tests.e2e.world import World

HOPS = {
    ("gateway", REQUEST_SPAN),
    ("release", f"{HANDLE} {RELEASE_REQUESTED}"),
    ("retrieval", f"{HANDLE} {RETRIEVAL_RUNS}"),
    ("execution", f"{HANDLE} {EXECUTION_RUNS}"),
    ("release", f"{HANDLE} {RELEASE_GATHERED}"),
    ("release", f"{HANDLE} {RELEASE_PROPOSED}"),
    ("release", SEAL),
}
WORD = "xylographer"


@pytest.mark.req("EV-13")
async def test_one_trace_spans_the_request_every_hop_and_the_seal(
    system: System, world: World
) -> None:
    await world.document("hall", "# Halls\n\nThe xylographer keeps the woodblocks in hall nine.\n")

    answer = await world.ask("Where does the xylographer keep the woodblocks?")

    assert isinstance(answer, SealedAnswer)

    async def roots() -> list[tuple[str, str]]:
        """Return where the trace begins, once every hop was written: what is around ends later."""
        trace = await _trace_of(system, answer.run_id)
        known = {span.span_id for span in trace}
        is_whole = {(span.service, span.name) for span in trace} >= HOPS
        found = [(each.service, each.name) for each in trace if each.parent_id not in known]
        return found if is_whole and found == [("gateway", REQUEST_SPAN)] else []

    assert await eventually(roots)


@pytest.mark.req("EV-13")
async def test_spans_carry_ids_and_codes_and_never_a_word_of_content(
    system: System, world: World
) -> None:
    await world.document("hall", f"# Halls\n\nThe {WORD} keeps the woodblocks in hall nine.\n")

    answer = await world.ask(f"Where does the {WORD} keep the woodblocks?")

    assert isinstance(answer, SealedAnswer)
    await _trace_of(system, answer.run_id)
    written = spans_beside(system.folder).read_text("utf-8")
    assert answer.run_id in written
    assert WORD not in written
    assert "woodblocks" not in written


async def _trace_of(system: System, run_id: str) -> list[Span]:
    """Wait until the seal of the run was written, and return its trace."""
    found: list[list[Span]] = []

    def sealed() -> bool:
        traces = traces_with(spans_of(system), "release", SEAL)
        found[:] = [
            trace
            for trace in traces.values()
            if any(run_id in span.attributes.values() for span in trace)
        ]
        return bool(found)

    await eventually(sealed)
    return found[0]
