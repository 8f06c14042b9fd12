"""`migrate` and `streams`: what an external database and an external bus need before a start."""

from __future__ import annotations

import logging

from chancery.bus import connection as bus
from chancery.bus.connection import ApiRefused
from chancery.bus.provision import Change, Plan, apply, diff
from chancery.client.command.config import without_login
from chancery.client.command.output import EXIT_DONE, EXIT_REFUSED, tell, tell_json
from chancery.client.command.settings import CommandSettings, InvalidSetting, load_settings
from chancery.events.topology import consumers
from chancery.kernel.errors import Unavailable
from chancery.store.migrations import discover, migrate
from chancery.store.pool import check_durability, connect


async def run_migrate(*, as_json: bool) -> None:
    """Apply what is missing and say what was applied; the roles must exist with passwords."""
    settings = load_settings()
    if settings.postgres_dsn is None:
        message = "set CHANCERY_POSTGRES_DSN to the role that migrates"
        raise InvalidSetting(message, field="CHANCERY_POSTGRES_DSN")
    dsn = settings.postgres_dsn.get_secret_value()
    async with connect(dsn, name="chancery-migrate") as connection:
        await check_durability(connection)
        applied = await migrate(connection, discover(), passwords={})
    labels = [each.label for each in applied]
    if as_json:
        tell_json({"applied": labels})
        return
    for label in labels:
        tell(f"applied {label}")
    tell("the database is up to date")


async def run_streams(*, write: bool, retrieval_replicas: int, as_json: bool) -> int:
    """Show or make the changes; showing some exits with 1."""
    # The driver would tell of every attempt.
    logging.getLogger("chancery.bus").setLevel(logging.CRITICAL)
    settings = load_settings()
    try:
        changes = await _changes(settings, retrieval_replicas, write=write)
    except ApiRefused:
        raise
    except Unavailable as error:
        where = without_login(settings.nats_url)
        message = f"no NATS answers at {where}; start it or set CHANCERY_NATS_URL"
        raise Unavailable(message, field="CHANCERY_NATS_URL") from error
    if as_json:
        tell_json({"applied": write, "changes": [change.sentence for change in changes]})
    else:
        for change in changes:
            tell(change.sentence)
        tell("the streams are as they should be" if write or not changes else "nothing was changed")
    return EXIT_DONE if write or not changes else EXIT_REFUSED


async def _changes(
    settings: CommandSettings, retrieval_replicas: int, *, write: bool
) -> list[Change]:
    plan = Plan(consumers=consumers(retrieval_replicas), ack_wait_s=settings.ack_wait_s)
    async with bus.connect(
        settings.nats_url, name="chancery-streams", api_prefix=settings.nats_api_prefix
    ) as connection:
        return await (apply if write else diff)(connection, plan)
