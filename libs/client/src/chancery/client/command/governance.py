"""The commands about a workspace, who is in it, and who may read what; each is one call."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import typer

from chancery.client.command.options import AsJson, WorkspaceName
from chancery.client.command.output import speaking
from chancery.events.authority import Language, Role

Principal = Annotated[str, typer.Argument(help="The principal, as named in its credential.")]
ResourceId = Annotated[str, typer.Argument(help="The id of the source, dataset or item.")]
Grantee = Annotated[str, typer.Argument(help="A principal, or group:NAME.")]
IsDataset = Annotated[bool, typer.Option("--dataset", help="It is a dataset, not a source.")]
IsItem = Annotated[bool, typer.Option("--item", help="It is a curated item, not a source.")]

workspace = typer.Typer(help="Workspaces.", no_args_is_help=True)
member = typer.Typer(help="Who is in a workspace, as what.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.add_typer(workspace, name="workspace")
    app.add_typer(member, name="member")
    for command in (grant, revoke, sources, audit):
        app.command()(command)


@workspace.command("create")
def workspace_create(
    workspace_id: Annotated[str, typer.Argument(help="Its id: letters, digits, - and _.")],
    *,
    title: Annotated[str | None, typer.Option(help="Its title (default: its id).")] = None,
    language: Annotated[
        Language, typer.Option(envvar="CHANCERY_LANGUAGE", help="Of refusals and frames.")
    ] = "en",
    as_json: AsJson = False,
) -> None:
    """Create a workspace; you become its first admin."""
    from chancery.client.command.governing import NewWorkspace, create_workspace

    with speaking(as_json=as_json):
        wanted = NewWorkspace(workspace_id, workspace_id if title is None else title, language)
        asyncio.run(create_workspace(wanted, as_json=as_json))


@workspace.command("list")
def workspace_list(*, as_json: AsJson = False) -> None:
    """List the workspaces that you belong to, and as what."""
    from chancery.client.command.governing import list_workspaces

    with speaking(as_json=as_json):
        asyncio.run(list_workspaces(as_json=as_json))


@member.command("add")
def member_add(
    principal: Principal,
    *,
    workspace: WorkspaceName,
    role: Annotated[Role, typer.Option(help="What the member may do.")] = "reader",
    as_json: AsJson = False,
) -> None:
    """Let a principal into a workspace, or give a member another role."""
    from chancery.client.command.governing import add_member

    with speaking(as_json=as_json):
        asyncio.run(add_member(workspace, principal, role, as_json=as_json))


@member.command("remove")
def member_remove(
    principal: Principal, *, workspace: WorkspaceName, as_json: AsJson = False
) -> None:
    """Take a principal out of a workspace."""
    from chancery.client.command.governing import remove_member

    with speaking(as_json=as_json):
        asyncio.run(remove_member(workspace, principal, as_json=as_json))


def grant(
    resource_id: ResourceId,
    grantee: Grantee,
    *,
    workspace: WorkspaceName,
    dataset: IsDataset = False,
    item: IsItem = False,
    as_json: AsJson = False,
) -> None:
    """Let somebody read a restricted source, dataset or item."""
    from chancery.client.command.governing import Resource, change_grant

    named = Resource(workspace, resource_id, _kind(is_dataset=dataset, is_item=item))
    with speaking(as_json=as_json):
        asyncio.run(change_grant(named, grantee, is_granted=True, as_json=as_json))


def revoke(
    resource_id: ResourceId,
    grantee: Grantee,
    *,
    workspace: WorkspaceName,
    dataset: IsDataset = False,
    item: IsItem = False,
    as_json: AsJson = False,
) -> None:
    """End a grant; answers that rest on it are withheld from then on."""
    from chancery.client.command.governing import Resource, change_grant

    named = Resource(workspace, resource_id, _kind(is_dataset=dataset, is_item=item))
    with speaking(as_json=as_json):
        asyncio.run(change_grant(named, grantee, is_granted=False, as_json=as_json))


def sources(*, workspace: WorkspaceName, as_json: AsJson = False) -> None:
    """List the sources that you may read."""
    from chancery.client.command.governing import list_sources

    with speaking(as_json=as_json):
        asyncio.run(list_sources(workspace, as_json=as_json))


def audit(
    run_id: Annotated[str, typer.Argument(help="The id of a run.")], *, as_json: AsJson = False
) -> None:
    """Print what was recorded of a run, as JSON."""
    from chancery.client.command.governing import show_audit

    with speaking(as_json=as_json):
        asyncio.run(show_audit(run_id, as_json=as_json))


def _kind(*, is_dataset: bool, is_item: bool) -> Literal["sources", "datasets", "items"]:
    if is_dataset and is_item:
        message = "say either --dataset or --item"
        raise typer.BadParameter(message)
    if is_item:
        return "items"
    return "datasets" if is_dataset else "sources"
