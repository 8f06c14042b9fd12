"""One request as a command sees it, and the ids that it gives to what it makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from chancery.authority.rights import Claim
from chancery.authority.tokens import proof_hash, proof_of, secret_for
from chancery.events.requests import Message, Request
from chancery.kernel.ids import derived_id

EVENTS_MAX = 4
"""The most events that one request appends."""

B_co = TypeVar("B_co", bound=Message, covariant=True)
B = TypeVar("B", bound=Message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What names the outcome of a request, and the hash of the body it was sent with."""

    tenant: str
    principal: str
    route: str
    idempotency_key: str
    request_sha256: str

    def event_id(self, number: int) -> str:
        """Return the id of the request's event `number`, counted from 0."""
        return derived_id(*self._parts(), str(number))

    def event_ids(self) -> tuple[str, ...]:
        """Return the ids of every event that the request may append, in order."""
        return tuple(self.event_id(number) for number in range(EVENTS_MAX))

    def credential_id(self, tenant: str, principal: str) -> str:
        """Return the id of the credential that the request issues.

        It names the holder too: one secret never belongs to two principals.
        """
        return derived_id("credential", *self._parts(), tenant, principal)

    def _parts(self) -> tuple[str, str, str, str]:
        return (self.tenant, self.principal, self.route, self.idempotency_key)


@dataclass(frozen=True, slots=True)
class Intent(Generic[B_co]):
    """A request at the moment of its decision; `token_key` derives the secrets of credentials.

    `claim` None means that the bus itself vouches for the principal: its account lets nobody else
    send on that subject.
    """

    key: Key
    body: B_co
    now: datetime
    token_key: bytes = field(repr=False)
    claim: Claim | None
    traceparent: str | None = None

    @property
    def tenant(self) -> str:
        """Return the caller's tenant."""
        return self.key.tenant


def intent_of(
    request: Request[B], *, now: datetime, token_key: bytes, traceparent: str | None
) -> Intent[B]:
    """Return what `request` asks for, decided at `now` in the span that `traceparent` names."""
    caller = request.caller
    key = Key(
        tenant=caller.tenant,
        principal=caller.principal,
        route=request.route,
        idempotency_key=request.idempotency_key,
        request_sha256=request.request_sha256,
    )
    claim = Claim(caller.tenant, caller.principal, caller.credential_id, caller.proof)
    return Intent(key, request.body, now, token_key, claim, traceparent)


def held_proof(token_key: bytes, credential_id: str) -> str:
    """Return what the log holds of a credential whose secret the token key derives."""
    return proof_hash(proof_of(secret_for(token_key, credential_id)))
