"""Bearer tokens `chy1.<tenant>.<principal>.<credential>.<secret>`: build, parse, derive, prove."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass, field

from chancery.kernel.errors import Denied, Rejected

PREFIX = "chy1"
KEY_BYTES_MIN = 32
_TOKEN = re.compile(rf"{PREFIX}((?:\.[A-Za-z0-9_-]{{1,64}}){{3}})\.([A-Za-z0-9_-]{{43}})")
_MALFORMED = (
    "the bearer token is malformed; expected chy1.<tenant>.<principal>.<credential>.<secret>"
)


@dataclass(frozen=True, slots=True)
class Token:
    """The parts of a bearer token; the secret is left out of its text form."""

    tenant: str
    principal: str
    credential_id: str
    secret: str = field(repr=False)


def build_token(tenant: str, principal: str, credential_id: str, secret: str) -> str:
    """Return the bearer token that names a credential and carries its secret."""
    return f"{PREFIX}.{tenant}.{principal}.{credential_id}.{secret}"


def parse_token(text: str) -> Token:
    """Return the parts of a bearer token; nothing is said about whether it authenticates.

    Raises:
        Denied: with code `malformed_token`.
    """
    found = _TOKEN.fullmatch(text)
    if found is None:
        raise Denied(_MALFORMED, code="malformed_token")
    tenant, principal, credential_id = found[1][1:].split(".")
    return Token(tenant, principal, credential_id, found[2])


def secret_for(key: bytes, credential_id: str) -> str:
    """Return the secret of a credential: HMAC-SHA256 of its id in base64url without padding."""
    digest = hmac.new(key, credential_id.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def proof_of(secret: str) -> str:
    """Return the proof that the gateway forwards: SHA-256 of the secret's text, in hex."""
    return hashlib.sha256(secret.encode()).hexdigest()


def proof_hash(proof: str) -> str:
    """Return what the log holds: SHA-256 of the 32 proof bytes, in hex."""
    return hashlib.sha256(bytes.fromhex(proof)).hexdigest()


def key_bytes(text: str) -> bytes:
    """Return the token key as it is used, from its text; gateway and ingestion have the same text.

    Raises:
        Rejected: with code `invalid_token_key` for fewer than 32 characters.
    """
    key = text.strip().encode()
    if len(key) < KEY_BYTES_MIN:
        message = f"the token key needs at least {KEY_BYTES_MIN} characters; set CHANCERY_TOKEN_KEY"
        raise Rejected(message, field="token_key", code="invalid_token_key")
    return key
