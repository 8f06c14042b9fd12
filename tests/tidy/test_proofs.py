"""Every test asserts something and runs."""

from __future__ import annotations

import pytest

from tests.tidy import proofs
from tests.tidy.tree import Check, findings, suite

SKIP = "@pytest.mark.sk" + "ip"
PLANTED: tuple[tuple[Check, str, str], ...] = (
    (proofs.tests_without_assertion, "def test_a():\n    f()\n", "def test_a():\n    assert f()\n"),
    (
        proofs.tests_without_assertion,
        "async def test_a():\n    await f()\n",
        "async def test_a():\n    with pytest.raises(KeyError):\n        await f()\n",
    ),
    (
        proofs.tests_without_assertion,
        "class TestA:\n    def test_a(self): f()\n",
        "def test_a():\n    assert_sealed(f())\n",
    ),
    (proofs.escapes, f"{SKIP}(reason='no')\ndef test_a(): assert f()\n", "pytest.mark.req('A')\n"),
    (proofs.escapes, f"{SKIP}\ndef test_a(): assert f()\n", "x.skip\n"),
    (proofs.escapes, "pytest.xf" + "ail('later')\n", "pytest.fail('now')\n"),
    (proofs.escapes, "np = pytest.importor" + "skip('numpy')\n", "import numpy\n"),
    (proofs.escapes, f"{SKIP}if(WINDOWS)\ndef f(): x\n", f"{SKIP}if(W, reason='a')\ndef f(): x\n"),
)


@pytest.mark.parametrize(("check", "bad", "good"), PLANTED)
def test_check_finds_the_planted_test_and_only_that(check: Check, bad: str, good: str) -> None:
    found = list(check(bad))
    spared = list(check(good))

    assert len(found) == 1
    assert spared == []


@pytest.mark.parametrize("check", [proofs.tests_without_assertion, proofs.escapes])
def test_every_test_asserts_and_runs(check: Check) -> None:
    found = findings(suite(), check)

    assert found == []
