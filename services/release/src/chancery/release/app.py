"""Puts the service together and runs it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from pydantic import SecretStr

from chancery.attest.signing import SigningKey
from chancery.bus.connection import Connection as Bus
from chancery.bus.connection import connect as connect_bus
from chancery.bus.load import last_sequence
from chancery.events import topology
from chancery.events.topology import consumer
from chancery.kernel.clock import SystemClock
from chancery.release.adapters.authority_reader import AuthorityReader
from chancery.release.adapters.authority_rows import AuthorityApplier
from chancery.release.adapters.conversations import Conversations
from chancery.release.adapters.cuts import StreamCuts
from chancery.release.adapters.desk import PostgresDesk
from chancery.release.adapters.draining import drain_frozen
from chancery.release.adapters.evidence_reader import EvidenceReader
from chancery.release.adapters.fsck_logs import StreamLogs, authority_refold, index_refold
from chancery.release.adapters.fsck_rows import FsckRows
from chancery.release.adapters.index_rows import IndexApplier
from chancery.release.adapters.log_end import log_end_reader
from chancery.release.adapters.projector import Projector
from chancery.release.adapters.quarantine import quarantines
from chancery.release.adapters.reexecuting import Reexecuting
from chancery.release.adapters.refolding import refold_waiting
from chancery.release.adapters.relay import Relay
from chancery.release.adapters.runs import Runs
from chancery.release.adapters.sealed import Releases
from chancery.release.adapters.table_sets import (
    Rebuild,
    count_waiting,
    read_table_sets,
    watch_waiting,
)
from chancery.release.domain.findings import Report
from chancery.release.handlers.barrier import Barrier
from chancery.release.handlers.bundles import Bundles
from chancery.release.handlers.commands import Commands
from chancery.release.handlers.corpora import Corpora
from chancery.release.handlers.disclosing import Discloser
from chancery.release.handlers.disclosures import Disclosures
from chancery.release.handlers.ending import Ending
from chancery.release.handlers.event_rows import RowsOfRun
from chancery.release.handlers.fsck import Fsck
from chancery.release.handlers.fsck_log import CheckLogs
from chancery.release.handlers.fsck_published import CheckPublished
from chancery.release.handlers.fsck_releases import CheckReleases
from chancery.release.handlers.fsck_serving import CheckServing
from chancery.release.handlers.fsck_values import CheckValues
from chancery.release.handlers.gate import Gate
from chancery.release.handlers.in_time import InTime
from chancery.release.handlers.knowledge import Knowledge
from chancery.release.handlers.projections import Projections, Say, Verb
from chancery.release.handlers.proposed import SealRun
from chancery.release.handlers.questions import Questions
from chancery.release.handlers.reading import Reading
from chancery.release.handlers.requested import AdmitRun
from chancery.release.handlers.retrying import Retrying
from chancery.release.handlers.run_clock import RunClock
from chancery.release.handlers.run_events import RunEvents
from chancery.release.handlers.sealer import Sealer
from chancery.release.handlers.searching import Searching
from chancery.release.handlers.serving import (
    serve_commands,
    serve_disclosures,
    serve_knowledge,
    serve_questions,
)
from chancery.release.ports.position import Position
from chancery.release.ports.table_sets import ProjectionName
from chancery.release.settings import ReleaseSettings
from chancery.runtime.parking import PostgresParking
from chancery.runtime.service import Service
from chancery.store.blobs import Blobs, open_blobs
from chancery.store.pool import Pool, PoolLimits, check_durability, open_pool
from chancery.store.pool import connect as connect_database

ACQUIRE_TIMEOUT_S = 10.0
DATABASE_TIMEOUT_S = 3.0
"""How long a statement may take: a hung database is told to callers before they give up."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What every part is built on."""

    bus: Bus
    pool: Pool
    dsn: SecretStr
    blobs: Blobs
    key: SigningKey


@dataclass(frozen=True, slots=True)
class Parts:
    """The running parts, as `serve` registers them and tests reach them."""

    authority: Projector
    index: Projector
    relay: Relay
    run_clock: RunClock
    sealer: Sealer
    admit: AdmitRun
    seal: SealRun
    stages: RunEvents
    commands: Commands
    retry: Retrying
    questions: Questions
    knowledge: Knowledge
    corpora: Corpora
    searching: Searching
    disclosures: Disclosures
    rows: RowsOfRun


