"""What a verification says: verified, does not match, cannot be checked, and why."""

from __future__ import annotations

import pytest

from chancery.attest.signing import SigningKey
from chancery.client.demo.closing import report_lines
from chancery.events.authority import Language
from chancery.events.release import Outcome
from chancery.evidence.bundle import Bundle, RowsRead
from chancery.evidence.documents import withheld_document
from chancery.evidence.texts import LANGUAGES
from chancery.kernel.canonical import canonical_bytes
from chancery.kernel.errors import ChanceryError, Rejected, Unavailable
from chancery.tabular.preview import PreviewForm
from chancery.verify.report import Check, Report
from chancery.verify.verify import verify_bundle
from tests.unit.verify import sealed

FULL = sealed.bundle()


def verdicts(report: Report) -> dict[str, str]:
    return {check.name: check.verdict for check in report.checks}


def details(report: Report) -> dict[str, str]:
    return {check.name: check.detail for check in report.checks}


def check(bundle: Bundle) -> Report:
    return verify_bundle(bundle.to_bytes(), run=sealed.run_in_python)


@pytest.mark.req("XB-5", "KO-26")
def test_what_no_bundle_proves_is_said_and_does_not_spoil_the_rest() -> None:
    report = check(FULL)

    assert report.exit_code == 0
    for name in ("rows", "decision", "question", "truth"):
        assert verdicts(report)[name] == "uncheckable"
    assert "log" in details(report)["decision"]
    assert "fsck --run" in details(report)["rows"]
    assert "not whether a source is true" in details(report)["truth"]


@pytest.mark.req("KO-4")
def test_every_quotation_and_the_value_have_a_check_of_their_own() -> None:
    found = verdicts(check(FULL))

    for name in ("quote[1]", "value[2]", "quote[3]", "results[0]", "execution[0]"):
        assert found[name] == "verified"


@pytest.mark.req("XB-2", "XB-5")
def test_nothing_is_said_of_rows_where_none_are_carried() -> None:
    assert "rows" in verdicts(check(FULL))
    assert "rows" not in verdicts(check(sealed.refused_bundle("insufficient_evidence", cut=True)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_in_each_language_is_verified(language: Language) -> None:
    assert check(sealed.bundle(language)).exit_code == 0


@pytest.mark.req("KO-9")
@pytest.mark.parametrize(
    ("outcome", "cut"),
    [
        ("insufficient_evidence", True),
        ("source_access", True),
        ("rlm_unsupported", True),
        ("access_changing", False),
        ("scope_too_wide", False),
        ("unavailable", False),
    ],
)
def test_a_refusal_has_a_receipt_that_is_verified(outcome: Outcome, cut: bool) -> None:
    report = check(sealed.refused_bundle(outcome, cut=cut))

    assert (report.exit_code, report.to_json()["refusal"]) == (0, outcome)
    assert report_lines(report)[-1] == f"verified: this is a refusal ({outcome}), no answer"


@pytest.mark.req("XB-5")
def test_an_answer_is_no_refusal_and_what_does_not_match_is_believed_neither() -> None:
    answer = check(FULL)
    refusal = sealed.refused_bundle()
    forged = check(refusal.model_copy(update={"text": "another text"}))

    assert (answer.to_json()["refusal"], report_lines(answer)[-1]) == (None, "verified")
    assert (forged.to_json()["refusal"], report_lines(forged)[-1]) == (None, "mismatch")


def test_without_a_trusted_key_the_signer_is_named_and_trust_left_open() -> None:
    report = check(FULL)

    assert verdicts(report)["signature"] == "verified"
    assert verdicts(report)["signing_key"] == "uncheckable"
    assert sealed.KEY.key_id in details(report)["signing_key"]


def test_a_bundle_of_another_signer_does_not_match_the_trusted_key() -> None:
    other = SigningKey(bytes(32))

    report = verify_bundle(FULL.to_bytes(), public_key=other.public_key, run=sealed.run_in_python)

    assert report.mismatches == ("signing_key",)
    assert report.exit_code == 1


@pytest.mark.req("XB-5")
def test_rows_beyond_the_limit_make_only_the_execution_uncheckable() -> None:
    report = check(sealed.without_rows(FULL))

    assert report.exit_code == 4
    spoiling = [each.name for each in report.checks if each.verdict != "verified"]
    assert [name for name in spoiling if name.startswith("execution")] == ["execution[0]"]
    assert verdicts(report)["value[2]"] == "verified"


@pytest.mark.req("XB-5")
@pytest.mark.parametrize("field", ["parts", "manifests"])
def test_a_missing_part_makes_its_quotations_uncheckable(field: str) -> None:
    report = check(FULL.model_copy(update={field: ()}))

    assert report.exit_code == 4
    assert verdicts(report)["quote[1]"] == "uncheckable"
    assert verdicts(report)["value[2]"] == "verified"


@pytest.mark.req("XB-5")
def test_a_missing_cut_message_is_uncheckable() -> None:
    report = check(FULL.model_copy(update={"cut_payload": None}))

    assert report.exit_code == 4
    assert verdicts(report)["cut"] == "uncheckable"


@pytest.mark.req("XB-5")
@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (Unavailable("no worker", code="sql_worker_unavailable"), "uncheckable"),
        (Rejected("slow", code="sql_timeout"), "uncheckable"),
        (Rejected("big", code="sql_resources"), "uncheckable"),
        (Rejected("narrower", code="sql_feature_row_order"), "uncheckable"),
        (Rejected("narrower", code="sql_lineage_disagrees"), "uncheckable"),
        (Rejected("no", code="sql_unknown_column"), "mismatch"),
        (Rejected("no", code="sql_failed"), "mismatch"),
    ],
)
def test_a_query_that_cannot_run_here_differs_from_one_that_cannot_run(
    error: ChanceryError, verdict: str
) -> None:
    def fail(sql: str, rows: RowsRead, *, form: PreviewForm) -> bytes:
        raise error

    report = verify_bundle(FULL.to_bytes(), run=fail)

    assert verdicts(report)["execution[0]"] == verdict


