"""The SCRAM-SHA-256 verifier of a password (RFC 5803), as PostgreSQL stores it.

Setting a role's password from its verifier keeps the clear text out of statements and server logs.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

ITERATIONS = 4096
"""The default of PostgreSQL; the passwords here are random, so more would only cost time."""

SALT_BYTES = 16


def scram_verifier(password: str, *, salt: bytes | None = None) -> str:
    """Return the verifier of `password`, which must be ASCII; a fresh salt unless one is given."""
    salt = secrets.token_bytes(SALT_BYTES) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, ITERATIONS)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    stored_key = hashlib.sha256(client_key).digest()
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    return f"SCRAM-SHA-256${ITERATIONS}:{_base64(salt)}${_base64(stored_key)}:{_base64(server_key)}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