async def create_parts(resources: Resources) -> Parts:
    """Return the parts over these resources.

    Raises:
        ForeignLog: a stream is not the one that its projection was built from.
        NotDurable: the database may forget committed rows.
        Unavailable: bus or database are away.
    """
    async with resources.pool.acquire(timeout=ACQUIRE_TIMEOUT_S) as connection:
        await check_durability(connection)
    authority, index = _projectors(resources)
    await authority.prepare()
    await index.prepare()
    position = authority.position
    barrier = Barrier(await log_end_reader(resources.bus, SystemClock(), position), position)
    return _assembled(resources, authority, index, barrier)


def _assembled(
    resources: Resources, authority: Projector, index: Projector, barrier: Barrier
) -> Parts:
    bus, pool, clock = resources.bus, resources.pool, SystemClock()
    reader, runs, releases = AuthorityReader(pool), Runs(pool), Releases(pool)
    conversations, evidence = Conversations(pool), EvidenceReader(resources.blobs)
    relay, cuts, desk = Relay(bus, pool), StreamCuts(bus), PostgresDesk(pool)
    gate = Gate(barrier, reader)
    sealer = Sealer(
        bus, desk, cuts, releases, authority.position, key=resources.key, on_sealed=relay.wake
    )
    ending = Ending(sealer, reader)
    stages = RunEvents(bus, runs, ending)
    discloser = Discloser(gate, reader, releases)
    reading = Reading(gate, reader)
    bundles = Bundles(cuts, releases, evidence)
    return Parts(
        authority=authority,
        index=index,
        relay=relay,
        run_clock=RunClock(bus, runs, ending, clock),
        sealer=sealer,
        admit=AdmitRun(
            bus=bus,
            gate=gate,
            reader=reader,
            runs=runs,
            conversations=conversations,
            evidence=evidence,
            ending=ending,
            clock=clock,
        ),
        seal=SealRun(runs, stages, evidence, ending, index.position),
        stages=stages,
        commands=Commands(gate, conversations),
        retry=Retrying(gate, runs, conversations),
        questions=Questions(reading, resources.key.derive("told")),
        knowledge=Knowledge(reading),
        corpora=Corpora(discloser, conversations, runs),
        searching=Searching(gate, reader),
        disclosures=Disclosures(discloser, conversations, bundles),
        rows=RowsOfRun(runs, discloser),
    )


async def serve(settings: ReleaseSettings) -> None:
    """Run release until it is told to stop.

    Raises:
        Rejected: a setting is missing or wrong.
        ForeignLog: a stream is not the one that its projection was built from.
        Unavailable: NATS, PostgreSQL, their topology or the blobs are away.
    """
    dsn, blobs_url = settings.require_dsn(), settings.require_blobs_url()
    key = SigningKey.from_hex(settings.require_signing_key())
    limits = pool_limits(settings.connections)
    service = Service("release", settings)
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(service.open())
        pool = await stack.enter_async_context(
            await open_pool(dsn, name="chancery-release", limits=limits)
        )
        resources = Resources(opened.connection, pool, SecretStr(dsn), open_blobs(blobs_url), key)
        register(service, await create_parts(resources), pool, workers=settings.workers)
        service.background("quarantine", partial(watch_waiting, pool, opened.metrics.registry))
        await service.run()


def pool_limits(connections: int) -> PoolLimits:
    """Return the bounds of the service's pool."""
    return PoolLimits(
        connections_min=2,
        connections_max=connections,
        connect_timeout_s=DATABASE_TIMEOUT_S,
        statement_timeout_s=DATABASE_TIMEOUT_S,
        lock_timeout_s=DATABASE_TIMEOUT_S,
    )


def register(service: Service, parts: Parts, pool: Pool, *, workers: int) -> None:
    """Give the chassis its loops, workers, responders and checks."""
    service.background("authority projection", parts.authority.run)
    service.background("index projection", parts.index.run)
    service.background("relay", parts.relay.run)
    service.background("run deadlines", parts.run_clock.watch_deadlines)
    service.background("run terminations", parts.run_clock.watch_terminations)
    service.ready_check("authority projection", lambda: _behind(parts.authority))
    service.ready_check("index projection", lambda: _behind(parts.index))
    parking = PostgresParking(pool, "release")
    for quarantine in quarantines(pool):
        service.keeper(quarantine)
    for name, handler in (
        (topology.RELEASE_REQUESTED, parts.admit),
        (topology.RELEASE_GATHERED, parts.stages.gathered),
        (topology.RELEASE_PROPOSED, parts.seal),
        (topology.RELEASE_CANCELLED, parts.stages.cancelled),
        (topology.RELEASE_ACTIVITY, parts.stages.activity),
    ):
        service.worker(consumer(name), handler, parking=parking, workers=workers)
    answers = InTime(service)
    serve_commands(answers, parts.commands, parts.retry)
    serve_questions(answers, parts.questions, parts.searching)
    serve_knowledge(answers, parts.knowledge, parts.corpora)
    serve_disclosures(answers, parts.disclosures, parts.rows)


