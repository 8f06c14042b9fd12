"""A bundle carries the cited parts and bounded rows, and nothing else of its sources."""

from __future__ import annotations

import pytest

from chancery.evidence.bundle import ROWS_BYTES_MAX, Bundle, CitedDocument, RowsRead, build_bundle
from chancery.evidence.record import Malformed
from chancery.evidence.salts import derive_salts, question_salt
from tests.unit.verify import sealed

FULL = sealed.bundle()


def rebuilt(documents: list[CitedDocument], rows: RowsRead | None) -> Bundle:
    salts = derive_salts(sealed.SEED, 1)
    proof = FULL.results[0].model_copy(update={"rows": rows})
    return build_bundle(
        FULL.receipt,
        sealed.sealed_answer(),
        salts,
        signature=FULL.signature,
        documents=documents,
        results=[proof],
    )


def test_a_bundle_reads_back_from_its_bytes() -> None:
    assert Bundle.from_json_text(FULL.to_bytes()) == FULL


def test_only_the_cited_parts_are_carried_in_the_order_of_the_citations() -> None:
    cited = [citation.to_json().get("part") for citation in FULL.citations]

    assert [part.part_id for part in FULL.parts] == [part for part in cited if part]
    carried = sum(len(part.text) for part in FULL.parts)
    assert carried < sum(len(each.text) for each in sealed.DOCUMENTS)
    assert [manifest.key for manifest in FULL.manifests] == [
        each.manifest.key for each in sealed.DOCUMENTS
    ]


def test_an_uncited_document_is_left_out() -> None:
    other = sealed.document("other", "Other", "Another text.", "Another")
    documents = [CitedDocument(each.manifest, each.text) for each in (other, *sealed.DOCUMENTS)]

    assert rebuilt(documents, sealed.ROWS).manifests == FULL.manifests


def test_rows_above_4_mib_are_left_out_with_their_salt() -> None:
    value = "1" * 1000
    count = ROWS_BYTES_MAX // 1000
    rows = RowsRead(table="orders", columns=(("a", "VARCHAR"),), rows=((value,),) * count)

    large = rebuilt([], rows)
    small = rebuilt([], rows.model_copy(update={"rows": rows.rows[: count - 100]}))

    assert (large.results[0].rows, large.salts.results[0].rows) == (None, None)
    assert small.results[0].rows is not None
    assert small.salts.results[0].rows is not None


def test_the_salt_of_the_question_is_not_carried() -> None:
    assert question_salt(sealed.SEED) not in FULL.to_bytes().decode()
    assert FULL.salts.core in FULL.to_bytes().decode()


@pytest.mark.parametrize("row", [(), ("1", "2")])
def test_rows_have_one_value_per_column(row: tuple[str, ...]) -> None:
    columns = (("a", "VARCHAR"),)

    assert RowsRead(table="t", columns=columns, rows=((None,),)).rows == ((None,),)
    with pytest.raises(ValueError, match="one value per column"):
        RowsRead(table="t", columns=columns, rows=(row,))


def test_a_field_that_is_left_out_is_not_filled_in() -> None:
    data = FULL.to_bytes()
    without = data.replace(b'"format":"chancery.bundle/1",', b"")

    assert without != data
    with pytest.raises(Malformed, match="missing"):
        Bundle.from_json_text(without)
