"""The index state that a revision should have, and the events that bring it there.

A revision's canonical form is made under an extractor's identity. For a document that is the
extractor of its media type. For a snapshot it is `csv/2+<types>.<measures>` (or `parquet/2`,
`xlsx/2`), with hashes over what the publisher declares of column types, and of measures and the
columns that policy names: declaring other ones makes another identity, so another
`revision-extracted`, and the manifest named by the newest `revision-ready` is in force. Until
then the snapshot is pending: a measure that was redefined is not answered by its old definition.
Other measures alone keep the Parquet and make new cards for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Final, Literal, TypeAlias

from chancery.events.envelope import EventData
from chancery.events.index import (
    RevisionExcluded,
    RevisionExtracted,
    RevisionFailed,
    RevisionPending,
    RevisionReady,
    RevisionUnavailable,
)
from chancery.extract.extraction import extractor_of
from chancery.extract.media import IMAGE_TYPES, bare
from chancery.indexing.domain.attempts import attempt_of, next_attempt
from chancery.indexing.domain.history import Declaration, History, Publication, ResourceRef
from chancery.kernel.canonical import Json, canonical_hash
from chancery.kernel.errors import ChanceryError, Rejected
from chancery.kernel.ids import derived_id
from chancery.tabular.formats import format_of

State: TypeAlias = Literal["pending", "ready", "failed", "excluded", "unavailable"]

SNAPSHOT_VERSION = "2"
"""The version of the conversions to Parquet; their identity is `csv/2`, `parquet/2` or `xlsx/2`,
with the hashes of the declaration appended. It is raised whenever the same bytes give another file:
where the Parquet of an earlier version is lost, today's would else be another one than the pinned.
"""

FIELD_CHARACTERS_MAX = 200

NO_EXTRACTOR = "none/1"
"""The identity under which a media type that nothing reads fails."""


NO_TEXT = "no_text"
"""Why an image is excluded."""

Loss: TypeAlias = Literal["extraction_missing", "extraction_differs"]

LOST: Final = "extraction_missing"
"""Why a revision is unavailable: its canonical form was made, is gone, and cannot be made again."""

DIFFERS: Final = "extraction_differs"
"""The same, and what is made of the published bytes today is another form than the one pinned."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The canonical form of a revision: two blobs and their length (code points, or rows)."""

    extraction_sha256: str
    manifest_sha256: str
    length: int


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no canonical form: a stable code, and what to change where that is known.

    `attempt` counts the tries that came to a failure that passes; None is one that stays.
    """

    reason: str
    field: str | None = dataclass_field(default=None, compare=False)
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of extracting a revision under one extractor identity.

    `made_of` is what was taken for the publication, where that was not the log's own word.
    """

    extractor: str
    result: Extracted | Failed
    made_of: Publication | None = dataclass_field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Standing:
    """An index state as published; `manifest_sha256` is of ready, `reason` of the others.

    `attempt` is the one that a pending revision waits for, or the last one of a failed one.
    """

    state: State
    reason: str | None = None
    manifest_sha256: str | None = None
    field: str | None = dataclass_field(default=None, compare=False)
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """One canonical form of one revision, as an extractor made it."""

    ref: ResourceRef
    revision: int
    extractor: str
    extracted: Extracted


@dataclass(frozen=True, slots=True)
class Verdict:
    """What looking for a form came to: why it is unavailable, None when it is there.

    It is about that form alone, whatever serves by the time it is told.
    """

    form: Form
    loss: Loss | None


