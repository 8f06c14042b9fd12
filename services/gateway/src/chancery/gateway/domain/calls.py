"""One authenticated request at the edge, and the message it becomes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeVar

from chancery.authority.tokens import parse_token, proof_of
from chancery.events.requests import Caller, Message, Request, request_type
from chancery.gateway.domain.media import essence
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Denied, Rejected
from chancery.kernel.ids import derived_id

Sent = TypeVar("Sent", bound=Message)

KEY_CHARACTERS_MAX = 200
_BOUNDARY = re.compile(r'boundary="?([^";]+)', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Call:
    """Who calls, on which route, under which idempotency key, with which body."""

    caller: Caller
    route: str
    idempotency_key: str
    request_sha256: str
    traceparent: str | None

    def request(self, body: Sent) -> Request[Sent]:
        """Return the message that carries `body` to its owner on behalf of the caller."""
        return request_type(type(body))(
            caller=self.caller,
            route=self.route,
            idempotency_key=self.idempotency_key,
            request_sha256=self.request_sha256,
            traceparent=self.traceparent,
            body=body,
        )

    def created_id(self, noun: str) -> str:
        """Return the id of the thing this call creates; a repeat creates the same one."""
        return derived_id(
            noun, self.caller.tenant, self.caller.principal, self.route, self.idempotency_key
        )


def caller_of(authorization: str | None) -> Caller:
    """Return the caller that a bearer credential names; its proof is checked by the owner.

    Raises:
        Denied: when there is no well-formed bearer credential.
    """
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        message = "send a credential: Authorization: Bearer <token>"
        raise Denied(message, field="Authorization")
    parsed = parse_token(token.strip())
    return Caller(
        tenant=parsed.tenant,
        principal=parsed.principal,
        credential_id=parsed.credential_id,
        proof=proof_of(parsed.secret),
    )


def checked_key(value: str) -> str:
    """Return an Idempotency-Key header's value when it is visible ASCII within its bound.

    Raises:
        Rejected: with code `invalid_idempotency_key`.
    """
    if not 0 < len(value) <= KEY_CHARACTERS_MAX or not all("!" <= sign <= "~" for sign in value):
        message = f"Idempotency-Key must be 1 to {KEY_CHARACTERS_MAX} visible ASCII characters"
        raise Rejected(message, field="Idempotency-Key", code="invalid_idempotency_key")
    return value


def body_hash(content_type: str, body: bytes, query: bytes = b"") -> str:
    """Return the hash by which two requests under one idempotency key are compared.

    A query counts as well where there is one. A client draws a new boundary each time it sends a
    multipart body, so that one does not count.
    """
    media_type = essence(content_type)
    found = _BOUNDARY.search(content_type) if media_type == "multipart/form-data" else None
    compared = body if found is None else body.replace(found[1].encode("latin-1"), b"")
    asked = b"?" + query if query else b""
    return sha256_hex(media_type.encode() + asked + b"\n" + compared)
