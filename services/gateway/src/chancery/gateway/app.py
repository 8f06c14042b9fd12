"""Puts the service together and runs it."""

from __future__ import annotations

from contextlib import AsyncExitStack

from chancery.bus.connection import Connection
from chancery.gateway.adapters import BusAnnouncements, BusNudges, BusOwners
from chancery.gateway.handlers.edge import Edge
from chancery.gateway.handlers.health import unanswered
from chancery.gateway.handlers.room import Room
from chancery.gateway.handlers.surface import create_surface
from chancery.gateway.settings import GatewaySettings
from chancery.runtime.http import serving
from chancery.runtime.service import Service
from chancery.store.blobs import Receiving, open_blobs


def create_edge(
    connection: Connection, blobs: Receiving, token_key: bytes, room: Room | None = None
) -> Edge:
    """Return the edge over these resources; without a `room`, one of the usual size."""
    return Edge(
        owners=BusOwners(connection),
        announcements=BusAnnouncements(connection),
        nudges=BusNudges(connection),
        blobs=blobs,
        token_key=token_key,
        room=room or Room(),
    )


async def serve(settings: GatewaySettings) -> None:
    """Run the gateway until it is told to stop.

    Raises:
        Rejected: a setting is missing.
        Unavailable: NATS, the blobs or the HTTP port are away.
    """
    token_key = settings.require_token_key()
    blobs = open_blobs(settings.require_blobs_url())
    service = Service("gateway", settings)
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(service.open())
        room = Room(whole_bytes=settings.max_body_memory_bytes)
        edge = create_edge(opened.connection, blobs, token_key, room)

        async def owners_answer() -> str | None:
            away = await unanswered(edge)
            return f"waiting for {', '.join(away)}" if away else None

        service.ready_check("owners", owners_answer)
        surface = create_surface(
            edge,
            upload_bytes_max=settings.max_upload_bytes,
            registry=opened.metrics.registry,
        )
        await stack.enter_async_context(
            serving(surface, host=settings.http_host, port=settings.http_port)
        )
        await service.run()
