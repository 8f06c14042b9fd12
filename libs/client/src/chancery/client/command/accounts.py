"""`accounts` and `producers`: who may reach what on the bus, and who submits over it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chancery.bus.accounts import create_producer, from_environment, render_accounts
from chancery.client.command.arguments import given_id
from chancery.client.command.output import tell, tell_json
from chancery.client.command.settings import load_settings
from chancery.embedded.producers import add_producer


def run_render(producers: Sequence[str], *, as_json: bool) -> None:
    """Print the accounts as a server includes them, with a variable for each password."""
    named = [name.partition(".") for name in producers]
    for tenant, _, principal in named:
        given_id(tenant, field="--producer")
        given_id(principal, field="--producer")
    found = [create_producer(tenant, principal) for tenant, _, principal in named]
    text = render_accounts(from_environment, found)
    if as_json:
        tell_json({"accounts": text})
    else:
        tell(text.rstrip("\n"))


async def run_add_producer(
    principal: str, tenant: str, data_dir: Path | None, *, as_json: bool
) -> None:
    """Add the producer to the NATS of the data folder and print what its client needs."""
    given_id(principal, field="principal")
    given_id(tenant, field="--tenant")
    folder = (data_dir or load_settings().data_dir).absolute()
    invitation = await add_producer(
        folder / "nats", run=folder / "run", tenant=tenant, principal=principal
    )
    if as_json:
        tell_json(
            {
                "user": invitation.user,
                "url": invitation.url,
                "inbox_prefix": invitation.inbox_prefix,
            }
        )
        return
    tell(f"{principal} of {tenant} may submit; its client needs, and this is shown only now:")
    tell(f"  url           {invitation.url}")
    tell(f"  inbox prefix  {invitation.inbox_prefix}")
