"""Builds the scene: everybody publishes, uploads, asks and is answered, and then gets a role."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from pydantic import TypeAdapter

from chancery.client.http import Ask, Chancery
from chancery.client.knowledge import Draft, Evidence
from chancery.client.replies import Credential, SealedAnswer
from chancery.client.workspace import Table, Workspace
from chancery.events.authority import ColumnPolicy, Measure, Role, RowFilter, Visibility
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.ids import random_id
from tests.e2e.leaks.people import CAST, Part, Person, Scene, names_of, word_of

BUILDERS_AT_ONCE = 4
ROLES: tuple[Role, ...] = ("reader", "curator", "publisher", "admin")
_PARTS = TypeAdapter(list[dict[str, object]])


async def build(operator: Chancery) -> Scene:
    """Make two tenants, three workspaces and ten principals with things of their own."""
    tag = random_id().replace("-", "")[:8]
    places = await _places(operator, tag)
    turns = asyncio.Semaphore(BUILDERS_AT_ONCE)

    async def one(part: Part) -> Person:
        async with turns:
            return await _person(places[part.place], part, tag)

    people = await asyncio.gather(*map(one, CAST))
    shared, by_role = await _share(operator, people, tag)
    for each in people:
        if each.part.place == "hall":
            hall = operator.workspace(each.ids["ws"])
            await hall.add_member(each.name, each.part.role)
    return Scene(tag, tuple(people), shared, by_role)


async def invite(operator: Chancery, scene: Scene, number: int) -> Person:
    """Return one more publisher of the hall, who has nothing yet."""
    names, hall = names_of(number, scene.tag), scene.named(10).ids["ws"]
    token = (await operator.issue_credential(names["principal"])).token
    await operator.workspace(hall).add_member(names["principal"], "publisher")
    part = Part(number, "hall", "publisher", "private")
    return Person(part, token, {**names, "ws": hall}, {}, frozenset())


async def _places(operator: Chancery, tag: str) -> dict[str, tuple[Chancery, str, str]]:
    """Return who may let people in where: an administrator, a workspace and a tenant each."""
    tenant = f"t{tag[:6]}"
    root = await operator.issue_credential("root", tenant=tenant)
    abroad = operator.acting_with(root.token)
    # The two tenants have a workspace of the same name.
    hall = f"hall0-{tag}"
    places = {
        "hall": (operator, hall, "default"),
        "annex": (operator, f"annex-{tag}", "default"),
        "attic": (operator, f"attic-{tag}", "default"),
        "abroad": (abroad, hall, tenant),
    }
    for admin, workspace_id, _ in places.values():
        await admin.create_workspace(workspace_id, "A place")
    return {**places, "nowhere": (operator, f"nowhe-{tag}", "default")}


async def _person(place: tuple[Chancery, str, str], part: Part, tag: str) -> Person:
    admin, workspace_id, tenant = place
    names = names_of(part.number, tag)
    credential = await admin.issue_credential(names["principal"])
    client = admin.acting_with(credential.token)
    ids = {**names, "ws": workspace_id, "tenant": tenant, "credential": credential.credential_id}
    if part.place != "nowhere":
        await admin.workspace(workspace_id).add_member(names["principal"], "admin")
    if part.visibility == "restricted":
        await admin.join_group(names["group"], names["principal"])
    return await _Builder(client, part, tag, ids).build(credential)


class _Builder:
    """One principal at work."""

    def __init__(self, client: Chancery, part: Part, tag: str, ids: dict[str, str]) -> None:
        self.client, self.part, self.ids = client, part, ids
        self.word = word_of(part.number, tag)
        self.flavours: dict[str, str] = {}
        self.hashes: set[str] = set()

    def mark(self, where: str) -> str:
        """Return a new word of this principal's and remember where it was planted."""
        self.flavours[where] = f"{self.word}{where}"
        return self.flavours[where]

    async def build(self, credential: Credential) -> Person:
        """Publish, upload, ask; return the person."""
        await self._file()
        if self.part.place != "nowhere":
            desk = self.client.workspace(self.ids["ws"])
            await self._source(desk)
            await asyncio.gather(self._dataset(desk), self._item(desk), self._corpus(desk))
            await self._run(desk)
        random = {self.ids[kind] for kind in ("draft", "file", "run", "conversation", "credential")
                  if kind in self.ids}  # fmt: skip
        marks = frozenset({self.word, *random, *self.hashes})
        return Person(self.part, credential.token, dict(self.ids), dict(self.flavours), marks)

    async def _file(self) -> None:
        data = f"# Notes\n\nThe {self.mark('letter')} pump stands in the hall.\n".encode()
        self.hashes.add(sha256_hex(data))
        uploaded = await self.client.files.upload(
            data, "text/markdown", title=f"Letter {self.mark('name')}"
        )
        self.ids["file"] = uploaded.file_id

    async def _source(self, desk: Workspace) -> None:
        name, visibility = self.ids["source"], self.part.visibility
        await desk.declare_source(name, f"On {self.mark('title')}", visibility=visibility)
        text = f"# Pumps\n\nThe {self.mark('text')} pump stands in the hall of {self.word}.\n"
        self.hashes.add(sha256_hex(text.encode()))
        published = await desk.publish_text(name, text)
        if visibility == "restricted":
            await desk.grant("sources", name, f"group:{self.ids['group']}")
        await desk.wait_until_ready(name, published.revision)

    async def _dataset(self, desk: Workspace) -> None:
        name, column = self.ids["dataset"], self.mark("column")
        csv = f"id,amount,{column}\n1,1250,{self.mark('cell')}\n".encode()
        self.hashes.add(sha256_hex(csv))
        measure = Measure(name=f"total {self.mark('measure')}", aggregate="sum", column="amount")
        title = f"Rows of {self.mark('rows')}"
        table = Table(title=title, visibility=self.part.visibility, measures=(measure,))
        await desk.declare_dataset(name, table)
        await desk.publish_snapshot(name, csv)

    async def _item(self, desk: Workspace) -> None:
        name, items = self.ids["item"], desk.items
        evidence = (Evidence("source", self.ids["source"], 1),)
        body = f"# Item\n\nThe {self.mark('body')} pump stands in the hall.\n"
        # What rests on restricted evidence is hidden by that alone.
        visibility: Visibility = "private" if self.part.visibility == "private" else "workspace"
        first = Draft(title=f"Item {self.mark('item')}", text=body, evidence=evidence,
                      kind=self.mark("kind"), domain=self.mark("domain"), tags=(self.mark("tag"),),
                      visibility=visibility)  # fmt: skip
        saved = await items.save_draft(name, first)
        self.hashes |= {saved.content_sha256, saved.evidence_sha256}
        await items.publish(name, saved, evidence)
        later = Draft(title=f"Item {self.mark('draft')}", text=f"{self.word} draft\n")
        self.ids["draft"] = (await items.save_draft(name, later)).draft_id
        await items.wait_until_ready(name)
        manifest = await items.manifest(name, 1)
        self.ids["part"] = str(_PARTS.validate_python(manifest["parts"])[0]["part_id"])

    async def _corpus(self, desk: Workspace) -> None:
        name = self.ids["corpus"]
        line = (
            "model=Revision scope=parent.parent title=title content=body,document where=live(row)"
        )
        await desk.corpora.declare(name, f"corpus {name} {line} from=deployment.knowledge")

    async def _run(self, desk: Workspace) -> None:
        conversation = await desk.open_conversation()
        asked = Ask(question="Where does the pump stand?", sources=[self.ids["source"]])
        posted = await self.client.post_message(conversation, asked)
        answer = await self.client.answer(await self.client.wait(posted.run_id))
        assert isinstance(answer, SealedAnswer), answer
        assert self.word in answer.text
        self.ids |= {"conversation": conversation, "run": posted.run_id}


