"""The steps about what is not shown any more, and about what can be checked without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus

from chancery.client.demo.asking import expect_refusal
from chancery.client.demo.scenario import Scenario
from chancery.client.demo.stage import Stage
from chancery.client.demo.telling import expect
from chancery.client.errors import ProblemError
from chancery.client.http import Chancery
from chancery.client.replies import WithheldAnswer
from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.verify.report import Report
from chancery.verify.verify import verify_bundle


async def no_access(stage: Stage) -> Mapping[str, Json]:
    """Ask as a stranger, and as a member who lacks the grant: neither learns a thing."""
    scenario, cast, narrator = stage.scenario, stage.cast, stage.narrator
    run_id = stage.kept.handle.run_id
    attempts = {
        f"/v1/workspaces/{scenario.workspace_id}/conversations": "POST",
        f"/v1/workspaces/{scenario.workspace_id}/sources": "GET",
        f"/v1/runs/{run_id}/answer": "GET",
        f"/v1/runs/{run_id}/bundle": "GET",
    }
    for path, method in attempts.items():
        problem = await _refused(cast.outsider, method, path)
        expect(problem.status == HTTPStatus.NOT_FOUND, f"404 for a stranger at {path}")
        _expect_silence(scenario, str(problem.problem), f"the refusal at {path}")
    narrator.tell(f"{scenario.outsider}, no member: 404, as for a workspace that does not exist")
    narrator.tell(f"{scenario.colleague}, a member without the grant:")
    question = scenario.ownership_question
    handle, refused = await expect_refusal(stage, cast.colleague, question)
    for view in ("answer", "audit"):
        told = await cast.colleague.transport.call("GET", f"/v1/runs/{handle.run_id}/{view}")
        _expect_silence(scenario, told.body.decode(), f"the {view}")
    seen = await cast.colleague.workspace(scenario.workspace_id).sources()
    listed = [each.id for each in seen]
    expect(scenario.ownership.source_id not in listed, "the restricted source is not listed")
    expect(scenario.terms.source_id in listed, "the open source is listed")
    return {"stranger": 404, "colleague": refused.outcome, "text": refused.explanation}


async def revoked(stage: Stage) -> Mapping[str, Json]:
    """Revoke the reader's grant and read the sealed answer again: it is withheld."""
    scenario, cast, narrator = stage.scenario, stage.cast, stage.narrator
    workspace = cast.publisher.workspace(scenario.workspace_id)
    source_id = scenario.ownership.source_id
    done = await workspace.revoke_grant("sources", source_id, scenario.reader)
    narrator.tell(f"the grant of {source_id} ended at position {done.sequence} of the log")
    answer = await cast.reader.answer(stage.kept.handle)
    expect(isinstance(answer, WithheldAnswer), f"the answer is withheld, not {answer.status}")
    assert isinstance(answer, WithheldAnswer)
    narrator.tell(f"{scenario.reader} reads the sealed answer again:")
    narrator.show(answer.explanation)
    bundle = await cast.reader.bundle(stage.kept.handle.run_id)
    _expect_silence(scenario, bundle.decode(), "the bundle that is handed out now")
    return {"status": answer.status, "text": answer.explanation}


async def verified(stage: Stage) -> Mapping[str, Json]:
    """Verify the saved bundle, then the same bundle with one letter changed."""
    data = await asyncio.to_thread(stage.kept.bundle.read_bytes)
    report = await asyncio.to_thread(verify_bundle, data)
    for line in report_lines(report):
        stage.narrator.tell(line)
    expect(report.verdict == "verified", f"the bundle verifies, not: {report.mismatches}")
    forged = await asyncio.to_thread(verify_bundle, _with_one_change(data, stage.scenario))
    expect(forged.verdict == "mismatch", "a changed letter is found")
    names = ", ".join(forged.mismatches)
    stage.narrator.tell(
        f"the same bundle with one letter of a quotation changed: mismatch in {names}"
    )
    return {**report.to_json(), "forged": list(forged.mismatches)}


def report_lines(report: Report) -> list[str]:
    """Return a report for people: what matches, what does not, and what cannot be checked."""
    marks = {"verified": "ok", "mismatch": "MISMATCH", "uncheckable": "not checkable here"}
    lines = [f"{marks[each.verdict]}: {each.name} ({each.detail})" for each in report.checks]
    if report.refusal is None:
        return [*lines, report.verdict]
    return [*lines, f"{report.verdict}: this is a refusal ({report.refusal}), no answer"]


async def _refused(client: Chancery, method: str, path: str) -> ProblemError:
    try:
        await client.transport.call(method, path)
    except ProblemError as error:
        return error
    expect(condition=False, expectation=f"a stranger is refused at {path}")
    raise AssertionError


def _expect_silence(scenario: Scenario, told: str, where: str) -> None:
    folded = told.casefold()
    leaked = [each for each in scenario.secrets if each.casefold() in folded]
    expect(not leaked, f"{where} names nothing of what is not to be seen")


def _with_one_change(data: bytes, scenario: Scenario) -> bytes:
    bundle = parse_json(data)
    assert isinstance(bundle, Mapping)
    quote = scenario.ownership.quote
    changed = quote.replace(quote[0], "X" if quote[0] != "X" else "Y", 1)
    statements = bundle["statements"]
    assert isinstance(statements, list)
    first = statements[0]
    assert isinstance(first, Mapping)
    return canonical_bytes({**bundle, "statements": [{**first, "text": changed}, *statements[1:]]})