def test_another_result_of_the_query_is_a_mismatch() -> None:
    def wrong(sql: str, rows: RowsRead, *, form: PreviewForm) -> bytes:
        return sealed.run_in_python(sql, rows, form=form).replace(b"4000.00", b"4000.01")

    report = verify_bundle(FULL.to_bytes(), run=wrong)

    assert report.mismatches == ("execution[0]",)


@pytest.mark.req("CL-13")
def test_a_withheld_answer_leaves_nothing_to_check() -> None:
    notice = canonical_bytes(withheld_document("run-1", 1, "en"))

    report = verify_bundle(notice, run=sealed.run_in_python)

    assert (report.verdict, report.exit_code) == ("uncheckable", 4)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"format":"chancery.bundle/1","format":"chancery.bundle/1"}',
        b'{"a":"\\ud800"}',
        b'{"a":1e999}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_bundle_is_a_mismatch_of_the_format(data: bytes) -> None:
    report = verify_bundle(data, run=sealed.run_in_python)

    assert report.mismatches == ("format",)


def test_a_refusal_of_the_format_repeats_no_content() -> None:
    secret = "The platform team"
    changed = FULL.to_bytes().replace(b'"generation":1', b'"generation":"' + secret.encode() + b'"')

    report = verify_bundle(changed, run=sealed.run_in_python)

    assert report.mismatches == ("format",)
    assert "generation" in report.checks[0].detail
    assert secret not in report.checks[0].detail


def test_a_report_of_nothing_but_inherent_limits_is_not_verified() -> None:
    assert Report((Check("decision", "uncheckable", "", inherent=True),)).exit_code == 4
    assert Report(()).exit_code == 4


def test_a_mismatch_outweighs_a_missing_part() -> None:
    report = Report((Check("a", "uncheckable", ""), Check("b", "mismatch", "")))

    assert (report.exit_code, report.mismatches) == (1, ("b",))


def test_the_report_is_told_as_json() -> None:
    told = check(FULL).to_json()

    assert told["verdict"] == "verified"
    assert told["exit_code"] == 0
    assert canonical_bytes(told)
