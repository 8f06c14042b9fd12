"""Every content byte is a disclosure: today's state decides, the sealed bytes come whole or not."""

from __future__ import annotations

import pytest

from chancery.authority.names import principal_ref, source_ref
from chancery.bus.publish import Outgoing, publish_message
from chancery.events.authority import CredentialRevoked, MemberRemoved, SourceGranted
from chancery.events.commands import CreateConversation
from chancery.events.queries import (
    Document,
    OfConversation,
    OfResource,
    OfWorkspace,
    PinnedRevision,
    ResourceList,
    ResourceView,
)
from chancery.events.topology import command_subject, query_subject
from chancery.evidence.texts import withheld_notice
from chancery.kernel.errors import Denied, NotFound
from chancery.kernel.ids import random_id
from tests.integration.release.world import TENANT, WORKSPACE, World, event_of, parse

pytestmark = pytest.mark.integration

TEXT = "Service reviews are owned by Mara Lindt.\n"
QUOTE = "Service reviews are owned by Mara Lindt."
SECRETS = ("Mara", "handbook", "Title of")


async def sealed_run(world: World) -> str:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.answer_with((source, QUOTE))
    assert (await world.ended(run_id)).status == "sealed"
    return run_id


@pytest.mark.req("CL-12", "CL-13")
async def test_a_withdrawn_source_withholds_every_route(world: World) -> None:
    run_id = await sealed_run(world)
    before = {
        noun: (await world.document(noun, run_id)).json_text
        for noun in ("answer", "audit", "bundle")
    }
    await world.withdraw("handbook")

    for noun, earlier in before.items():
        document = await world.document(noun, run_id)
        assert document.status == "withheld"
        assert parse(document.json_text) == {
            "run_id": run_id,
            "generation": 1,
            "status": "withheld",
            "explanation": withheld_notice("en"),
        }
        assert any(secret in earlier for secret in SECRETS)
    rows = await world.rows(run_id)
    assert [row.event for row in rows.rows][-2:] == ["withheld", "end"]
    assert not any(secret in row.data for row in rows.rows for secret in SECRETS)
    view = parse((await world.document("run", run_id)).json_text)
    assert (view["coverage"], view["answer"]) == (None, None)


@pytest.mark.req("CL-13")
async def test_a_superseded_source_withholds_and_an_unrelated_one_is_told_beside(
    world: World,
) -> None:
    run_id = await sealed_run(world)
    first = await world.document("answer", run_id)
    await world.publish_source("unrelated", "Lunch is at noon.\n")

    second = await world.document("answer", run_id)
    await world.publish_source("handbook", TEXT + "More.\n")
    third = await world.document("answer", run_id)

    assert (first.status, first.superseded) == ("sealed", False)
    assert (second.status, second.superseded) == ("sealed", True)
    assert second.json_text == first.json_text
    assert third.status == "withheld"


async def test_what_a_reader_cannot_see_does_not_show_as_superseding(world: World) -> None:
    run_id = await sealed_run(world)
    await world.publish_source(
        "other", "Nobody sees this.\n", visibility="private", declarer="bert"
    )

    document = await world.document("answer", run_id)

    assert (document.status, document.superseded) == ("sealed", False)


@pytest.mark.req("CL-12")
async def test_a_lost_membership_withholds_and_a_regained_one_shows_the_same_bytes(
    world: World,
) -> None:
    run_id = await sealed_run(world)
    first = await world.document("answer", run_id)
    await world.append(principal_ref("anna"), MemberRemoved(workspace_id=WORKSPACE))

    assert (await world.document("answer", run_id)).status == "withheld"

    await world.enroll("anna")
    assert await world.document("answer", run_id) == first


@pytest.mark.req("CL-12")
async def test_only_the_one_who_asked_may_read_and_others_learn_nothing(world: World) -> None:
    run_id = await sealed_run(world)
    told: list[tuple[str, str]] = []
    for wanted in (run_id, random_id()):
        with pytest.raises(NotFound) as refused:
            await world.document("answer", wanted, who="bert")
        told.append((refused.value.code, refused.value.detail))

    assert told[0] == told[1]
    assert (await world.document("answer", run_id, who="anna")).status == "sealed"


