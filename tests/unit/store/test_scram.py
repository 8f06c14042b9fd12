"""SCRAM verifiers: what PostgreSQL itself would have stored."""

from __future__ import annotations

import base64

import pytest

from chancery.store.scram import scram_verifier


def test_the_verifier_is_the_one_of_rfc_7677() -> None:
    # RFC 7677, section 3: user "user", password "pencil", this salt, 4096 iterations. The keys
    # were computed from the exchange printed there.
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")

    verifier = scram_verifier("pencil", salt=salt)

    assert verifier == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
        "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )


def test_each_verifier_has_its_own_salt() -> None:
    assert scram_verifier("same") != scram_verifier("same")


def test_the_password_is_not_in_the_verifier() -> None:
    assert "correcthorse" not in scram_verifier("correcthorse")


def test_a_password_that_would_need_normalising_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        scram_verifier("pä\N{COMBINING ACUTE ACCENT}ss")
