"""Commands on private files: upload, delete; nobody but the owner learns that there is one."""

from __future__ import annotations

from chancery.authority.names import Change, file_ref
from chancery.authority.rights import Actor
from chancery.authority.states import FileState
from chancery.authority.wording import check_name
from chancery.events.authority_knowledge import FileDeleted, FileUploaded
from chancery.events.commands_knowledge import DeleteFile, UploadFile
from chancery.kernel.errors import Conflict, NotFound


def decide_upload_file(
    actor: Actor, file: FileState | None, command: UploadFile
) -> tuple[Change, ...]:
    """Keep a file for its uploader; the same one again changes nothing.

    Raises:
        NotFound: for the id of a file of somebody else.
        UnreadableText: for a title that cannot be shown.
        Conflict: with code `file_exists` for an id that named another content, or a deleted file.
    """
    check_name(command.title, field="title")
    uploaded = FileUploaded(
        file_id=command.file_id,
        owner=actor.principal_id,
        title=command.title,
        content_sha256=command.content_sha256,
        media_type=command.media_type,
        size_bytes=command.size_bytes,
    )
    if file is None:
        return (Change(file_ref(command.file_id), uploaded),)
    _require_owner(actor, file)
    there = (file.title, file.content_sha256, file.media_type, file.deleted)
    if there != (command.title, command.content_sha256, command.media_type, False):
        message = "the file_id was used for another file; upload it under a new one"
        raise Conflict(message, field="file_id", code="file_exists")
    return ()


def decide_delete_file(
    actor: Actor, file: FileState | None, command: DeleteFile
) -> tuple[Change, ...]:
    """Delete a file for good; a deleted one changes nothing.

    Raises:
        NotFound: for a file that is not the actor's.
    """
    if file is None:
        raise no_file()
    _require_owner(actor, file)
    return () if file.deleted else (Change(file_ref(command.file_id), FileDeleted()),)


def no_file() -> NotFound:
    """Return the refusal of a file that the caller does not own."""
    return NotFound("there is no such file for this caller", field="file_id")


def _require_owner(actor: Actor, file: FileState) -> None:
    if file.owner != actor.principal_id:
        raise no_file()
