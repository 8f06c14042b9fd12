"""What a verification found, check by check, in three words: verified, mismatch, uncheckable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from chancery.kernel.canonical import Json

Verdict: TypeAlias = Literal["verified", "mismatch", "uncheckable"]
ExitCode: TypeAlias = Literal[0, 1, 4]


@dataclass(frozen=True, slots=True)
class Check:
    """One check; `detail` says what was compared, or why it could not be.

    `inherent` marks what no bundle can prove offline: it is told, and does not spoil the whole.
    """

    name: str
    verdict: Verdict
    detail: str
    inherent: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The checks in the order in which they were made.

    `outcome` is why nothing was answered, in a bundle of a refusal; None in that of an answer.
    """

    checks: tuple[Check, ...]
    outcome: str | None = None

    @property
    def verdict(self) -> Verdict:
        """Return the whole: one mismatch decides, then one check that misses its input."""
        found = {check.verdict for check in self.checks if not check.inherent}
        if "mismatch" in found:
            return "mismatch"
        return "uncheckable" if "uncheckable" in found or not found else "verified"

    @property
    def exit_code(self) -> ExitCode:
        """Return 0 when all that can be checked matches, 1 for a mismatch, 4 for a missing part."""
        match self.verdict:
            case "verified":
                return 0
            case "mismatch":
                return 1
            case "uncheckable":
                return 4

    @property
    def mismatches(self) -> tuple[str, ...]:
        """Return the names of the checks that do not match."""
        return tuple(check.name for check in self.checks if check.verdict == "mismatch")

    @property
    def refusal(self) -> str | None:
        """Return the outcome of what is no answer; what does not match is believed nothing."""
        return None if self.verdict == "mismatch" else self.outcome

    def to_json(self) -> Mapping[str, Json]:
        """Return the report as a JSON object; `refusal` is null for an answer."""
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "refusal": self.refusal,
            "checks": [
                {"name": check.name, "verdict": check.verdict, "detail": check.detail}
                for check in self.checks
            ],
        }


def verified(name: str, detail: str) -> Check:
    """Return a check that matches."""
    return Check(name, "verified", detail)


def mismatch(name: str, detail: str) -> Check:
    """Return a check that does not match."""
    return Check(name, "mismatch", detail)


def uncheckable(name: str, detail: str) -> Check:
    """Return a check that misses a part which a bundle can carry."""
    return Check(name, "uncheckable", detail)


def beyond_a_bundle(name: str, detail: str) -> Check:
    """Return a check that no bundle can answer."""
    return Check(name, "uncheckable", detail, inherent=True)


def compared(name: str, problems: Sequence[str], detail: str) -> Check:
    """Return a mismatch that tells the first of `problems`, or verified when there is none."""
    return mismatch(name, problems[0]) if problems else verified(name, detail)