async def _share(
    operator: Chancery, people: list[Person], tag: str
) -> tuple[str, Mapping[Role, frozenset[str]]]:
    """Publish one table for the whole hall, of which each role sees a row of its own."""
    admin = next(each for each in people if each.part.role == "admin")
    desk = operator.acting_with(admin.token).workspace(admin.ids["ws"])
    words = {role: f"vey{role}{tag}" for role in ROLES}
    filters = tuple(RowFilter(roles=(role,), column="region", allowed=(role,)) for role in ROLES)
    hidden, measure = f"veycolumn{tag}", f"veymeasure{tag}"
    table = Table(
        title="Shared rows",
        columns={hidden: ColumnPolicy(roles=("admin",))},
        row_filters=filters,
        measures=(
            Measure(name="total amount", aggregate="sum", column="amount"),
            Measure(name=f"total {measure}", aggregate="sum", column=hidden),
        ),
    )
    lines = [f"{role},{words[role]},10,1" for role in ROLES]
    name = f"shared{tag}"
    await desk.declare_dataset(name, table)
    csv = "\n".join([f"region,name,amount,{hidden}", *lines, ""]).encode()
    await desk.publish_snapshot(name, csv)
    marks: dict[Role, frozenset[str]] = {role: frozenset({words[role]}) for role in ROLES}
    marks["admin"] |= {hidden, measure}
    return name, marks