async def test_a_revoked_credential_reads_nothing(world: World) -> None:
    run_id = await sealed_run(world)
    await world.append(principal_ref("anna"), CredentialRevoked(credential_id="c-anna"))

    with pytest.raises(Denied) as refused:
        await world.document("answer", run_id)

    assert refused.value.code == "credential_revoked"


async def test_an_event_of_a_newer_version_withholds_until_it_can_be_read(world: World) -> None:
    run_id = await sealed_run(world)
    ref = source_ref(WORKSPACE, "handbook")
    event = event_of(SourceGranted(grantee="bert"), subject=ref.id)
    payload = event.envelope.model_dump_json(exclude_none=True).replace(".v1", ".v9")
    newer = Outgoing(
        subject=ref.subject(TENANT),
        payload=f'{payload[:-1]},"data":{{}}}}'.encode(),
        message_id=event.id,
    )

    await publish_message(world.bus, newer)

    assert (await world.document("answer", run_id)).status == "withheld"
    await world.publish_source("fresh", TEXT)
    asked = await world.admitted(await world.ask())
    scope = await world.scope(asked)
    assert [entry.id for entry in scope.entries] == ["fresh"]


async def test_a_place_ahead_of_the_run_restarts_at_its_beginning(world: World) -> None:
    run_id = await sealed_run(world)
    rows = await world.rows(run_id)

    assert (await world.rows(run_id, after=99)) == rows
    assert [row.number for row in (await world.rows(run_id, after=4)).rows] == [5, 6]
    assert (await world.rows(run_id, after=6)).ended


async def test_an_unreadable_and_an_unknown_source_are_the_same(world: World) -> None:
    await world.publish_source("secret", TEXT, visibility="private")
    await world.publish_source("open", TEXT)
    subject = query_subject("release", "source")
    told: list[str] = []
    for name in ("secret", "nowhere"):
        body = OfResource(workspace_id=WORKSPACE, kind="source", resource_id=name)
        with pytest.raises(NotFound) as refused:
            await world.request(subject, body, ResourceView, who="bert")
        told.append(refused.value.detail)

    listed = await world.request(
        query_subject("release", "sources"),
        OfWorkspace(workspace_id=WORKSPACE),
        ResourceList,
        who="bert",
    )

    assert told[0] == told[1]
    assert [each.id for each in listed.resources] == ["open"]


async def test_a_revision_is_pinned_while_it_serves_and_has_no_text_once_withdrawn(
    world: World,
) -> None:
    source = await world.publish_source("handbook", TEXT)
    subject = query_subject("release", "authorise")
    body = OfResource(workspace_id=WORKSPACE, kind="source", resource_id="handbook")
    pinned = await world.request(subject, body, PinnedRevision)

    await world.withdraw("handbook")

    later = await world.request(subject, body, PinnedRevision)
    assert pinned.state == "ready"
    assert pinned.extraction_sha256 == source.manifest.extraction_sha256
    assert (later.state, later.reason, later.extraction_sha256) == ("excluded", "withdrawn", None)


async def test_a_conversation_is_its_owners_alone(world: World) -> None:
    await world.publish_source("handbook", TEXT)
    conversation = await world.converse()
    requested = await world.post(conversation=conversation)
    subject = query_subject("release", "conversation")
    body = OfConversation(conversation_id=conversation)

    own = await world.request(subject, body, Document)
    with pytest.raises(NotFound):
        await world.request(subject, body, Document, who="bert")

    messages = parse(own.json_text)["messages"]
    assert isinstance(messages, list)
    assert isinstance(messages[0], dict)
    assert messages[0]["run_id"] == requested.run_id


async def test_a_stranger_cannot_open_a_conversation_or_learn_of_the_workspace(
    world: World,
) -> None:
    await world.append(principal_ref("bert"), MemberRemoved(workspace_id=WORKSPACE))
    told: list[str] = []
    for name in (WORKSPACE, "nowhere"):
        with pytest.raises(NotFound) as refused:
            await world.request(
                command_subject("release", "create-conversation"),
                CreateConversation(workspace_id=name),
                Document,
                who="bert",
            )
        told.append(refused.value.detail)

    assert told[0] == told[1]
