"""A quotation keeps within its block: no list item, heading, row or page is dragged along."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chancery.events.run import Bounds
from chancery.execution.adapters import ExtractiveSelector
from chancery.execution.ports import Passage, Question, SelectedQuote
from tests.unit.execution.test_quoting import passages_of, quoted

WARRANTY = (
    "# Handbook of repairs\n\n"
    "Spare parts are ordered on Mondays.\n\n"
    "## Signing off warranty claims\n\n"
    "The service desk in Ilmen signs off every warranty claim. "
    "It takes two days.\n\n"
    "## Returns\n\n"
    "Returned parts are kept for a month.\n"
)
PRESSURE = (
    "## Pressure tests\n\n"
    "The boiler is tested at nine bar by the night shift.\n\n"
    "| Boiler | Pressure |\n"
    "|---|---|\n"
    "| Old boiler | 9 bar. Tested twice. |\n"
    "| Spare boiler | 7 bar |\n\n"
    "- The night shift signs the boiler sheet.\n"
    "- Boiler keys hang in the office.\n\n"
    "The boiler room of the night shift is locked.\n"
)
PAGES = (
    "The pump was installed by the firm Osterloh in the year of the flood.\n\n"
    "The pump of the firm Osterloh was replaced after the flood."
)
LINES = st.sampled_from(
    [
        *("The pump hall is dry. ", "The pump stands in the hall.\n", "\n", "\n\n"),
        *(
            "# The pump hall\n",
            "- the pump hall\n",
            "1. pump\n",
            "| pump | hall |\n",
            "|---|---|\n",
        ),
        *("pump\thall\nhall\tpump\n", "> The pump hall.\n", "The hall has a pump; it is old.\n"),
    ]
)


async def quoted_of_pages(question: str, text: str, *, is_paged: bool) -> list[str]:
    """Return what is quoted of `text` when it comes from pages, or does not."""
    passages: list[Passage] = [replace(one, is_paged=is_paged) for one in passages_of(text)]
    selector = ExtractiveSelector(confidence_min=0.0)
    selected = await selector.select(Question(question, "en", Bounds()), passages, ())
    return [text[slice(*one.span)] for one in selected if isinstance(one, SelectedQuote)]


@pytest.mark.req("KO-4")
@pytest.mark.parametrize(
    "question",
    [
        "Who signs off warranty claims?",
        "Signing off warranty claims",
        "Which desk does the signing off of warranty claims?",
    ],
)
async def test_a_heading_that_names_the_topic_does_not_beat_the_sentence_below_it(
    question: str,
) -> None:
    first, *_ = await quoted(question, WARRANTY)

    assert first.startswith("The service desk in Ilmen signs off every warranty claim.")
    assert "Signing" not in first
    assert "Returns" not in first


@pytest.mark.req("KO-4")
async def test_a_sentence_brings_no_table_and_no_list_along() -> None:
    found = await quoted("At how many bar does the night shift test the boiler?", PRESSURE)

    assert found[0] == "The boiler is tested at nine bar by the night shift."
    assert all("\n" not in one for one in found)


@pytest.mark.req("KO-4")
async def test_a_table_row_is_quoted_by_itself_and_whole() -> None:
    found = await quoted("What pressure has the old boiler?", PRESSURE)

    assert found[0] == "| Old boiler | 9 bar. Tested twice. |"


@pytest.mark.req("KO-4")
async def test_a_list_item_is_quoted_by_itself() -> None:
    found = await quoted("Where do the boiler keys hang?", PRESSURE)

    assert found[0] == "Boiler keys hang in the office."


@pytest.mark.req("KO-24")
async def test_a_quotation_never_goes_beyond_the_page_that_it_begins_on() -> None:
    question = "When was the pump of the firm Osterloh installed, before or after the flood?"

    through = await quoted_of_pages(question, PAGES, is_paged=False)
    apart = await quoted_of_pages(question, PAGES, is_paged=True)

    assert through == [PAGES]
    assert sorted(apart) == sorted(PAGES.split("\n\n"))


@given(st.lists(LINES, max_size=25).map("".join), st.booleans())
@example("The pump hall is dry. \n|---|---|\nThe pump hall is dry. ", False)
async def test_no_quotation_crosses_what_is_no_paragraph(text: str, is_paged: bool) -> None:
    found = await quoted_of_pages("Where does the pump stand in the hall?", text, is_paged=is_paged)

    for one in found:
        lines = [line for line in one.split("\n")[1:] if line]
        assert not any(line.startswith(("#", "-", "1.", "|", ">")) for line in lines)
        assert "\t" not in one or "\n" not in one
        assert not (is_paged and "\n\n" in one)
