"""The commands of who runs the system: streams, what is parked, whether everything fits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from chancery.client.command.options import AsJson, DataDir, whole
from chancery.client.command.output import speaking
from chancery.events.topology import RETRIEVAL_REPLICAS_MAX

Name = Annotated[str, typer.Argument(help="Its name, as `parked ls` shows it.")]
OfService = Annotated[str | None, typer.Option("--service", help="Only of this service.")]
OfConsumer = Annotated[str | None, typer.Option("--consumer", help="Only of this consumer.")]
ForReason = Annotated[str | None, typer.Option("--reason", help="Only for this reason code.")]

RetrievalReplicas = Annotated[
    int,
    typer.Option(
        "--replicas-of-retrieval",
        parser=whole(1, RETRIEVAL_REPLICAS_MAX),
        metavar="INTEGER",
        help="How many there are; each reads with consumers of its own, named by CHANCERY_REPLICA.",
    ),
]

streams = typer.Typer(help="The streams and consumers of the bus.", no_args_is_help=True)
parked = typer.Typer(help="Messages that were set aside.", no_args_is_help=True)
blobs = typer.Typer(help="What is stored by its hash.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.add_typer(streams, name="streams")
    app.add_typer(parked, name="parked")
    app.add_typer(blobs, name="blobs")
    app.command()(fsck)


@streams.command("diff")
def streams_diff(
    *, replicas: RetrievalReplicas = 1, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Say what apply would change; exits with 1 when anything.

    Looks at CHANCERY_NATS_URL, or at the bus of the system that runs in the data folder.
    """
    _streams(replicas, data_dir, write=False, as_json=as_json)


@streams.command("apply")
def streams_apply(
    *, replicas: RetrievalReplicas = 1, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Make that bus equal to the topology."""
    _streams(replicas, data_dir, write=True, as_json=as_json)


def _streams(replicas: int, data_dir: Path | None, *, write: bool, as_json: bool) -> None:
    from chancery.client.command.external import run_streams

    with speaking(as_json=as_json):
        done = run_streams(replicas, data_dir, write=write, as_json=as_json)
        raise typer.Exit(asyncio.run(done))


@parked.command("ls")
def parked_ls(
    *,
    service: OfService = None,
    consumer: OfConsumer = None,
    reason: ForReason = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Those that were retried or discarded, too.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List what no retry could help, and what a projection could not fold."""
    from chancery.client.command.parked import Wanted, run_list

    wanted = Wanted(service, consumer, reason, is_resolved_too=everything)
    with speaking(as_json=as_json):
        raise typer.Exit(asyncio.run(run_list(wanted, data_dir, as_json=as_json)))


@parked.command("show")
def parked_show(name: Name, *, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show the envelope of one: ids, numbers and hashes, never content."""
    from chancery.client.command.parked import run_show

    with speaking(as_json=as_json):
        asyncio.run(run_show(name, data_dir, as_json=as_json))


@parked.command("retry")
def parked_retry(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names as `parked ls` shows them.")
    ] = None,
    *,
    service: OfService = None,
    consumer: OfConsumer = None,
    reason: ForReason = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let the owner handle them again; exits with 1 when one failed again."""
    from chancery.client.command.parked import Wanted, run_retry

    wanted = Wanted(service, consumer, reason)
    with speaking(as_json=as_json):
        raise typer.Exit(asyncio.run(run_retry(names or (), wanted, data_dir, as_json=as_json)))


@parked.command("discard")
def parked_discard(
    name: Name,
    *,
    reason: Annotated[str, typer.Option(help="Why, in your own words; it is published.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Give one up for good; never an event of AUTHORITY."""
    from chancery.client.command.parked import run_discard

    with speaking(as_json=as_json):
        asyncio.run(run_discard(name, reason, data_dir, as_json=as_json))


@blobs.command("sweep")
def blobs_sweep(
    *,
    older_than: Annotated[
        str, typer.Option(help="Only what was stored longer ago than this, like 24h or 7d.")
    ] = "24h",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Remove nothing.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remove uploads that no event of any stream names: their command never came.

    Reads the whole log first; when any of it cannot be read, nothing is removed.
    """
    from chancery.client.command.sweep import parse_age, run_sweep

    with speaking(as_json=as_json):
        age = parse_age(older_than)
        work = run_sweep(data_dir, older_than=age, dry_run=dry_run, as_json=as_json)
        raise typer.Exit(asyncio.run(work))


def fsck(
    *,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Fold the whole log, read every blob, run every sealed query again."
        ),
    ] = False,
    run: Annotated[
        str | None,
        typer.Option("--run", help="Only the releases of this run, their queries run again."),
    ] = None,
    pending_after: Annotated[
        int,
        typer.Option(
            parser=whole(0),
            metavar="INTEGER",
            help="Seconds that the index may take for a revision.",
        ),
    ] = 600,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Examine log, projections, sealed record, index and blobs; changes nothing.

    Exits with 0 when everything fits together, 1 with findings, 3 when something is away, 4 when
    a sealed value could not be checked.
    """
    from chancery.client.command.fsck import Wanted, run_fsck

    with speaking(as_json=as_json):
        wanted = Wanted(deep, pending_after, run)
        work = run_fsck(data_dir, wanted, as_json=as_json)
        raise typer.Exit(asyncio.run(work))
