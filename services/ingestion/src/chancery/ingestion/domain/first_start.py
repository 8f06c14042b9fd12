"""The first start: the default tenant, its administrator, and the credential of the operator."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from chancery.authority.credentials import NewCredential, decide_bootstrap
from chancery.authority.names import AggregateRef, Change, principal_ref, tenant_ref
from chancery.authority.rights import DEFAULT_TENANT, Claim
from chancery.authority.tokens import build_token, proof_of, secret_for
from chancery.events.requests import Message
from chancery.ingestion.domain.intents import Intent, Key, held_proof
from chancery.kernel.canonical import canonical_hash
from chancery.kernel.ids import derived_id

OPERATOR = "admin"
CREDENTIAL_ID = derived_id("credential", "first-start", DEFAULT_TENANT, OPERATOR)
TENANT: AggregateRef = tenant_ref(DEFAULT_TENANT)
PRINCIPAL: AggregateRef = principal_ref(OPERATOR)
ROUTE = "first start"


class FirstStart(Message):
    """The request that no caller sends: it is made by the service itself."""


@dataclass(frozen=True, slots=True)
class Operator:
    """The operator's credential, all of it derived from the token key."""

    token_key: bytes = field(repr=False)

    @property
    def token(self) -> str:
        """Return the bearer token of the operator."""
        secret = secret_for(self.token_key, CREDENTIAL_ID)
        return build_token(DEFAULT_TENANT, OPERATOR, CREDENTIAL_ID, secret)

    @property
    def proof_sha256(self) -> str:
        """Return what the log holds of the operator's secret."""
        return held_proof(self.token_key, CREDENTIAL_ID)

    def intent(self, now: datetime) -> Intent[FirstStart]:
        """Return the first start as a request, the same for every process that attempts it."""
        proof = proof_of(secret_for(self.token_key, CREDENTIAL_ID))
        key = Key(
            tenant=DEFAULT_TENANT,
            principal=OPERATOR,
            route=ROUTE,
            idempotency_key="1",
            request_sha256=canonical_hash({}),
        )
        claim = Claim(DEFAULT_TENANT, OPERATOR, CREDENTIAL_ID, proof)
        return Intent(key, FirstStart(), now, self.token_key, claim)

    def changes(self, now: datetime) -> tuple[Change, ...]:
        """Return what an empty log begins with."""
        new = NewCredential(CREDENTIAL_ID, self.proof_sha256, now)
        return decide_bootstrap(DEFAULT_TENANT, OPERATOR, new)
