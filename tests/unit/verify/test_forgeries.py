"""A forger who may sign everything again is still named by what has to fit together.

Each case is a whole bundle with every hash, commitment, cut and signature made new: only the check
that compares the content itself is left to find it.
"""

from __future__ import annotations

import pytest

from chancery.evidence.answer import Answer, quote_card, render
from chancery.evidence.bundle import Bundle, ResultProof, RowsRead
from chancery.evidence.citations import Citation, QuoteCitation, SourceCitation
from chancery.evidence.receipt import Execution, ReceiptCore, RunRecord, build_core
from chancery.evidence.texts import place_words
from chancery.kernel.canonical import canonical_bytes, sha256_hex
from chancery.tabular.preview import PreviewForm
from chancery.verify.report import Report
from chancery.verify.values import Reexecution
from chancery.verify.verify import verify_bundle
from tests.unit.verify import sealed

FULL = sealed.bundle()


def resealed(
    answer: Answer,
    *,
    results: tuple[ResultProof, ...] = FULL.results,
    dataset: str = "orders",
    run: Reexecution = sealed.run_in_python,
) -> Report:
    """Return the report on a bundle that seals `answer` and `results` with matching hashes.

    The receipt names its dataset `dataset`.
    """
    old = FULL.receipt.core
    executions = tuple(
        Execution(
            key=old.results[0].key,
            snapshot=old.results[0].snapshot,
            engine=old.results[0].engine,
            query_sha256=each.query_sha256,
            preview_sha256=each.preview_sha256,
            rows_sha256=each.rows.sha256 if each.rows else None,
        )
        for each in results
    )
    core = build_core(
        RunRecord.model_validate({name: getattr(old, name) for name in RunRecord.model_fields}),
        answer,
        FULL.salts,
        references=tuple(
            each.model_copy(update={"id": dataset}) if each.kind == "dataset" else each
            for each in old.sources
        ),
        executions=executions,
        values=old.values,
    )
    return verify_bundle(_signed(core, answer, results).to_bytes(), run=run)


def _signed(core: ReceiptCore, answer: Answer, results: tuple[ResultProof, ...]) -> Bundle:
    payload = sealed.cut_payload(core, FULL.salts, FULL.receipt.read_set)
    assert FULL.receipt.cut is not None
    cut = FULL.receipt.cut.model_copy(update={"payload_sha256": sha256_hex(payload)})
    receipt = FULL.receipt.model_copy(update={"core": core, "cut": cut})
    signature = FULL.signature.model_copy(
        update={"signature": sealed.KEY.sign(receipt.sha256).hex()}
    )
    return FULL.model_copy(
        update={
            "receipt": receipt,
            "receipt_sha256": receipt.sha256,
            "signature": signature,
            "text": answer.text,
            "statements": answer.statements,
            "citations": answer.citations,
            "cards": answer.cards,
            "results": results,
            "cut_payload": payload.hex(),
        }
    )


def honest() -> Answer:
    return sealed.sealed_answer()


def retold(answer: Answer, citations: tuple[Citation, ...]) -> Answer:
    """Return `answer` with other citations, its text and cards told from them."""
    language = FULL.receipt.core.language
    cards = tuple(
        quote_card(citation, statement.text, place_words(language))
        if isinstance(citation, QuoteCitation)
        else card
        for citation, statement, card in zip(
            citations, answer.statements, answer.cards, strict=True
        )
    )
    text = render(answer.statements, citations, language)
    return answer.model_copy(update={"citations": citations, "cards": cards, "text": text})


def test_an_honest_answer_sealed_again_is_verified() -> None:
    report = resealed(honest())

    assert (report.exit_code, report.mismatches) == (0, ())


@pytest.mark.parametrize("page", [3, 5, None])
def test_a_citation_of_another_page_is_not_what_the_manifest_says(page: int | None) -> None:
    answer = honest()
    first, *others = answer.citations
    assert isinstance(first, SourceCitation)
    assert first.page == 4

    report = resealed(retold(answer, (first.model_copy(update={"page": page}), *others)))

    assert report.mismatches == ("quote[1]",)


@pytest.mark.req("KO-24")
@pytest.mark.parametrize("told", ["page 3, part", "part"])
def test_a_text_that_tells_another_page_than_its_citation_is_found(told: str) -> None:
    answer = honest()
    assert "page 4, part" in answer.text

    report = resealed(answer.model_copy(update={"text": answer.text.replace("page 4, part", told)}))

    assert report.mismatches == ("composition",)


def test_a_page_of_a_document_without_pages_is_not_what_the_manifest_says() -> None:
    answer = honest()
    citations = list(answer.citations)
    paged = [n for n, each in enumerate(citations) if isinstance(each, QuoteCitation)]
    last = citations[paged[-1]]
    citations[paged[-1]] = last.model_copy(update={"page": 1})

    report = resealed(retold(answer, tuple(citations)))

    assert report.mismatches == (f"quote[{paged[-1] + 1}]",)


