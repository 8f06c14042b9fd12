"""The list of requirements finds claims of every form, gaps, and claims of nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from chancery.testkit.requirements import Claim, claims, main, read_requirements, report, unknown

MODULE = """
pytestmark = [pytest.mark.integration, pytest.mark.req("EV-1")]

@pytest.mark.req("KO-1", "KO-2")
def test_a(): ...

@pytest.mark.req("KO-3")
class TestB:
    async def test_c(self): ...
    def helper(self): ...

def test_d(): ...
"""
LISTED = "KO-1  Writes\nKO-2  Rejects\n"


def test_claims_of_functions_classes_and_modules_are_found() -> None:
    found = set(claims("t.py", MODULE))

    assert found == {
        Claim("EV-1", "t.py::test_a"),
        Claim("KO-1", "t.py::test_a"),
        Claim("KO-2", "t.py::test_a"),
        Claim("EV-1", "t.py::TestB::test_c"),
        Claim("KO-3", "t.py::TestB::test_c"),
        Claim("EV-1", "t.py::test_d"),
    }


def test_report_shows_tests_and_gaps() -> None:
    text = report(read_requirements(LISTED), [Claim("KO-1", "t.py::test_a")])

    assert "KO-1   Writes\n       t.py::test_a\n" in text
    assert text.endswith("1 of 2 requirements have tests.\nGaps: KO-2")


def test_report_without_gaps_names_none() -> None:
    found = [Claim("KO-1", "t.py::test_a"), Claim("KO-2", "t.py::test_a")]

    text = report(read_requirements(LISTED), found)

    assert text.endswith("2 of 2 requirements have tests.")


def test_claim_of_an_unknown_requirement_is_named() -> None:
    found = unknown(read_requirements(LISTED), [Claim("KO-1", "a"), Claim("KO-9", "t.py::test_b")])

    assert len(found) == 1
    assert "t.py::test_b claims KO-9" in found[0]


@pytest.mark.parametrize("text", ["KO-1\n", "no id\n", LISTED + "KO-1  Again\n", "\n"])
def test_malformed_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no new requirement"):
        read_requirements(text)


@pytest.mark.parametrize(("claimed", "status"), [("KO-1", 0), ("KO-7", 1)])
def test_command_fails_on_unknown_claims_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    claimed: str,
    status: int,
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "requirements.txt").write_text(LISTED)
    (tmp_path / "tests" / "test_x.py").write_text(
        f'@pytest.mark.req("{claimed}")\ndef test_y(): ...\n'
    )
    monkeypatch.chdir(tmp_path)

    answer = main()

    assert answer == status
    assert ("claims KO-7" in capsys.readouterr().err) == bool(status)