@dataclass(frozen=True, slots=True)
class Revision:
    """A published revision with what came of it and what was last said about it.

    `verdict` is what looking for its form came to, None that nobody looked: then what was last said
    of it still holds. It is not kept.
    """

    publication: Publication
    outcome: Outcome | None = None
    standing: Standing | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One event to append, with the id that makes a repetition recognisable."""

    event_id: str
    data: EventData


def wanted_extractor(ref: ResourceRef, history: History, publication: Publication) -> str:
    """Return the identity under which the revision has to be extracted now."""
    try:
        if ref.kind == "dataset":
            return snapshot_extractor(history.declaration, publication.media_type)
        return extractor_of(publication.media_type)
    except Rejected:
        return NO_EXTRACTOR


def is_image(ref: ResourceRef, publication: Publication) -> bool:
    """Tell whether the revision is an image: kept by its checksum, never evidence."""
    return ref.kind != "dataset" and bare(publication.media_type) in IMAGE_TYPES


def snapshot_extractor(declaration: Declaration, media_type: str = "text/csv") -> str:
    """Return the identity of a conversion under `declaration`.

    Raises:
        Rejected: for a media type that does not become a snapshot.
    """
    types = canonical_hash(declaration.column_types)
    named: list[Json] = [each.model_dump(mode="json") for each in declaration.measures]
    measures = canonical_hash([*named, *declaration.policy_columns])
    return f"{format_of(media_type)}/{SNAPSHOT_VERSION}+{types[:16]}.{measures[:16]}"


def has_same_rows(one: str, other: str) -> bool:
    """Tell whether two identities of snapshots differ at most in their measures."""
    return one.partition(".")[0] == other.partition(".")[0]


def standing_of(ref: ResourceRef, history: History, revision: Revision) -> Standing:
    """Return the index state that the revision should have, as of `history`."""
    number = revision.publication.revision
    if history.withdrawn:
        return Standing("excluded", "withdrawn")
    if number != history.serving:
        return Standing("excluded", "superseded")
    if is_image(ref, revision.publication):
        return Standing("excluded", NO_TEXT)
    outcome = revision.outcome
    if outcome is None or outcome.extractor != wanted_extractor(ref, history, revision.publication):
        return Standing("pending")
    match outcome.result:
        case Failed(reason, at, attempt):
            awaited = next_attempt(attempt)
            if awaited is not None:
                return Standing("pending", reason, attempt=awaited)
            return Standing("failed", reason, field=at, attempt=attempt)
        case Extracted():
            loss = _loss(ref, revision)
            if loss is not None:
                return Standing("unavailable", loss)
            return Standing("ready", manifest_sha256=outcome.result.manifest_sha256)


def form_in_force(ref: ResourceRef, history: History, revision: Revision) -> Form | None:
    """Return the canonical form that a revision serves by, or None when it serves by none."""
    form = form_of(ref, revision)
    if history.withdrawn or revision.publication.revision != history.serving or form is None:
        return None
    wanted = wanted_extractor(ref, history, revision.publication)
    return form if form.extractor == wanted else None


def form_of(ref: ResourceRef, revision: Revision) -> Form | None:
    """Return the canonical form that was made of a revision last, or None when there is none."""
    outcome = revision.outcome
    if outcome is None or not isinstance(outcome.result, Extracted):
        return None
    return Form(ref, revision.publication.revision, outcome.extractor, outcome.result)


def needs_extraction(ref: ResourceRef, history: History, revision: Revision) -> bool:
    """Tell whether the revision has work to do; a withdrawn resource is not touched.

    A superseded revision is extracted once, so that its text can still be cited and read.
    """
    if history.withdrawn or is_image(ref, revision.publication):
        return False
    if revision.outcome is None:
        return True
    serves = revision.publication.revision == history.serving
    wanted = wanted_extractor(ref, history, revision.publication)
    return serves and revision.outcome.extractor != wanted


def failed(ref: ResourceRef, revision: Revision, extractor: str, error: ChanceryError) -> Failed:
    """Return the failure of extracting the revision under this identity once more."""
    known = revision.outcome
    before = None
    if known is not None and known.extractor == extractor and isinstance(known.result, Failed):
        before = known.result.attempt
    at = None if error.field is None else error.field[:FIELD_CHARACTERS_MAX]
    return Failed(error.code, at, attempt_of(ref, error.code, before))


def awaits_attempt(ref: ResourceRef, history: History, revision: Revision) -> bool:
    """Tell whether the revision that serves failed for a reason that passes, and is tried again.

    What an earlier build failed so counted no attempts: it is tried as if it were the first time.
    """
    outcome = revision.outcome
    if outcome is None or not isinstance(outcome.result, Failed):
        return False
    serves = not history.withdrawn and revision.publication.revision == history.serving
    found = outcome.result
    attempt = attempt_of(ref, found.reason, found.attempt and found.attempt - 1)
    return serves and next_attempt(attempt) is not None


def next_step(
    ref: ResourceRef, history: History, revision: Revision, *, after: int = 0
) -> Step | None:
    """Return the event that says what the revision's state has become, or None if it was said.

    `after` is the end of the INDEX subject: a form can be lost and found while nothing happens to
    the resource, so that only the place tells one time from another.

    A revision that was superseded before anything was said of it moves from excluded to excluded
    when the resource is withdrawn; only a changed state is worth an event, or that it has no text
    (an image that was withdrawn serves again, and would else seem to be pending).
    """
    wanted = standing_of(ref, history, revision)
    said = revision.standing
    stays_out = said is not None and said.state == wanted.state == "excluded"
    if wanted == said or (stays_out and wanted.reason != NO_TEXT):
        return None
    event_id = derived_id(
        "index", *_names(ref, revision), wanted.state, wanted.reason or "",
        wanted.manifest_sha256 or "", str(history.changed), *_turn(wanted, said, after),
        *(() if wanted.attempt is None else (f"attempt {wanted.attempt}",)),
    )  # fmt: skip
    return Step(event_id, _announcement(ref, history, revision, wanted))


def renewed_step(
    ref: ResourceRef, history: History, revision: Revision, request_id: str
) -> Step | None:
    """Return the event that says once more that the revision is ready, or None when it is not."""
    wanted = standing_of(ref, history, revision)
    if wanted.state != "ready" or wanted != revision.standing:
        return None
    event_id = derived_id("index", *_names(ref, revision), "renewed", request_id)
    return Step(event_id, _announcement(ref, history, revision, wanted))


def extracted_step(
    ref: ResourceRef, history: History, revision: Revision, *, after: int | None = None
) -> Step | None:
    """Return the event that publishes the revision's canonical form, or None when it has none.

    The id of the first one depends on the extractor alone, not on when it is said: it wins. Where
    there was another outcome before, `after` is the end of the INDEX subject: a declaration that is
    changed back is extracted under an identity that stands there already.
    """
    outcome = revision.outcome
    if outcome is None or isinstance(outcome.result, Failed):
        return None
    data = RevisionExtracted(
        workspace_id=history.workspace_id,
        kind=ref.kind,
        key=ref.key,
        revision=revision.publication.revision,
        content_sha256=revision.publication.content_sha256,
        authority_sequence=revision.publication.sequence,
        extraction_sha256=outcome.result.extraction_sha256,
        manifest_sha256=outcome.result.manifest_sha256,
        extractor=outcome.extractor,
        length=outcome.result.length,
    )
    turn = () if after is None else (str(after),)
    names = (*_names(ref, revision), "extracted", outcome.extractor, *turn)
    return Step(derived_id("index", *names), data)


def outcome_of(data: RevisionExtracted) -> Outcome:
    """Return the outcome that a published extraction tells of."""
    result = Extracted(data.extraction_sha256, data.manifest_sha256, data.length)
    return Outcome(data.extractor, result)


def _announcement(
    ref: ResourceRef, history: History, revision: Revision, wanted: Standing
) -> EventData:
    common = {
        "workspace_id": history.workspace_id,
        "kind": ref.kind,
        "key": ref.key,
        "revision": revision.publication.revision,
        "content_sha256": revision.publication.content_sha256,
        "authority_sequence": history.changed,
    }
    match wanted.state:
        case "pending":
            told = {"reason": wanted.reason, "attempt": wanted.attempt}
            return RevisionPending.model_validate({**common, **told})
        case "ready":
            return RevisionReady.model_validate({**common, **_hashes(revision)})
        case "failed":
            told = {"reason": wanted.reason, "field": wanted.field, "attempt": wanted.attempt}
            return RevisionFailed.model_validate({**common, **told})
        case "excluded":
            return RevisionExcluded.model_validate({**common, "reason": wanted.reason})
        case "unavailable":
            return RevisionUnavailable.model_validate({**common, "reason": wanted.reason})


def _loss(ref: ResourceRef, revision: Revision) -> str | None:
    verdict, said = revision.verdict, revision.standing
    if verdict is not None and verdict.form == form_of(ref, revision):
        return verdict.loss
    return said.reason if said is not None and said.state == "unavailable" else None


def _turn(wanted: Standing, said: Standing | None, after: int) -> tuple[str, ...]:
    was_lost = said is not None and said.state == "unavailable"
    return (str(after),) if was_lost or wanted.state == "unavailable" else ()


def _hashes(revision: Revision) -> dict[str, str]:
    assert revision.outcome is not None, "only an extracted revision is ready"
    assert isinstance(revision.outcome.result, Extracted), "a failed revision is not ready"
    result = revision.outcome.result
    return {
        "extraction_sha256": result.extraction_sha256,
        "manifest_sha256": result.manifest_sha256,
    }


def _names(ref: ResourceRef, revision: Revision) -> tuple[str, ...]:
    return (ref.tenant, ref.kind, ref.key, str(revision.publication.revision))
