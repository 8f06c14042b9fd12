"""A content row opens with its key in its place, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.attest.sealing import Place, ReleaseKey, SealBroken, seal, unseal

SECRETS = ReleaseKey(bytes(range(32)), bytes(16))
PLACE = Place("default", "release-1", "statement", 3)
CONTENT = "Eine Quelle sagt: “ja” 🚀".encode()


@given(content=st.binary(max_size=2000), number=st.integers(0, 1000), kind=st.text(max_size=20))
def test_what_was_sealed_opens_to_the_same_bytes(content: bytes, number: int, kind: str) -> None:
    place = replace(PLACE, number=number, kind=kind)

    assert unseal(SECRETS, place, seal(SECRETS, place, content)) == content


def test_the_ciphertext_is_the_same_each_time_and_hides_the_content() -> None:
    sealed = seal(SECRETS, PLACE, CONTENT)

    assert sealed == seal(SECRETS, PLACE, CONTENT)
    assert CONTENT not in sealed
    assert len(sealed) == len(CONTENT) + 16


@pytest.mark.parametrize(
    "place",
    [
        replace(PLACE, tenant="other"),
        replace(PLACE, release_id="release-2"),
        replace(PLACE, kind="card"),
        replace(PLACE, number=4),
    ],
)
def test_a_row_does_not_open_in_another_place(place: Place) -> None:
    sealed = seal(SECRETS, PLACE, CONTENT)

    assert unseal(SECRETS, PLACE, sealed) == CONTENT
    with pytest.raises(SealBroken):
        unseal(SECRETS, place, sealed)


def test_a_row_does_not_open_with_another_key() -> None:
    with pytest.raises(SealBroken):
        unseal(ReleaseKey(bytes(32), bytes(16)), PLACE, seal(SECRETS, PLACE, CONTENT))


@given(bit=st.integers(0, (len(CONTENT) + 16) * 8 - 1))
def test_one_other_bit_breaks_the_seal(bit: int) -> None:
    sealed = bytearray(seal(SECRETS, PLACE, CONTENT))
    sealed[bit // 8] ^= 1 << (bit % 8)

    with pytest.raises(SealBroken):
        unseal(SECRETS, PLACE, bytes(sealed))


@pytest.mark.parametrize("sealed", [b"", b"short"])
def test_what_is_too_short_to_be_sealed_is_broken(sealed: bytes) -> None:
    with pytest.raises(SealBroken):
        unseal(SECRETS, PLACE, sealed)


def test_two_rows_of_one_release_never_share_a_keystream() -> None:
    zeros = bytes(64)
    places = [
        replace(PLACE, kind=kind, number=number)
        for kind in ("statement", "card", "event")
        for number in range(50)
    ]

    streams = {seal(SECRETS, place, zeros)[:64] for place in places}

    assert len(streams) == len(places)


@pytest.mark.parametrize(("key", "salt"), [(31, 16), (33, 16), (32, 15), (16, 16)])
def test_secrets_of_another_length_are_refused(key: int, salt: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        ReleaseKey(bytes(key), bytes(salt))


def test_secrets_do_not_show() -> None:
    assert repr(SECRETS) == "ReleaseKey()"
