"""What the commands about workspaces, members and grants call, and what they tell of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus

from pydantic import JsonValue, TypeAdapter

from chancery.client.command.arguments import check_given, given_id
from chancery.client.command.output import tell, tell_json
from chancery.client.command.server import entering, server_client
from chancery.client.command.settings import load_settings
from chancery.client.errors import ProblemError
from chancery.client.replies import Done
from chancery.client.workspace import Kind, Workspace
from chancery.events.authority import Language, Role
from chancery.kernel.errors import Conflict, NotFound

_GROUP = "group:"
_OBJECT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class NewWorkspace:
    """A workspace to create; `language` is that of refusals and frames."""

    id: str
    title: str
    language: Language


@dataclass(frozen=True, slots=True)
class Resource:
    """A source, dataset or item by its id; `kind` is how a path names what it is."""

    workspace_id: str
    id: str
    kind: Kind


async def create_workspace(wanted: NewWorkspace, *, as_json: bool) -> None:
    """Create the workspace, set its language, and say what comes next."""
    given_id(wanted.id, field="workspace")
    check_given({"--title": wanted.title})
    async with server_client(load_settings()) as client:
        with _being_new(wanted.id):
            workspace = await client.create_workspace(wanted.id, wanted.title)
        if wanted.language != "en":
            await workspace.revise_policy(f"created-{wanted.language}", language=wanted.language)
    if as_json:
        tell_json({"workspace_id": wanted.id, "title": wanted.title, "language": wanted.language})
        return
    tell(f"workspace {wanted.id} is there, you are its admin")
    tell(f"next: chancery publish FOLDER -w {wanted.id}")


async def list_workspaces(*, as_json: bool) -> None:
    """List the caller's workspaces."""
    async with server_client(load_settings()) as client:
        found = await client.workspaces()
    if as_json:
        tell_json({"workspaces": [each.model_dump(mode="json") for each in found]})
        return
    for each in found:
        tell(f"{each.workspace_id}  {each.role}")


async def add_member(workspace_id: str, principal: str, role: Role, *, as_json: bool) -> None:
    """Give the principal the role."""
    given_id(principal, field="principal")
    async with _workspace(workspace_id) as workspace:
        done = await workspace.add_member(principal, role)
    _tell(done, f"{principal} is {role} of {workspace_id}", as_json=as_json)


async def remove_member(workspace_id: str, principal: str, *, as_json: bool) -> None:
    """Take the principal out."""
    given_id(principal, field="principal")
    async with _workspace(workspace_id) as workspace:
        done = await workspace.remove_member(principal)
    _tell(done, f"{principal} is no member of {workspace_id}", as_json=as_json)


async def change_grant(
    resource: Resource, grantee: str, *, is_granted: bool, as_json: bool
) -> None:
    """Grant or revoke."""
    given_id(resource.id, field="resource_id")
    given_id(grantee.removeprefix(_GROUP), field="grantee")
    async with _workspace(resource.workspace_id) as workspace:
        change = workspace.grant if is_granted else workspace.revoke_grant
        with entering(resource.workspace_id), _finding(resource):
            done = await change(resource.kind, resource.id, grantee)
    has = "has" if is_granted else "has no"
    _tell(done, f"{grantee} {has} grant of {resource.id}", as_json=as_json)


async def list_sources(workspace_id: str, *, as_json: bool) -> None:
    """List the sources of a workspace that the caller may read."""
    async with _workspace(workspace_id) as workspace:
        with entering(workspace_id):
            found = await workspace.sources()
    if as_json:
        tell_json({"sources": [each.model_dump(mode="json") for each in found]})
        return
    for each in found:
        state = "withdrawn" if each.withdrawn else each.state or "nothing published"
        tell(f"{each.id}  revision {each.revision}  {state}  {each.visibility}  {each.title}")


async def show_audit(run_id: str, *, as_json: bool) -> None:
    """Print the audit of a run."""
    given_id(run_id, field="run_id")
    async with server_client(load_settings()) as client:
        found = await client.audit(run_id)
    if as_json:
        tell_json(dict(found))
    else:
        tell(_OBJECT.dump_json(dict(found), indent=2).decode())


@contextmanager
def _being_new(workspace_id: str) -> Generator[None]:
    """Say of a workspace that there is already how it is used."""
    try:
        yield
    except ProblemError as error:
        if error.code != "workspace_exists":
            raise
        message = (
            f"workspace {workspace_id} exists already; its members use it with -w {workspace_id}, "
            "and a new one needs another name"
        )
        raise Conflict(message, field="workspace", code=error.code) from error


@contextmanager
def _finding(resource: Resource) -> Generator[None]:
    """Say of a source that is not found that a dataset and an item are named by an option."""
    try:
        yield
    except ProblemError as error:
        is_of_workspace = error.field == "workspace_id"
        if error.status != HTTPStatus.NOT_FOUND or is_of_workspace or resource.kind != "sources":
            raise
        message = (
            f"there is no source {resource.id} for you; --dataset names a dataset, "
            "--item a curated item"
        )
        raise NotFound(message, field="resource_id", code=error.code) from error


@asynccontextmanager
async def _workspace(workspace_id: str) -> AsyncGenerator[Workspace]:
    given_id(workspace_id, field="workspace")
    async with server_client(load_settings()) as client:
        yield client.workspace(workspace_id)


def _tell(done: Done, sentence: str, *, as_json: bool) -> None:
    if as_json:
        tell_json(done.model_dump(mode="json"))
    else:
        tell(sentence if done.changed else f"{sentence} (as before)")
