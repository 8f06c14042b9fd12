"""What `up` does in the product: its migrations, its topology, its services."""

from __future__ import annotations

from chancery.bus.connection import connect
from chancery.bus.provision import apply
from chancery.embedded.database import migrate_database
from chancery.embedded.settings import UpSteps, service_argv


def product_steps() -> UpSteps:
    """Return the steps of the product."""
    return UpSteps(migrate_database, provision_topology, service_argv)


async def provision_topology(url: str) -> None:
    """Make the streams and consumers of the NATS at `url` equal to the topology table."""
    async with connect(url, name="chancery-up") as connection:
        await apply(connection)
