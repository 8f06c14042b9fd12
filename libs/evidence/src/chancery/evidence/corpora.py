"""What a corpus declaration says, what it may say, and which revisions it takes in.

A declaration names a model of the catalogue and narrows it: it grants no permission to read.
Every attribute is required; an error names the attribute that has to change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Self

from pydantic import Field

from chancery.events.authority import Standing
from chancery.events.authority_knowledge import declaration_hash
from chancery.events.envelope import Id, Many
from chancery.evidence.record import Record
from chancery.kernel.errors import Rejected

CONTENT_MAX: Final = 10
ATTRIBUTES: Final = ("model", "scope", "title", "content", "where", "from")
"""The required attributes, in the order in which a declaration is written."""

SelectorKind = Literal["line", "text", "file", "file-list"]
"""What a selector yields: one bounded line, a text, a file, or a list of files."""

_TEXT_TYPES: Final = frozenset({"text/plain", "text/markdown"})
_FILE_TYPES: Final = frozenset(
    {
        "application/pdf",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "text/html",
    }
)


@dataclass(frozen=True, slots=True)
class Selector:
    """A field of a model; one that is not `immutable` may change while its row is eligible."""

    kind: SelectorKind
    immutable: bool = True


@dataclass(frozen=True, slots=True)
class Path:
    """A way from a row to what could be its scope."""

    nullable: bool = False
    plural: bool = False


@dataclass(frozen=True, slots=True)
class Model:
    """A kind of row that a corpus may be made of."""

    scopes: Mapping[str, Path]
    selectors: Mapping[str, Selector]
    predicates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Each predicate, and whether it is pure: decided by the row alone."""


CATALOGUE: Final[Mapping[str, Model]] = {
    "Revision": Model(
        scopes={
            "parent.parent": Path(),
            "parent.successor": Path(nullable=True),
            "parent.grants": Path(plural=True),
        },
        selectors={
            "title": Selector("line"),
            "body": Selector("text"),
            "document": Selector("file"),
            "attachments": Selector("file-list"),
            "newest": Selector("text", immutable=False),
        },
        predicates={
            "live": True,
            "normative": True,
            "reference": True,
            "historical": True,
            "dated": True,
            "recent": False,
            "popular": False,
        },
    ),
    "Version": Model(
        scopes={"parent.parent": Path(), "parent.grants": Path(plural=True)},
        selectors={
            "title": Selector("line"),
            "body": Selector("text"),
            "draft": Selector("text", immutable=False),
        },
        predicates={"live": True, "recent": False, "popular": False},
    ),
}
"""The models: `Revision` of a source, `Version` of an item; `parent.parent` is the workspace.

`body` is a text as it was published, `document` a file with extracted text (PDF, DOCX, HTML, XLSX),
`attachments` everything else: pictures, which have no text, so that nothing is quoted from one.
"""

