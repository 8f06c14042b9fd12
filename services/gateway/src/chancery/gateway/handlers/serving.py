"""Grants, withdrawal and restoring: the same for sources, datasets and items."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from chancery.events import commands
from chancery.gateway.handlers.edge import Context, Here, PathId
from chancery.runtime.sentences import GRANTEE_PATTERN

router = APIRouter(prefix="/v1/workspaces/{ws}", tags=["sources", "datasets", "items"])

PathGrantee = Annotated[
    str,
    Path(pattern=GRANTEE_PATTERN, description="a principal, or group:NAME"),
]


@router.put("/sources/{source}/grants/{grantee}")
async def grant_source(
    ws: PathId, source: PathId, grantee: PathGrantee, here: Here
) -> commands.Outcome:
    """Let a principal or group read a restricted source."""
    return await _change_grant(here, "grant", _grant(ws, "source", source, grantee))


@router.delete("/sources/{source}/grants/{grantee}")
async def revoke_source_grant(
    ws: PathId, source: PathId, grantee: PathGrantee, here: Here
) -> commands.Outcome:
    """End a grant of a source, as an admin even blindly; answers that rest on it are withheld."""
    return await _change_grant(here, "revoke-grant", _grant(ws, "source", source, grantee))


@router.post("/sources/{source}/withdraw")
async def withdraw_source(ws: PathId, source: PathId, here: Here) -> commands.Outcome:
    """Stop a source from serving, as an admin even blindly; answers that used it are withheld."""
    return await _change_serving(here, "withdraw", _serving(ws, "source", source))


@router.post("/sources/{source}/restore")
async def restore_source(ws: PathId, source: PathId, here: Here) -> commands.Outcome:
    """Let a withdrawn source serve its newest revision again."""
    return await _change_serving(here, "restore", _serving(ws, "source", source))


@router.put("/datasets/{dataset}/grants/{grantee}")
async def grant_dataset(
    ws: PathId, dataset: PathId, grantee: PathGrantee, here: Here
) -> commands.Outcome:
    """Let a principal or group read a restricted dataset."""
    return await _change_grant(here, "grant", _grant(ws, "dataset", dataset, grantee))


@router.delete("/datasets/{dataset}/grants/{grantee}")
async def revoke_dataset_grant(
    ws: PathId, dataset: PathId, grantee: PathGrantee, here: Here
) -> commands.Outcome:
    """End a grant of a dataset, as an admin even blindly; answers that rest on it are withheld."""
    return await _change_grant(here, "revoke-grant", _grant(ws, "dataset", dataset, grantee))


@router.post("/datasets/{dataset}/withdraw")
async def withdraw_dataset(ws: PathId, dataset: PathId, here: Here) -> commands.Outcome:
    """Stop a dataset from serving, as an admin even blindly; answers that used it are withheld."""
    return await _change_serving(here, "withdraw", _serving(ws, "dataset", dataset))


@router.put("/items/{item}/grants/{grantee}")
async def grant_item(
    ws: PathId, item: PathId, grantee: PathGrantee, here: Here
) -> commands.Outcome:
    """Let a principal or group read a restricted item, as far as they may read its evidence."""
    return await _change_grant(here, "grant", _grant(ws, "item", item, grantee))


@router.delete("/items/{item}/grants/{grantee}")
async def revoke_item_grant(
    ws: PathId, item: PathId, grantee: PathGrantee, here: Here
) -> commands.Outcome:
    """End a grant of an item, as an admin even blindly; answers that rest on it are withheld."""
    return await _change_grant(here, "revoke-grant", _grant(ws, "item", item, grantee))


@router.post("/items/{item}/withdraw")
async def withdraw_item(ws: PathId, item: PathId, here: Here) -> commands.Outcome:
    """Stop an item from serving, as an admin even blindly; its next version serves again."""
    return await _change_serving(here, "withdraw", _serving(ws, "item", item))


def _grant(
    workspace_id: str, kind: commands.GovernedKind, resource_id: str, grantee: str
) -> commands.ChangeGrant:
    return commands.ChangeGrant(
        workspace_id=workspace_id, kind=kind, resource_id=resource_id, grantee=grantee
    )


def _serving(
    workspace_id: str, kind: commands.GovernedKind, resource_id: str
) -> commands.ChangeServing:
    return commands.ChangeServing(workspace_id=workspace_id, kind=kind, resource_id=resource_id)


async def _change_grant(
    here: Context, verb: str, command: commands.ChangeGrant
) -> commands.Outcome:
    return await here.command("ingestion", verb, command, commands.Outcome)


async def _change_serving(
    here: Context, verb: str, command: commands.ChangeServing
) -> commands.Outcome:
    return await here.command("ingestion", verb, command, commands.Outcome)
