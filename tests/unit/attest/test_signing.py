"""A signature is of one receipt hash, by one key, for one purpose."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from chancery.attest.signing import (
    InvalidKey,
    SigningKey,
    is_signed,
    key_id,
    public_key_from_hex,
)

KEY = SigningKey(bytes(range(32)))
DIGEST = "ab" * 32


@given(seed=st.binary(min_size=32, max_size=32), digest=st.binary(min_size=32, max_size=32))
def test_what_a_key_signs_its_public_key_accepts(seed: bytes, digest: bytes) -> None:
    key = SigningKey(seed)

    assert is_signed(key.public_key, digest.hex(), key.sign(digest.hex()))


@pytest.mark.req("XB-4")
@given(bit=st.integers(0, 64 * 8 - 1))
def test_a_signature_with_one_other_bit_is_refused(bit: int) -> None:
    signature = bytearray(KEY.sign(DIGEST))
    signature[bit // 8] ^= 1 << (bit % 8)

    assert is_signed(KEY.public_key, DIGEST, KEY.sign(DIGEST))
    assert not is_signed(KEY.public_key, DIGEST, bytes(signature))


@pytest.mark.parametrize("signature", [b"", b"\0" * 64, KEY.sign(DIGEST)[:63]])
def test_a_signature_of_another_length_or_of_zeros_is_refused(signature: bytes) -> None:
    assert not is_signed(KEY.public_key, DIGEST, signature)


def test_a_signature_of_another_hash_or_key_is_refused() -> None:
    signature = KEY.sign(DIGEST)

    assert not is_signed(KEY.public_key, "cd" * 32, signature)
    assert not is_signed(SigningKey(bytes(32)).public_key, DIGEST, signature)


def test_a_bare_signature_of_the_hash_is_none_of_a_receipt() -> None:
    bare = Ed25519PrivateKey.from_private_bytes(KEY.seed).sign(bytes.fromhex(DIGEST))

    assert not is_signed(KEY.public_key, DIGEST, bare)


def test_a_key_is_read_from_hex_and_named_by_its_public_half() -> None:
    key = SigningKey.from_hex(f"  {KEY.seed.hex()}\n")

    assert key == KEY
    assert key.key_id == key_id(KEY.public_key)
    assert len(key.key_id) == 32
    assert public_key_from_hex(KEY.public_key.hex()) == KEY.public_key


@pytest.mark.parametrize("text", ["", "zz" * 32, "ab" * 31, "ab" * 33, "ab " * 32])
def test_what_is_no_key_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(InvalidKey) as caught:
        SigningKey.from_hex(text)

    assert text.strip() == "" or text.strip() not in str(caught.value)
    with pytest.raises(InvalidKey):
        public_key_from_hex(text)


def test_a_public_key_of_another_length_is_refused() -> None:
    with pytest.raises(InvalidKey):
        is_signed(b"short", DIGEST, KEY.sign(DIGEST))


def test_a_key_does_not_show_its_seed() -> None:
    assert KEY.seed.hex() not in repr(KEY)
    assert repr(KEY.seed) not in repr(KEY)
