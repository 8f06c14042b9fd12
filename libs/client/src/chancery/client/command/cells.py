"""Where in a workbook the quotations of an answer stand; the sealed text does not tell it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from chancery.client.command.file_ids import readable
from chancery.client.command.output import tell_progress
from chancery.client.replies import Answer, Citation, HitCell, SealedAnswer, Statement
from chancery.client.workspace import Workspace
from chancery.extract.media import XLSX, bare
from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError

WITHIN_S: Final = 5.0
"""An answer that is there is shown without its cells rather than much later."""

Cells = Mapping[str, Sequence[HitCell]]
"""By the id of the citation."""


async def cells_of(workspace: Workspace, answer: Answer) -> Cells:
    """Return the cells of what is quoted from workbooks; of what cannot be asked now, none."""
    found: dict[str, Sequence[HitCell]] = {}
    if isinstance(answer, SealedAnswer):
        with suppress(ChanceryError, TimeoutError):
            async with asyncio.timeout(WITHIN_S):
                await _find(workspace, answer, found)
    return found


async def _find(
    workspace: Workspace, answer: SealedAnswer, found: dict[str, Sequence[HitCell]]
) -> None:
    quoted = {each.citation: each for each in answer.statements}
    for citation in answer.citations:
        statement = quoted.get(citation.id)
        if statement is not None:
            found[citation.id] = await _cells(workspace, citation, statement)


async def _cells(
    workspace: Workspace, citation: Citation, statement: Statement
) -> Sequence[HitCell]:
    source_id, revision = citation.source_id, citation.revision
    if source_id is None or revision is None or citation.page is not None:
        return ()
    if bare((await workspace.revision(source_id, revision)).media_type) != XLSX:
        return ()
    checked = await workspace.check_passage(
        source_id, revision, statement.text, start=citation.start, end=citation.end
    )
    return checked.cells or ()


def tell_cells(answer: Answer, cells: Cells) -> None:
    """Say beside the answer in which cells its quotations stand, by the numbers that they have."""
    if not isinstance(answer, SealedAnswer):
        return
    titles = {each.id: each.title for each in answer.citations}
    for number, statement in enumerate(answer.statements, start=1):
        span = cell_span(cells.get(statement.citation, ()))
        if span:
            tell_progress(f"[{number}] {titles.get(statement.citation, '')}: {span}")


def with_cells(told: dict[str, Json], cells: Cells) -> dict[str, Json]:
    """Return an answer for machines, each citation of a workbook with its cells."""
    citations = told.get("citations")
    if not isinstance(citations, list):
        return told
    named: list[Json] = []
    for each in citations:
        found = cells.get(str(each["id"]), ()) if isinstance(each, dict) else ()
        own: list[Json] = [cell.model_dump(mode="json") for cell in found]
        named.append({**each, "cells": own} if isinstance(each, dict) and own else each)
    return {**told, "citations": named}


def cell_span(cells: Sequence[HitCell]) -> str:
    """Return the first and the last cell in a word; of none, nothing.

    Whoever made the workbook named its sheets, and their names stand among the command's own words.
    """
    if not cells:
        return ""
    first, last = cells[0], cells[-1]
    begin = f"{readable(first.sheet)}!{first.cell}"
    if first == last:
        return begin
    sheet = "" if last.sheet == first.sheet else f"{readable(last.sheet)}!"
    return f"{begin}–{sheet}{last.cell}"