BINDINGS: Final = frozenset({"deployment.knowledge"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a predicate and a selector can look at: one revision or version that serves or did."""

    model: str
    media_type: str
    live: bool
    authority: Standing = "reference"
    date: str | None = None


class CorpusDeclaration(Record):
    """A valid declaration; `binding` is the attribute `from`, `where` is like `live(row)`."""

    corpus: Id
    model: str = Field(min_length=1, max_length=64)
    scope: str = Field(min_length=1, max_length=200)
    title: str = Field(min_length=1, max_length=64)
    content: Many[str] = Field(min_length=1, max_length=CONTENT_MAX)
    where: str = Field(min_length=1, max_length=200)
    binding: str = Field(min_length=1, max_length=200)

    @property
    def sha256(self) -> str:
        """Return the hash that its declaration on the log states, and an answer's receipt pins."""
        return declaration_hash(
            corpus_id=self.corpus,
            model=self.model,
            scope=self.scope,
            title=self.title,
            content=self.content,
            where=self.where,
            binding=self.binding,
        )

    def checked(self) -> Self:
        """Return this declaration when the catalogue allows it.

        Raises:
            Rejected: with the attribute as `field` and a code that says what is wrong with it.
        """
        model = CATALOGUE.get(self.model)
        if model is None:
            raise _refused("model", "unknown_model", f"use one of {_listed(CATALOGUE)}")
        _check_scope(model, self.scope)
        _check_title(model, self.title)
        _check_content(model, self.content)
        _check_where(model, self.where)
        if self.binding not in BINDINGS:
            raise _refused("from", "unknown_binding", f"use one of {_listed(BINDINGS)}")
        return self

    def admits(self, row: Row) -> bool:
        """Tell whether the corpus takes the row in; what the caller may read is another question.

        Only a live row is ever eligible, whatever the predicate.
        """
        if row.model != self.model or not row.live:
            return False
        return _selected(row) in self.content and _holds(predicate_name(self.where), row)


def predicate_name(where: str) -> str:
    """Return `live` of `live(row)`; anything of another form is no predicate.

    Raises:
        Rejected: with field `where`.
    """
    name, bracket, rest = where.partition("(")
    if not name.isidentifier() or bracket != "(" or rest != "row)":
        raise _refused("where", "malformed_predicate", "write it like live(row)")
    return name


def _check_scope(model: Model, scope: str) -> None:
    path = model.scopes.get(scope)
    if path is None:
        raise _refused("scope", "unknown_path", f"use one of {_listed(_usable(model))}")
    if path.nullable:
        raise _refused("scope", "nullable_scope", "name a path that always leads somewhere")
    if path.plural:
        raise _refused("scope", "plural_scope", "name a path that leads to one thing")


def _check_title(model: Model, title: str) -> None:
    selector = model.selectors.get(title)
    if selector is None:
        raise _refused("title", "unknown_selector", "name a field of the model, such as title")
    if selector.kind != "line":
        raise _refused("title", "unbounded_title", "name a field of bounded text, such as title")


def _check_content(model: Model, content: tuple[str, ...]) -> None:
    kept = sorted(
        name for name, each in model.selectors.items() if each.kind != "line" and each.immutable
    )
    for name in content:
        selector = model.selectors.get(name)
        if selector is None or selector.kind == "line":
            raise _refused("content", "unknown_selector", f"use some of {_listed(kept)}")
        if not selector.immutable:
            raise _refused("content", "mutable_selector", f"use some of {_listed(kept)}")
    if len(set(content)) != len(content):
        raise _refused("content", "duplicate_selector", "name each selector once")


def _check_where(model: Model, where: str) -> None:
    pure = sorted(f"{name}(row)" for name, is_pure in model.predicates.items() if is_pure)
    name = predicate_name(where)
    if name not in model.predicates:
        raise _refused("where", "unknown_predicate", f"use one of {_listed(pure)}")
    if not model.predicates[name]:
        message = f"it depends on more than the row; use one of {_listed(pure)}"
        raise _refused("where", "impure_predicate", message)


def _selected(row: Row) -> str:
    if row.media_type in _TEXT_TYPES:
        return "body"
    return "document" if row.media_type in _FILE_TYPES else "attachments"


def _holds(predicate: str, row: Row) -> bool:
    match predicate:
        case "live":
            return True
        case "dated":
            return row.date is not None
        case "normative" | "reference" | "historical":
            return row.authority == predicate
        case _:
            return False


def _usable(model: Model) -> list[str]:
    return sorted(
        name for name, path in model.scopes.items() if not path.nullable and not path.plural
    )


def _listed(names: Mapping[str, object] | frozenset[str] | list[str]) -> str:
    return ", ".join(sorted(names))


def _refused(attribute: str, code: str, fix: str) -> Rejected:
    wrong = code.replace("_", " ")
    return Rejected(
        f"{attribute} of the corpus declaration: {wrong}; {fix}", field=attribute, code=code
    )
