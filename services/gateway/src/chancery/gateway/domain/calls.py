"""One authenticated request at the edge, and the message it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from chancery.authority.tokens import parse_token, proof_of
from chancery.events.requests import Caller, Message, Request, request_type
from chancery.kernel.errors import Denied, Rejected
from chancery.kernel.ids import derived_id

Sent = TypeVar("Sent", bound=Message)

KEY_CHARACTERS_MAX = 200


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
