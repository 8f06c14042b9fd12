"""A text that an answer states: in quotation marks now, bare in what was sealed before."""

from __future__ import annotations

import pytest

from chancery.evidence.bundle import Bundle, RowsRead
from chancery.evidence.citations import ValueCitation
from chancery.kernel.canonical import canonical_bytes, parse_json, sha256_hex
from chancery.tabular.preview import PreviewForm
from chancery.tabular.tree import as_items, as_object
from chancery.verify.values import value_checks
from tests.unit.verify import sealed

LABEL = "MIN(orders.region)"


def stating(text: str, value: str | None) -> Bundle:
    """Return a bundle whose value statement is `text`, of a text column that has `value`."""
    bundle = sealed.bundle()
    (proof,) = bundle.results
    preview = as_object(parse_json(canonical_bytes(proof.preview)))
    (column,) = map(as_object, as_items(preview["columns"]))
    changed = {**preview, "columns": [{**column, "label": LABEL, "type": "VARCHAR"}]}
    first, stated, last = bundle.statements
    citation = bundle.citations[1]
    assert isinstance(citation, ValueCitation)
    fields = {"label": LABEL, "type": "VARCHAR", "value": value}
    told = citation.model_copy(update={**fields, "sha256": sha256_hex(text.encode())})
    return bundle.model_copy(
        update={
            "statements": (first, stated.model_copy(update={"text": text}), last),
            "citations": (bundle.citations[0], told, bundle.citations[2]),
            "results": (proof.model_copy(update={"preview": {**changed, "rows": [[value]]}}),),
        }
    )


def outcome(bundle: Bundle) -> str:
    def run(sql: str, rows: RowsRead, *, form: PreviewForm) -> bytes:
        del sql, rows, form
        return canonical_bytes(bundle.results[0].preview)

    (found,) = (each for each in value_checks(bundle, run) if each.name == "value[2]")
    return found.verdict


@pytest.mark.req("KO-2", "CR-21")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"{LABEL} = 'it''s'", "it's"),
        (f"{LABEL} = 'NULL'", "NULL"),
        (f"{LABEL} = NULL", None),
        (f"{LABEL} = it's", "it's"),
        (f"{LABEL} = NULL", "NULL"),
    ],
)
def test_a_text_is_found_in_the_form_of_either_build(text: str, value: str | None) -> None:
    assert outcome(stating(text, value)) == "verified"


@pytest.mark.req("KO-2", "CR-21")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"{LABEL} = 'it's'", "it's"),
        (f'{LABEL} = "it\'s"', "it's"),
        (f"{LABEL} = its", "it's"),
        (f"{LABEL} = 'NULL'", None),
        (f"{LABEL} = ''", None),
    ],
)
def test_a_text_in_any_other_form_is_none_of_the_preview(text: str, value: str | None) -> None:
    assert outcome(stating(text, value)) == "mismatch"
