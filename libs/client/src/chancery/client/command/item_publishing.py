"""`item publish`: a draft is saved and published as it is, or one that somebody else saved."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from chancery.client.command.arguments import check_given, given_id
from chancery.client.command.output import WrongUsage, tell, tell_json, tell_progress
from chancery.client.command.server import entering, server_client
from chancery.client.command.settings import load_settings
from chancery.client.command.versions import Described, KnownItem, NewVersion, known_item
from chancery.client.http import Chancery
from chancery.client.knowledge import Draft, Items, PublishedVersion, SavedDraft
from chancery.kernel.canonical import Json, sha256_hex
from chancery.kernel.errors import ChanceryError, NotFound, Rejected

_MAY_PUBLISH: Final = frozenset({"publisher", "admin"})


class NotPublisher(Rejected):
    """The caller's role lets it save drafts and publish none."""

    code = "not_permitted"


class NoSuchDraft(NotFound):
    """There is no such draft of the item, or it is not for the caller."""

    code = "draft_not_found"


@dataclass(frozen=True, slots=True)
class Publishing:
    """What becomes of the draft: whether it is published, even unchanged, even when withdrawn."""

    only_draft: bool = False
    restore: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be meant together."""
        for option, is_given in (("--restore", self.restore), ("--force", self.force)):
            if self.only_draft and is_given:
                message = f"a draft serves nobody; use either --draft or {option}"
                raise WrongUsage(message, field=option)


async def publish_item(
    workspace_id: str, item_id: str, wanted: NewVersion, how: Publishing, *, as_json: bool
) -> None:
    """Save a draft, publish exactly it unless told not to, and wait for its view.

    What serves already is not published again unless that is forced.
    """
    given_id(workspace_id, field="--workspace")
    given_id(item_id, field="item")
    check_given({"--title": wanted.title, "--kind": wanted.kind, "--domain": wanted.domain})
    async with server_client(load_settings()) as client:
        items = client.workspace(workspace_id).items
        with entering(workspace_id):
            if not how.only_draft:
                await _check_role(client, workspace_id)
            known = await known_item(items, item_id)
            before = None if known is None else known.newest
            kept = wanted.kept(before)
            if kept is not None and not as_json:
                tell_progress(kept)
            draft = wanted.draft(item_id, before)
            serving = None if known is None else serving_as(known, draft)
            if serving is not None and not how.only_draft and not how.force:
                await _tell_unchanged(items, item_id, serving, as_json=as_json)
                return
            saved = await items.save_draft(item_id, draft)
        if how.only_draft:
            _tell_draft(item_id, saved, as_json=as_json)
            return
        with _leaving(workspace_id, item_id, saved.draft_id):
            published = await items.publish(item_id, saved, draft.evidence, restore=how.restore)
        await _tell_published(items, item_id, published, as_json=as_json)


async def publish_draft(
    workspace_id: str, item_id: str, draft_id: str, how: Publishing, *, as_json: bool
) -> None:
    """Publish a draft that is there, exactly as it was found; one that moved since is refused.

    Raises:
        NoSuchDraft: the item has none of this id for the caller.
    """
    given_id(workspace_id, field="--workspace")
    given_id(item_id, field="item")
    given_id(draft_id, field="--from-draft")
    async with server_client(load_settings()) as client:
        items = client.workspace(workspace_id).items
        with entering(workspace_id):
            await _check_role(client, workspace_id)
            known = await known_item(items, item_id)
        found = None if known is None else known.draft(draft_id)
        if found is None:
            message = f"{item_id} has no draft {draft_id} for you; `chancery item show` lists them"
            raise NoSuchDraft(message, field="--from-draft")
        if not as_json:
            tell_progress(f"draft {draft_id}  {found.sentence()}")
            tell_progress(f"content {found.content_sha256}")
        published = await items.publish(
            item_id, found.as_saved(), found.rests_on(), restore=how.restore
        )
        await _tell_published(items, item_id, published, as_json=as_json)


def serving_as(known: KnownItem, draft: Draft) -> Described | None:
    """Return the version that serves when it says exactly what the draft does, else None."""
    item = known.item
    serving = known.versions[-1] if known.versions else None
    if serving is None or serving.version != item.version or item.withdrawn:
        return None
    says = (serving.title, serving.kind, serving.domain, tuple(serving.tags), serving.rests_on())
    asked = (draft.title, draft.kind, draft.domain, tuple(draft.tags), list(draft.evidence))
    is_same = says == asked and serving.content_sha256 == sha256_hex(draft.text.encode())
    is_open_alike = draft.visibility in {None, item.visibility}
    is_well = item.state in {"ready", "pending"}
    return serving if is_same and is_open_alike and is_well else None


async def _check_role(client: Chancery, workspace_id: str) -> None:
    """Refuse who may save a draft and publish none, before one is saved.

    Raises:
        NotPublisher: naming the role, and what a publisher can do with a draft.
    """
    roles = {each.workspace_id: each.role for each in await client.workspaces()}
    role = roles.get(workspace_id)
    if role is None or role in _MAY_PUBLISH:
        return
    saving = "; --draft saves a draft, which a publisher publishes with --from-draft"
    message = (
        f"publishing takes the role publisher in {workspace_id}, and yours is {role}: nothing is "
        f"saved{saving if role == 'curator' else ''}"
    )
    raise NotPublisher(message, field="--workspace")


@contextmanager
def _leaving(workspace_id: str, item_id: str, draft_id: str) -> Generator[None]:
    """Say of what is not published that its draft stands."""
    try:
        yield
    except ChanceryError:
        tell_progress(
            f"draft {draft_id} is saved and not published; "
            f"`chancery item publish {item_id} --from-draft {draft_id} -w {workspace_id}` does that"
        )
        raise


async def _tell_unchanged(items: Items, item_id: str, serving: Described, *, as_json: bool) -> None:
    summary = await items.wait_until_ready(item_id)
    if not as_json:
        version = f"{item_id} version {serving.version} is {summary.state}"
        tell(f"{version}, unchanged (--force publishes it again)")
        return
    told: dict[str, Json] = {
        "version": serving.version,
        "version_id": serving.version_id,
        "operation_id": serving.operation_id,
        "content_sha256": serving.content_sha256,
        "sequence": None,
        "changed": False,
        "state": summary.state,
    }
    tell_json(told)


def _tell_draft(item_id: str, saved: SavedDraft, *, as_json: bool) -> None:
    if as_json:
        tell_json(saved.model_dump(mode="json"))
    else:
        tell(f"draft {saved.draft_id} of {item_id}: {saved.content_sha256}")


async def _tell_published(
    items: Items, item_id: str, published: PublishedVersion, *, as_json: bool
) -> None:
    summary = await items.wait_until_ready(item_id)
    if as_json:
        tell_json({**published.model_dump(mode="json"), "state": summary.state})
    else:
        tell(f"{item_id} version {published.version} is {summary.state}")
