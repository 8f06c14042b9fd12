"""The commands and their options; what each one does is loaded when it is called."""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
import typer.exceptions

from chancery.client.command import finding, governance, knowledge, operating
from chancery.client.command.options import AsJson, DataDir, WorkspaceName, whole
from chancery.client.command.output import EXIT_USAGE, speaking, tell_error
from chancery.events.authority import Visibility
from chancery.kernel.errors import Rejected

Projection = Annotated[str, typer.Argument(metavar="NAME", help="all, authority or index.")]
Rebuilt = Annotated[str, typer.Argument(metavar="NAME", help="all, authority, index or search.")]
OutputFile = Annotated[Path | None, typer.Option(help="Save the proof of the answer here.")]

app = typer.Typer(
    name="chancery",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 done, 1 refused or does not match, 2 wrong usage (options, arguments, "
    "environment), 3 unavailable, 4 cannot be checked.",
)
config = typer.Typer(help="What the environment says.", no_args_is_help=True)
accounts = typer.Typer(help="Who may reach what on the bus.", no_args_is_help=True)
key = typer.Typer(help="The key that signs receipts.", no_args_is_help=True)
producers = typer.Typer(help="Who submits over the bus.", no_args_is_help=True)
projections = typer.Typer(help="What release rebuilds from the log.", no_args_is_help=True)
app.add_typer(projections, name="projections")
app.add_typer(config, name="config")
app.add_typer(accounts, name="accounts")
app.add_typer(producers, name="producers")
app.add_typer(key, name="key")


def _tell_version(asked: object) -> None:
    if asked:
        print(f"chancery {version('chancery-client')}")
        raise typer.Exit


@app.callback()
def chancery(
    *,
    is_asked: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version.",
            is_eager=True,
            callback=_tell_version,
        ),
    ] = False,
) -> None:
    """Answers questions only from evidence the caller may read, and can prove it."""
    del is_asked


