"""What a command can end in, beside the refusals of the decision itself."""

from __future__ import annotations

from chancery.kernel.errors import Conflict, Corrupt, Rejected


class KeyReused(Conflict):
    """The Idempotency-Key named another request before."""

    code = "idempotency_key_reused"

    def __init__(self) -> None:
        """Say what to change; the earlier request is not shown."""
        message = "this Idempotency-Key was used for another request; use a fresh one"
        super().__init__(message, field="Idempotency-Key")


class Contended(Conflict):
    """Other writers kept winning; nothing was appended."""

    code = "contended"

    def __init__(self) -> None:
        """Say what to do."""
        super().__init__("others kept changing this at the same time; send the request again")


class InvalidSubmission(Rejected):
    """A submission over the bus does not have the form that contracts/ demands."""

    code = "invalid_submission"


class ForeignTokenKey(Corrupt):
    """The token key is not the one that the operator's credential was made with."""

    code = "foreign_token_key"

    def __init__(self) -> None:
        """Say what to restore."""
        message = (
            "the token key does not fit this log; restore the key that it was started with, or put"
            " the operator's token file back"
        )
        super().__init__(message, field="token_key")
