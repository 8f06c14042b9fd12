"""The command on corpora: declare one, or replace its declaration."""

from __future__ import annotations

from chancery.authority.names import Change, corpus_ref
from chancery.authority.rights import Actor, require_role
from chancery.authority.states import CorpusState, WorkspaceState
from chancery.events.authority_knowledge import CorpusDeclared, declaration_hash
from chancery.events.commands_knowledge import DeclareCorpus


def decide_declare_corpus(
    actor: Actor,
    workspace: WorkspaceState | None,
    corpus: CorpusState | None,
    command: DeclareCorpus,
) -> tuple[Change, ...]:
    """Declare a corpus; the declaration that holds already changes nothing.

    Whether the declaration says something that can be answered is not decided here: the language
    and its catalogue belong to chancery.evidence.

    Raises:
        NotFound: for a workspace that the actor does not see.
        NotPermitted: unless the actor is a publisher.
    """
    require_role(actor, command.workspace_id, workspace, "publisher")
    sha256 = declaration_hash(
        corpus_id=command.corpus_id,
        model=command.model,
        scope=command.scope,
        title=command.title,
        content=command.content,
        where=command.where,
        binding=command.binding,
    )
    if corpus is not None and corpus.declaration_sha256 == sha256:
        return ()
    declared = CorpusDeclared(
        workspace_id=command.workspace_id,
        corpus_id=command.corpus_id,
        model=command.model,
        scope=command.scope,
        title=command.title,
        content=command.content,
        where=command.where,
        binding=command.binding,
        declarer=actor.principal_id if corpus is None else corpus.declarer,
        declaration_sha256=sha256,
    )
    return (Change(corpus_ref(command.workspace_id, command.corpus_id), declared),)
