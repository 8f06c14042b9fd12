"""Gives every command its request subject."""

from __future__ import annotations

from typing import TypeVar

from chancery.events.commands_bulk import PublishDocuments
from chancery.events.requests import Message, Request
from chancery.ingestion.domain import access, bulk, curated, knowledge
from chancery.ingestion.domain.commands import Command
from chancery.ingestion.handlers.bulk import BulkPublisher
from chancery.ingestion.handlers.execution import Executor
from chancery.ingestion.ports import Responders

B = TypeVar("B", bound=Message)
R = TypeVar("R", bound=Message)


def serve_commands(responders: Responders, executor: Executor) -> None:
    """Answer every request of the topology that ingestion owns."""

    def serve(command: Command[B, R]) -> None:
        async def answer(request: Request[B]) -> R:
            return await executor.execute(command, request)

        responders.responder(command.subject, command.body, answer)

    serve(access.CREATE_WORKSPACE)
    serve(access.CLOSE_WORKSPACE)
    serve(access.ADD_MEMBER)
    serve(access.REMOVE_MEMBER)
    serve(access.JOIN_GROUP)
    serve(access.LEAVE_GROUP)
    serve(access.ISSUE_CREDENTIAL)
    serve(access.REVOKE_CREDENTIAL)
    serve(access.REVISE_POLICY)
    serve(knowledge.DECLARE_SOURCE)
    serve(knowledge.PUBLISH_REVISION)
    serve(knowledge.DECLARE_DATASET)
    serve(knowledge.PUBLISH_SNAPSHOT)
    serve(knowledge.GRANT)
    serve(knowledge.REVOKE_GRANT)
    serve(knowledge.WITHDRAW)
    serve(knowledge.RESTORE)
    serve(knowledge.UPLOAD_PERMISSION)
    serve(curated.SAVE_DRAFT)
    serve(curated.PUBLISH_DRAFT)
    serve(curated.DECLARE_CORPUS)
    serve(curated.UPLOAD_FILE)
    serve(curated.DELETE_FILE)
    serve(bulk.BULK_PERMISSION)
    responders.responder(bulk.PUBLISH_DOCUMENTS, PublishDocuments, BulkPublisher(executor).publish)