@app.command()
def up(
    *,
    data_dir: DataDir = None,
    port: Annotated[
        int | None,
        typer.Option(
            parser=whole(0, 65535),
            metavar="INTEGER",
            help="The HTTP port (default: CHANCERY_HTTP_PORT or 8080); 0 takes any free one.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run NATS, PostgreSQL and six services until Ctrl-C."""
    from chancery.client.command.system import run_up

    with speaking(as_json=as_json):
        raise typer.Exit(asyncio.run(run_up(data_dir, port, as_json=as_json)))


@app.command()
def demo(
    *,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the data folder.")] = False,
    seed: Annotated[
        int | None, typer.Option(help="Draw other names, documents, questions and amounts.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play the whole path on a system in a temporary folder."""
    from chancery.client.command.demo import run_demo

    with speaking(as_json=as_json):
        raise typer.Exit(run_demo(keep=keep, seed=seed, as_json=as_json))


@app.command()
def token(
    *,
    principal: Annotated[str, typer.Option(help="Whom the credential is for.")],
    tenant: Annotated[
        str | None, typer.Option(help="Another tenant; an unknown one is created.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Issue a credential and print its token."""
    from chancery.client.command.calls import issue_token

    with speaking(as_json=as_json):
        asyncio.run(issue_token(principal, tenant, as_json=as_json))


@app.command()
def publish(
    path: Annotated[Path, typer.Argument(help="A document, a .csv file, or a folder of them.")],
    *,
    workspace: WorkspaceName,
    title: Annotated[str | None, typer.Option(help="The title of a single file.")] = None,
    visibility: Annotated[
        Visibility | None,
        typer.Option(
            help="Who may read it: every member (workspace, the default of a new file), who has a "
            "grant (restricted), or you (private). What is published already keeps what it has."
        ),
    ] = None,
    restricted: Annotated[
        bool, typer.Option("--restricted", help="The same as --visibility restricted.")
    ] = False,
    restore: Annotated[
        bool, typer.Option("--restore", help="Let what was withdrawn serve again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Publish files and wait until they can be asked about.

    Exits with 1 when a file could not be published, as to a withdrawn source; the others are. Calls
    CHANCERY_URL as CHANCERY_TOKEN; without them this machine, as its operator.
    """
    from chancery.client.command.declaring import Wanted
    from chancery.client.command.publish import run_publish

    if restricted and visibility not in {None, "restricted"}:
        message = "--restricted and --visibility say different things"
        raise typer.BadParameter(message, param_hint="--visibility")
    wanted = Wanted(title, "restricted" if restricted else visibility, restore)
    with speaking(as_json=as_json):
        raise typer.Exit(asyncio.run(run_publish(path, workspace, wanted, as_json=as_json)))


@app.command()
def ask(
    question: Annotated[list[str], typer.Argument(help="The question; quote what a shell reads.")],
    *,
    workspace: WorkspaceName,
    source: Annotated[
        list[str] | None, typer.Option(help="Answer from this source only (repeatable).")
    ] = None,
    item: Annotated[
        list[str] | None, typer.Option(help="Answer from this item only (repeatable).")
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Answer from this dataset only (repeatable).")
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option(help="Answer from this file of yours (repeatable).")
    ] = None,
    bundle: OutputFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask, and print the sealed answer; a refusal exits with 1.

    Calls CHANCERY_URL as CHANCERY_TOKEN; without them this machine, as its operator.
    """
    from chancery.client.command.calls import run_ask
    from chancery.client.http import Ask

    asked = Ask(
        question=" ".join(question),
        sources=source or (),
        items=item or (),
        datasets=dataset or (),
        files=file or (),
    )
    with speaking(as_json=as_json):
        raise typer.Exit(asyncio.run(run_ask(asked, workspace, bundle=bundle, as_json=as_json)))


@app.command()
def verify(
    subject: Annotated[str, typer.Argument(help="A saved bundle, or the id of a run.")],
    *,
    public_key: Annotated[
        str | None, typer.Option(help="Hex of the key that must have signed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a bundle: 0 matches, 1 does not, 4 cannot be checked."""
    from chancery.client.command.verify import run_verify

    with speaking(as_json=as_json):
        raise typer.Exit(run_verify(subject, public_key, as_json=as_json))


@app.command()
def migrate(*, as_json: AsJson = False) -> None:
    """Bring the database of CHANCERY_POSTGRES_DSN up to date."""
    from chancery.client.command.external import run_migrate

    with speaking(as_json=as_json):
        asyncio.run(run_migrate(as_json=as_json))


@app.command()
def backup(
    folder: Annotated[Path, typer.Argument(help="Where the backups are kept.")],
    *,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Save the database; the keys of its content go to one file that each backup replaces."""
    from chancery.client.command.backups import run_backup

    with speaking(as_json=as_json):
        asyncio.run(run_backup(folder, data_dir, as_json=as_json))


@app.command()
def restore(
    folder: Annotated[Path, typer.Argument(help="Where the backups are kept.")],
    *,
    label: Annotated[str | None, typer.Option(help="Which one (default: the newest).")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Fill an empty database from a backup.

    That is the migrated one of CHANCERY_POSTGRES_DSN; without it the PostgreSQL of the data folder,
    on which no system may run: it is made, filled and stopped again.
    """
    from chancery.client.command.backups import run_restore

    with speaking(as_json=as_json):
        asyncio.run(run_restore(folder, label, data_dir, as_json=as_json))


def _projections(verb: str, name: str, data_dir: Path | None, *, as_json: bool) -> None:
    known = ("all", "authority", "index", *(("search",) if verb == "rebuild" else ()))
    if name not in known:
        message = f"{name} is not one of {', '.join(known)}"
        raise typer.BadParameter(message, param_hint="NAME")
    from chancery.client.command.projections import run_projections

    with speaking(as_json=as_json):
        raise typer.Exit(asyncio.run(run_projections(verb, name, data_dir, as_json=as_json)))


@projections.command("status")
def projections_status(
    name: Projection = "all", *, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Say how far each projection is, and what waits in quarantine."""
    _projections("status", name, data_dir, as_json=as_json)


@projections.command("rebuild")
def projections_rebuild(
    name: Rebuilt = "all", *, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Rebuild from the log beside the live one; what was interrupted goes on.

    `search` is the search index, which takes its place by itself.
    """
    if name == "search":
        from chancery.client.command.search_index import rebuild_search

        with speaking(as_json=as_json):
            asyncio.run(rebuild_search(data_dir, as_json=as_json))
        return
    _projections("rebuild", name, data_dir, as_json=as_json)


@projections.command("switch")
def projections_switch(
    name: Projection = "all", *, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Make what was rebuilt live, when its digest is the same."""
    _projections("switch", name, data_dir, as_json=as_json)


@accounts.command("render")
def accounts_render(
    *,
    producer: Annotated[
        list[str] | None, typer.Option(help="TENANT.PRINCIPAL that submits (repeatable).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the NATS configuration of the accounts; passwords come from variables."""
    from chancery.client.command.accounts import run_render

    with speaking(as_json=as_json):
        run_render(producer or (), as_json=as_json)


@producers.command("add")
def producers_add(
    principal: Annotated[str, typer.Argument(help="Whose authority its submissions have.")],
    *,
    tenant: Annotated[str, typer.Option(help="The principal's tenant.")] = "default",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a principal submit over the embedded NATS; its URL is shown this once."""
    from chancery.client.command.accounts import run_add_producer

    with speaking(as_json=as_json):
        asyncio.run(run_add_producer(principal, tenant, data_dir, as_json=as_json))


@key.command("show")
def key_show(*, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Print the public key of CHANCERY_SIGNING_KEY, or of the data folder's signing.key."""
    from chancery.client.command.keys import show_key

    with speaking(as_json=as_json):
        show_key(data_dir, as_json=as_json)


@app.command()
def doctor(*, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Look for what keeps a system from starting or answering."""
    from chancery.client.command.doctor import run_doctor

    with speaking(as_json=as_json):
        raise typer.Exit(asyncio.run(run_doctor(data_dir, as_json=as_json)))


@config.command("show")
def config_show(*, as_json: AsJson = False) -> None:
    """Print every setting, where it comes from, and secrets as stars."""
    from chancery.client.command.config import show_config

    with speaking(as_json=as_json):
        show_config(as_json=as_json)


finding.register(app)
governance.register(app)
knowledge.register(app)
operating.register(app)


def main() -> None:
    """Run the command line; with --json wrong usage is told as JSON too."""
    try:
        if "--json" not in sys.argv:
            app()
        raise SystemExit(app(standalone_mode=False))
    except typer.exceptions.TyperException as error:
        told = Rejected(str(error), code="usage")
        tell_error(told, as_json=True)
        raise SystemExit(EXIT_USAGE) from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None