def _projectors(resources: Resources) -> tuple[Projector, Projector]:
    authority = Projector(
        name="authority",
        bus=resources.bus,
        dsn=resources.dsn,
        consumer=consumer(topology.RELEASE_AUTHORITY),
        new_applier=AuthorityApplier,
        position=Position(),
        drain=drain_frozen,
    )
    index = Projector(
        name="index",
        bus=resources.bus,
        dsn=resources.dsn,
        consumer=consumer(topology.RELEASE_INDEX),
        new_applier=IndexApplier,
        position=Position(),
        drain=partial(refold_waiting, resources.bus),
    )
    return authority, index


@dataclass(frozen=True, slots=True)
class Depth:
    """How an examination is done; `patience_s` is how long something may be on its way.

    With `run_id` only the releases of that run are examined, with their values.
    """

    deep: bool = False
    run_id: str | None = None
    pending_s: float = 600.0
    patience_s: float = 5.0


async def examine(settings: ReleaseSettings, depth: Depth, say: Say) -> Report:
    """Examine the installation beside the running service, changing nothing.

    Raises:
        NotFound: there is no release of the run that `depth` names.
        Unavailable: bus, database or blobs are away.
    """
    dsn, blobs = settings.require_dsn(), open_blobs(settings.require_blobs_url())
    secret = SecretStr(dsn)
    async with (
        connect_bus(
            settings.nats_url, name="chancery-fsck", api_prefix=settings.nats_api_prefix
        ) as bus,
        connect_database(dsn, name="chancery-fsck") as database,
        Reexecuting() as reexecute,
    ):
        records, logs = FsckRows(database), StreamLogs(bus)
        refolds = (
            authority_refold(_rebuild(bus, secret, "authority"), secret),
            index_refold(_rebuild(bus, secret, "index"), secret),
        )
        fsck = Fsck(
            records=records,
            logs=CheckLogs(records, logs, refolds, depth.patience_s),
            releases=CheckReleases(records, logs),
            published=CheckPublished(records, logs),
            serving=CheckServing(records, logs, blobs, SystemClock(), depth.pending_s),
            values=CheckValues(records, logs, blobs, reexecute),
            patience_s=depth.patience_s,
            say=say,
            now=time.monotonic,
        )
        if depth.run_id is not None:
            return await fsck.run_one(depth.run_id)
        return await fsck.run(deep=depth.deep)


async def operate(
    settings: ReleaseSettings, verb: Verb, names: Sequence[ProjectionName], say: Say
) -> None:
    """Look at, rebuild or switch projections beside the running service.

    Raises:
        ChanceryError: see `Projections.do`.
    """
    dsn = settings.require_dsn()
    async with connect_bus(
        settings.nats_url, name="chancery-projections", api_prefix=settings.nats_api_prefix
    ) as bus:
        projectors = {each: _rebuild(bus, SecretStr(dsn), each) for each in names}

        async def log_end(name: str) -> int:
            stream = topology.INDEX if name == "index" else topology.AUTHORITY
            return (await last_sequence(bus, stream)).last

        async with connect_database(dsn, name="chancery-projections") as database:
            await Projections(
                rebuilds=tuple(projectors.values()),
                table_sets=partial(read_table_sets, database),
                waiting=partial(count_waiting, database),
                log_ends=log_end,
                say=say,
            ).do(verb)


def _rebuild(bus: Bus, dsn: SecretStr, name: ProjectionName) -> Rebuild:
    is_index = name == "index"
    reader = topology.RELEASE_INDEX_REBUILD if is_index else topology.RELEASE_AUTHORITY_REBUILD
    return Rebuild(
        name=name,
        bus=bus,
        dsn=dsn,
        consumer=consumer(reader),
        new_applier=IndexApplier if is_index else AuthorityApplier,
    )


async def _behind(projector: Projector) -> str | None:
    if projector.is_caught_up:
        return None
    return f"the {projector.name} projection is catching up"
