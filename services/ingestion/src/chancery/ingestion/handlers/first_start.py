"""Makes the default tenant and its administrator on an empty log, and the operator's token file."""

from __future__ import annotations

from chancery.authority.names import AggregateRef
from chancery.authority.rights import DEFAULT_TENANT
from chancery.authority.states import PrincipalState, TenantState
from chancery.bus.publish import DuplicateMessages, WrongSequence
from chancery.ingestion.domain.aggregates import Address, Aggregate
from chancery.ingestion.domain.first_start import (
    CREDENTIAL_ID,
    PRINCIPAL,
    TENANT,
    Operator,
)
from chancery.ingestion.domain.messages import events_of, outgoing_of
from chancery.ingestion.errors import ForeignTokenKey
from chancery.ingestion.handlers.appending import Appender
from chancery.ingestion.handlers.loading import Aggregates
from chancery.ingestion.ports import TokenFile
from chancery.kernel.clock import Clock

_TENANT = Address(DEFAULT_TENANT, TENANT)
_PRINCIPAL = Address(DEFAULT_TENANT, PRINCIPAL)


async def first_start(
    aggregates: Aggregates, appender: Appender, operator: Operator, clock: Clock
) -> None:
    """Append the default tenant, its administrator and their credential unless they are there.

    Of processes that start at once, one wins; the others read back what it wrote.

    Raises:
        Unavailable: the log is away.
    """
    found = await aggregates.load((_TENANT, _PRINCIPAL))
    if found[_TENANT].state(TenantState) is not None:
        return
    now = clock.now()
    changes = operator.changes(now)
    events = events_of(DEFAULT_TENANT, changes, operator.intent(now))
    # Nothing may be there: the expectation is 0, not what was read.
    nothing: dict[AggregateRef, Aggregate] = {TENANT: Aggregate(), PRINCIPAL: Aggregate()}
    messages = outgoing_of(DEFAULT_TENANT, changes, events, nothing)
    try:
        await appender.append(messages)
    except (WrongSequence, DuplicateMessages):
        await aggregates.load((_TENANT, _PRINCIPAL))


async def write_token(aggregates: Aggregates, operator: Operator, file: TokenFile) -> bool:
    """Write the operator's token where it is missing, and return whether that was done.

    A revoked credential is not written again.

    Raises:
        ForeignTokenKey: the derived token would not authenticate.
    """
    if await file.exists():
        return False
    found = await aggregates.load((_PRINCIPAL,))
    principal = found[_PRINCIPAL].state(PrincipalState)
    credential = None if principal is None else principal.credentials.get(CREDENTIAL_ID)
    if credential is None or credential.revoked:
        return False
    if credential.proof_sha256 != operator.proof_sha256:
        raise ForeignTokenKey
    await file.write(operator.token)
    return True
