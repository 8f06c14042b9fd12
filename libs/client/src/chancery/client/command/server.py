"""The server that a command calls, with the token that it calls it with."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from http import HTTPStatus

from chancery.client.command.address import called, in_the_clear
from chancery.client.command.output import tell_progress
from chancery.client.command.settings import CommandSettings
from chancery.client.errors import ProblemError
from chancery.client.http import Chancery, connect
from chancery.kernel.errors import NotFound

ABSENCE_S = 2.0
"""A person wants to know soon that nothing runs there."""


def server_client(settings: CommandSettings) -> AbstractAsyncContextManager[Chancery]:
    """Open a client of the configured server.

    Raises:
        TokenForAnother: the only token is the operator's, which is not for that server.
        NotRunning: no server is configured, and none runs on the data folder.
        NoToken: when there is none to call it with.
    """
    target = called(settings)
    host = in_the_clear(target.url)
    if host is not None:
        tell_progress(f"chancery: the token travels unencrypted to {host}; https:// protects it")
    return connect(target.url, target.token, absence_s=ABSENCE_S)


class UnknownWorkspace(NotFound):
    """There is no such workspace, or the caller is no member of it."""

    code = "workspace_not_found"


@contextmanager
def entering(workspace_id: str) -> Generator[None]:
    """Say of a workspace that is not found how it comes about; any other 404 is told as it is.

    Raises:
        UnknownWorkspace: in place of the 404 of a workspace.
    """
    try:
        yield
    except ProblemError as error:
        if not _is_of_workspace(error):
            raise
        message = (
            f"there is no workspace {workspace_id} that you are a member of; "
            f"`chancery workspace create {workspace_id}` makes it, "
            f"`chancery member add PRINCIPAL -w {workspace_id}` lets others in"
        )
        raise UnknownWorkspace(message, field="--workspace") from error


def _is_of_workspace(error: ProblemError) -> bool:
    """Tell a workspace that is not found from whatever else is not; writes name it by the field."""
    of_workspace = error.code == UnknownWorkspace.code or error.field == "workspace_id"
    return error.status == HTTPStatus.NOT_FOUND and of_workspace