@pytest.mark.req("KO-2")
def test_a_quotation_with_one_other_word_is_not_the_cited_text() -> None:
    answer = honest()
    false = answer.statements[0].text.replace("owns", "lost")
    statement = answer.statements[0].model_copy(update={"text": false})
    citation = answer.citations[0].model_copy(update={"sha256": sha256_hex(false.encode())})

    report = resealed(
        answer.model_copy(
            update={
                "text": answer.text.replace("owns", "lost"),
                "statements": (statement, *answer.statements[1:]),
                "citations": (citation, *answer.citations[1:]),
            }
        )
    )

    assert "quote[1]" in report.mismatches


@pytest.mark.req("KO-1")
def test_a_sentence_that_no_one_selected_is_found_in_the_text() -> None:
    answer = honest()

    report = resealed(answer.model_copy(update={"text": answer.text + "\n\nTherefore: yes."}))

    assert report.mismatches == ("composition",)


@pytest.mark.req("KO-24")
def test_a_card_that_shows_something_else_is_found() -> None:
    answer = honest()
    card = answer.cards[1].model_copy(update={"value": "9,000.00"})

    report = resealed(answer.model_copy(update={"cards": (answer.cards[0], card, answer.cards[2])}))

    assert report.mismatches == ("composition",)


@pytest.mark.req("KO-2")
def test_a_value_that_is_not_in_the_preview_is_found() -> None:
    answer = honest()
    text = "SUM(orders.amount) = 9,000.00"
    statement = answer.statements[1].model_copy(update={"text": text})
    citation = answer.citations[1].model_copy(
        update={"value": "9000.00", "sha256": sha256_hex(text.encode())}
    )

    report = resealed(
        answer.model_copy(
            update={
                "text": answer.text.replace("4,000.00", "9,000.00"),
                "statements": (answer.statements[0], statement, answer.statements[2]),
                "citations": (answer.citations[0], citation, answer.citations[2]),
            }
        )
    )

    assert "value[2]" in report.mismatches


@pytest.mark.req("KO-4")
def test_an_alias_in_the_place_of_the_native_label_is_found() -> None:
    answer = honest()
    text = "Turnover = 4,000.00"
    statement = answer.statements[1].model_copy(update={"text": text})
    citation = answer.citations[1].model_copy(
        update={"label": "Turnover", "sha256": sha256_hex(text.encode())}
    )

    report = resealed(
        answer.model_copy(
            update={
                "statements": (answer.statements[0], statement, answer.statements[2]),
                "citations": (answer.citations[0], citation, answer.citations[2]),
            }
        )
    )

    assert "value[2]" in report.mismatches


def test_a_preview_that_its_rows_do_not_give_is_found() -> None:
    false = RowsRead(table="orders", columns=sealed.ROWS.columns, rows=(("1.00",), ("2.00",)))
    proof = FULL.results[0].model_copy(update={"rows": false})

    report = resealed(honest(), results=(proof,))

    assert report.mismatches == ("execution[0]",)


def test_an_ineligible_column_is_no_fact() -> None:
    preview = canonical_bytes(FULL.results[0].preview).replace(
        b'"eligible":true', b'"eligible":false'
    )
    proof = ResultProof.from_json_text(
        canonical_bytes(FULL.results[0].to_json()).replace(
            canonical_bytes(FULL.results[0].preview), preview
        )
    )

    report = resealed(honest(), results=(proof,))

    assert "value[2]" in report.mismatches


def test_a_part_number_that_is_not_the_manifests_is_found() -> None:
    answer = honest()
    citation = answer.citations[0].model_copy(update={"ordinal": 7})

    report = resealed(answer.model_copy(update={"citations": (citation, *answer.citations[1:])}))

    assert "quote[1]" in report.mismatches


def test_swapped_citations_are_found() -> None:
    answer = honest()
    first, second, third = answer.citations

    report = resealed(answer.model_copy(update={"citations": (third, second, first)}))

    assert "composition" in report.mismatches


@pytest.mark.req("KO-4")
def test_a_result_of_another_dataset_is_found() -> None:
    answer = honest()
    other = "costs"
    citations = tuple(
        each.model_copy(update={"dataset_id": other}) if each.kind == "value" else each
        for each in answer.citations
    )

    report = resealed(answer.model_copy(update={"citations": citations}), dataset=other)

    assert {"value[2]", "execution[0]"} <= set(report.mismatches)


def test_rows_of_another_table_are_not_run() -> None:
    false = RowsRead(table="costs", columns=sealed.ROWS.columns, rows=sealed.ROWS.rows)
    proof = FULL.results[0].model_copy(update={"rows": false})
    ran: list[str] = []

    def run(sql: str, rows: RowsRead, *, form: PreviewForm) -> bytes:
        ran.append(rows.table)
        return sealed.run_in_python(sql, sealed.ROWS, form=form)

    report = resealed(honest(), results=(proof,), run=run)

    assert (report.mismatches, ran) == (("execution[0]",), [])
    assert resealed(honest(), run=run).exit_code == 0
    assert ran == ["orders"]
