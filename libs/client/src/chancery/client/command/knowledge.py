"""The commands about curated items, private files and corpora; each is a call or two."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from chancery.client.command.options import AsJson, WorkspaceName, whole
from chancery.client.command.output import speaking
from chancery.events.authority import Visibility

ItemId = Annotated[str, typer.Argument(help="The id of the item.")]
CorpusId = Annotated[str, typer.Argument(help="The id of the corpus.")]
PairSource = Annotated[str, typer.Argument(metavar="SOURCE", help="What the request is about.")]
PairRevision = Annotated[
    int, typer.Argument(metavar="REVISION", parser=whole(1), help="Its revision.")
]

TextPath = Annotated[
    Path | None, typer.Argument(metavar="PATH", help="Its whole text; - reads standard input.")
]
FromDraft = Annotated[
    str | None,
    typer.Option(metavar="DRAFT", help="Publish this draft as it is, whoever saved it."),
]
ItemTitle = Annotated[str | None, typer.Option(help="Its title (a new item: its id).")]
ItemKind = Annotated[str | None, typer.Option(help="What it is (a new item: article).")]
ItemDomain = Annotated[str | None, typer.Option(help="What it is about (a new item: general).")]
ItemTags = Annotated[list[str] | None, typer.Option(help="A tag (repeatable); replaces all tags.")]
NoTags = Annotated[bool, typer.Option("--no-tags", help="Without tags.")]
ItemEvidence = Annotated[
    list[str] | None,
    typer.Option(help="What it rests on: source:ID:REVISION or dataset:ID:SNAPSHOT."),
]
NoEvidence = Annotated[bool, typer.Option("--no-evidence", help="It rests on nothing any more.")]
WhoReads = Annotated[
    Visibility | None, typer.Option(help="Who may read it (an item keeps what it has).")
]
OnlyDraft = Annotated[bool, typer.Option("--draft", help="Only save a draft.")]
Restore = Annotated[
    bool, typer.Option("--restore", help="Let it serve again when it was withdrawn.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Make a new version of what serves unchanged.")
]

item = typer.Typer(help="Curated items.", no_args_is_help=True)
file = typer.Typer(help="Your private files.", no_args_is_help=True)
corpus = typer.Typer(help="Corpora: declared once, asked by request pairs.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.add_typer(item, name="item")
    app.add_typer(file, name="file")
    app.add_typer(corpus, name="corpus")


@item.command("publish")
def item_publish(
    item_id: ItemId,
    path: TextPath = None,
    *,
    workspace: WorkspaceName,
    from_draft: FromDraft = None,
    title: ItemTitle = None,
    kind: ItemKind = None,
    domain: ItemDomain = None,
    tag: ItemTags = None,
    no_tags: NoTags = False,
    evidence: ItemEvidence = None,
    no_evidence: NoEvidence = False,
    visibility: WhoReads = None,
    draft: OnlyDraft = False,
    restore: Restore = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Save a draft of an item and publish exactly that; with --draft, only save it.

    What is left out stays as the newest version has it, and what serves already is not published
    again. With --from-draft nothing is saved: the draft is published with its text and evidence.
    """
    from chancery.client.command import curating, item_publishing
    from chancery.client.command.versions import NewVersion

    with speaking(as_json=as_json):
        how = item_publishing.Publishing(only_draft=draft, restore=restore, force=force)
        if from_draft is not None:
            said = (path, title, kind, domain, tag, evidence, visibility)
            is_said = any(each is not None for each in said) or no_tags or no_evidence
            curating.check_draft_alone(is_said=is_said or draft or force)
            publishing = item_publishing.publish_draft
            asyncio.run(publishing(workspace, item_id, from_draft, how, as_json=as_json))
            return
        wanted = NewVersion(
            evidence=curating.chosen_evidence(evidence, is_none=no_evidence),
            tags=curating.chosen_tags(tag, is_none=no_tags),
            text=curating.text_of(path),
            title=title,
            kind=kind,
            domain=domain,
            visibility=visibility,
        )
        asyncio.run(item_publishing.publish_item(workspace, item_id, wanted, how, as_json=as_json))


@item.command("list")
def item_list(*, workspace: WorkspaceName, as_json: AsJson = False) -> None:
    """List the items that you may read."""
    from chancery.client.command.curating import list_items

    with speaking(as_json=as_json):
        asyncio.run(list_items(workspace, as_json=as_json))


