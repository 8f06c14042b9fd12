"""Bearer tokens: built, parsed, derived."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.tokens import (
    build_token,
    key_bytes,
    parse_token,
    proof_hash,
    proof_of,
    secret_for,
)
from chancery.kernel.errors import Denied, Rejected
from tests.unit.authority.worlds import ids

keys = st.binary(min_size=32, max_size=64)


@given(ids, ids, ids, keys)
def test_parsing_is_the_inverse_of_building(
    tenant: str, principal: str, credential_id: str, key: bytes
) -> None:
    secret = secret_for(key, credential_id)

    token = parse_token(build_token(tenant, principal, credential_id, secret))

    assert (token.tenant, token.principal, token.credential_id) == (
        tenant,
        principal,
        credential_id,
    )
    assert token.secret == secret
    assert secret not in repr(token)


@given(ids, ids, keys)
def test_a_secret_belongs_to_one_credential_and_one_key(one: str, two: str, key: bytes) -> None:
    assert secret_for(key, one) == secret_for(key, one)
    assert (secret_for(key, one) == secret_for(key, two)) == (one == two)
    assert secret_for(key, one) != secret_for(key + b"x", one)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "chy1.t.p.c",
        "chy2.t.p.c." + "s" * 43,
        "chy1.t.p.c." + "s" * 42,
        "chy1.t.p.c.d." + "s" * 43,
        "chy1.t.p..c" + "s" * 43,
        "chy1.t p.p.c." + "s" * 43,
        "chy1.t.p.c." + "s" * 43 + "\n",
        "chy1.t.p." + "c" * 65 + "." + "s" * 43,
    ],
)
def test_a_malformed_token_is_denied_without_repeating_it(text: str) -> None:
    with pytest.raises(Denied) as denied:
        parse_token(text)

    assert denied.value.code == "malformed_token"
    assert "sss" not in denied.value.detail


def test_the_log_holds_neither_secret_nor_proof() -> None:
    secret = secret_for(b"k" * 32, "c")

    held = proof_hash(proof_of(secret))

    assert held not in {secret, proof_of(secret)}
    assert len(held) == 64


def test_a_short_token_key_is_refused_by_name() -> None:
    assert key_bytes(f"{'k' * 32}\n") == b"k" * 32

    with pytest.raises(Rejected) as refused:
        key_bytes("k" * 31)

    assert refused.value.field == "token_key"
