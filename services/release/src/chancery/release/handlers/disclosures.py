"""The documents of a run: its view, answer, audit and bundle, and the caller's conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from chancery.authority.names import workspace_ref
from chancery.events.queries import Document, OfConversation, OfRun
from chancery.events.requests import Request
from chancery.evidence.documents import withheld_document
from chancery.kernel.canonical import Json, canonical_bytes
from chancery.kernel.clock import to_text
from chancery.kernel.errors import NotFound
from chancery.release.domain.audits import audit_document, open_audit
from chancery.release.domain.views import run_view
from chancery.release.handlers.bundles import Bundles
from chancery.release.handlers.disclosing import Discloser, Disclosure
from chancery.release.handlers.gate import not_found, require_member
from chancery.release.ports.stores import ConversationStore

Status: TypeAlias = Literal["open", "sealed", "refused", "withheld"]


@dataclass(frozen=True, slots=True)
class Disclosures:
    """Handlers of the queries that answer with a document."""

    discloser: Discloser
    conversations: ConversationStore
    bundles: Bundles

    async def run(self, request: Request[OfRun]) -> Document:
        """Show how far a run is; withheld evidence shows no coverage and no answer."""
        found = await self.discloser.look(request.caller, request.body.run_id)
        return Document(status=_status(found), json_text=_text(_view(found)))

    async def answer(self, request: Request[OfRun]) -> Document:
        """Show the sealed bytes whole, the withheld notice, or the run while it is open."""
        found = await self.discloser.look(request.caller, request.body.run_id, with_later=True)
        if found.release is None:
            return Document(status="open", json_text=_text(_view(found)))
        if found.is_withheld:
            return _withheld(found)
        contents = await self.discloser.releases.contents(found.release, "document")
        return Document(
            status=_status(found),
            json_text=contents["document"].decode(),
            superseded=found.is_superseded,
        )

    async def audit(self, request: Request[OfRun]) -> Document:
        """Show what was recorded, each on its own, and what is available now."""
        found = await self.discloser.look(request.caller, request.body.run_id)
        if found.release is None:
            return Document(status="open", json_text=_text(open_audit(found.run)))
        if found.is_withheld:
            return _withheld(found)
        document = audit_document(
            found.run,
            found.release.parsed_receipt(),
            found.request.pinned,
            found.visitor.snapshot,
            signature=found.release.signature.hex(),
        )
        return Document(status=_status(found), json_text=_text(document))

    async def bundle(self, request: Request[OfRun]) -> Document:
        """Hand out the release with everything that can be checked offline."""
        found = await self.discloser.look(request.caller, request.body.run_id)
        if found.release is None:
            return Document(status="open", json_text=_text(_view(found)))
        if found.is_withheld:
            return _withheld(found)
        bundle = await self.bundles.build(found.release)
        return Document(status=_status(found), json_text=bundle.to_bytes().decode())

    async def conversation(self, request: Request[OfConversation]) -> Document:
        """Show the caller's own questions and where their runs stand."""
        caller, conversation_id = request.caller, request.body.conversation_id
        found = await self.conversations.read(caller.tenant, conversation_id)
        own = found is not None and found.principal == caller.principal
        refs = (workspace_ref(found.workspace_id),) if found is not None and own else ()
        visitor = await self.discloser.gate.enter(caller, refs)
        if found is None or not own:
            raise not_found("conversation")
        try:
            require_member(visitor, found.workspace_id)
        except NotFound as error:
            raise not_found("conversation") from error
        asked = await self.conversations.messages(caller.tenant, conversation_id)
        messages: Json = [
            {
                "message": each.number,
                "message_id": each.message_id,
                "run_id": each.run_id,
                "state": each.state,
                "generation": each.generation,
                "requested_at": to_text(each.requested_at),
            }
            for each in asked
        ]
        document: Mapping[str, Json] = {
            "conversation_id": conversation_id,
            "workspace_id": found.workspace_id,
            "created_at": to_text(found.created_at),
            "messages": messages,
        }
        return Document(status="open", json_text=_text(document))


def withheld_of(found: Disclosure) -> Mapping[str, Json]:
    """Return the notice in the place of a release that may not be shown."""
    assert found.release is not None
    return withheld_document(found.run.run_id, found.run.generation, found.release.language)


def _withheld(found: Disclosure) -> Document:
    return Document(status="withheld", json_text=_text(withheld_of(found)))


def _view(found: Disclosure) -> Mapping[str, Json]:
    if found.release is None or found.is_withheld:
        return run_view(found.run)
    receipt = found.release.parsed_receipt()
    return run_view(
        found.run,
        coverage=receipt.core.coverage,
        is_answered=found.release.outcome is None,
    )


def _status(found: Disclosure) -> Status:
    if found.release is None:
        return "open"
    if found.is_withheld:
        return "withheld"
    return "sealed" if found.release.outcome is None else "refused"


def _text(document: Mapping[str, Json]) -> str:
    return canonical_bytes(document).decode()