@item.command("show")
def item_show(
    item_id: ItemId,
    *,
    workspace: WorkspaceName,
    version: Annotated[
        int | None,
        typer.Option(
            parser=whole(1), metavar="INTEGER", help="Print this version's text, not the item."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print an item with its versions, or the text of one version."""
    from chancery.client.command.curating import show_item

    with speaking(as_json=as_json):
        asyncio.run(show_item(workspace, item_id, version, as_json=as_json))


@item.command("withdraw")
def item_withdraw(item_id: ItemId, *, workspace: WorkspaceName, as_json: AsJson = False) -> None:
    """Stop an item from serving; answers that used it are withheld."""
    from chancery.client.command.curating import withdraw_item

    with speaking(as_json=as_json):
        asyncio.run(withdraw_item(workspace, item_id, as_json=as_json))


@file.command("add")
def file_add(
    path: Annotated[Path, typer.Argument(help="A document.")],
    *,
    title: Annotated[str | None, typer.Option(help="Its title (default: its name).")] = None,
    as_json: AsJson = False,
) -> None:
    """Keep a document that only you can ask, and wait until you can; prints its id."""
    from chancery.client.command.curating import add_file

    with speaking(as_json=as_json):
        raise typer.Exit(asyncio.run(add_file(path, title, as_json=as_json)))


@file.command("list")
def file_list(*, as_json: AsJson = False) -> None:
    """List your files."""
    from chancery.client.command.curating import list_files

    with speaking(as_json=as_json):
        asyncio.run(list_files(as_json=as_json))


@file.command("remove")
def file_remove(
    file_id: Annotated[str, typer.Argument(help="The id of the file.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Delete a file for good; answers that used it are withheld."""
    from chancery.client.command.curating import remove_file

    with speaking(as_json=as_json):
        asyncio.run(remove_file(file_id, as_json=as_json))


@corpus.command("declare")
def corpus_declare(
    path: Annotated[Path, typer.Argument(help="A declaration, YAML or one line; - reads input.")],
    *,
    workspace: WorkspaceName,
    as_json: AsJson = False,
) -> None:
    """Declare a corpus; its name stands in the declaration."""
    from chancery.client.command.corpus_calls import declare_corpus

    with speaking(as_json=as_json):
        asyncio.run(declare_corpus(workspace, path, as_json=as_json))


@corpus.command("show")
def corpus_show(corpus_id: CorpusId, *, workspace: WorkspaceName, as_json: AsJson = False) -> None:
    """Print the declaration of a corpus on one line."""
    from chancery.client.command.corpus_calls import show_corpus

    with speaking(as_json=as_json):
        asyncio.run(show_corpus(workspace, corpus_id, as_json=as_json))


@corpus.command("ask")
def corpus_ask(
    corpus_id: CorpusId,
    source: PairSource,
    revision: PairRevision,
    question: Annotated[list[str], typer.Argument(help="The question.")],
    *,
    workspace: WorkspaceName,
    profile: Annotated[str, typer.Option(help="Names who asks for what.")] = "default",
    policy_revision: Annotated[
        str | None, typer.Option(help="The policy's revision (default: the current one).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a corpus and print the sealed answer; the same pair again prints the same answer."""
    from chancery.client.command.corpus_calls import Asking, ask_corpus

    with speaking(as_json=as_json):
        asking = Asking(corpus_id, source, revision, " ".join(question), profile, policy_revision)
        raise typer.Exit(asyncio.run(ask_corpus(workspace, asking, as_json=as_json)))


@corpus.command("status")
def corpus_status(
    corpus_id: CorpusId,
    source: PairSource,
    revision: PairRevision,
    *,
    workspace: WorkspaceName,
    as_json: AsJson = False,
) -> None:
    """Print the index state of a revision of the corpus."""
    from chancery.client.command.corpus_calls import tell_status

    with speaking(as_json=as_json):
        asyncio.run(tell_status(workspace, corpus_id, source, revision, as_json=as_json))


@corpus.command("refresh")
def corpus_refresh(
    corpus_id: CorpusId,
    source: PairSource,
    revision: PairRevision,
    *,
    workspace: WorkspaceName,
    as_json: AsJson = False,
) -> None:
    """Have an eligible revision indexed again, at most once in a minute."""
    from chancery.client.command.corpus_calls import refresh_record

    with speaking(as_json=as_json):
        asyncio.run(refresh_record(workspace, corpus_id, source, revision, as_json=as_json))


@corpus.command("cancel")
def corpus_cancel(
    corpus_id: CorpusId,
    source: PairSource,
    revision: PairRevision,
    *,
    workspace: WorkspaceName,
    as_json: AsJson = False,
) -> None:
    """Give a request up and print the state of its run."""
    from chancery.client.command.corpus_calls import cancel_request

    with speaking(as_json=as_json):
        asyncio.run(cancel_request(workspace, corpus_id, source, revision, as_json=as_json))


@corpus.command("reconcile")
def corpus_reconcile(
    corpus_id: CorpusId,
    source: PairSource,
    revision: PairRevision,
    *,
    workspace: WorkspaceName,
    as_json: AsJson = False,
) -> None:
    """Bring an uncertain request to its end and print the state of its run."""
    from chancery.client.command.corpus_calls import reconcile_request

    with speaking(as_json=as_json):
        asyncio.run(reconcile_request(workspace, corpus_id, source, revision, as_json=as_json))


@corpus.command("available")
def corpus_available(
    corpus_id: CorpusId,
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run that was answered.")],
    *,
    workspace: WorkspaceName,
    as_json: AsJson = False,
) -> None:
    """Tell whether an answer could be shown now: exit code 0 if so, else 1; 3 if unknown."""
    from chancery.client.command.corpus_calls import tell_availability

    with speaking(as_json=as_json):
        telling = tell_availability(workspace, corpus_id, run_id, as_json=as_json)
        raise typer.Exit(asyncio.run(telling))
