"""`migrate` and `streams`: what an external database and an external bus need before a start."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from chancery.bus.provision import Plan, apply, diff
from chancery.client.command.operator import operator_bus
from chancery.client.command.output import EXIT_DONE, EXIT_REFUSED, tell, tell_json
from chancery.client.command.settings import CommandSettings, InvalidSetting, load_settings
from chancery.events.topology import consumers
from chancery.store.migrations import discover, migrate
from chancery.store.pool import check_durability, connect
from chancery.store.roles import SERVICES, runtime_role


async def run_migrate(*, as_json: bool) -> None:
    """Apply what is missing and say what was applied.

    The roles of the services get CHANCERY_ROLE_PASSWORD; without it they must exist.
    """
    settings = load_settings()
    if settings.postgres_dsn is None:
        message = "set CHANCERY_POSTGRES_DSN to the role that migrates"
        raise InvalidSetting(message, field="CHANCERY_POSTGRES_DSN")
    dsn = settings.postgres_dsn.get_secret_value()
    async with connect(dsn, name="chancery-migrate") as connection:
        await check_durability(connection)
        applied = await migrate(connection, discover(), passwords=_passwords(settings))
    labels = [each.label for each in applied]
    if as_json:
        tell_json({"applied": labels})
        return
    for label in labels:
        tell(f"applied {label}")
    tell("the database is up to date")


def _passwords(settings: CommandSettings) -> dict[str, SecretStr]:
    password = settings.role_password
    return {} if password is None else {runtime_role(each): password for each in SERVICES}


async def run_streams(
    retrieval_replicas: int, data_dir: Path | None, *, write: bool, as_json: bool
) -> int:
    """Show or make the changes; showing some exits with 1.

    Raises:
        NotRunning: CHANCERY_NATS_URL is unset, and no system runs on the data folder.
        Unavailable: NATS does not answer.
    """
    settings = load_settings()
    plan = Plan(consumers=consumers(retrieval_replicas), ack_wait_s=settings.ack_wait_s)
    async with operator_bus(settings, data_dir or settings.data_dir) as bus:
        changes = await (apply if write else diff)(bus, plan)
    if as_json:
        tell_json({"applied": write, "changes": [change.sentence for change in changes]})
    else:
        for change in changes:
            tell(change.sentence)
        tell("the streams are as they should be" if write or not changes else "nothing was changed")
    return EXIT_DONE if write or not changes else EXIT_REFUSED
