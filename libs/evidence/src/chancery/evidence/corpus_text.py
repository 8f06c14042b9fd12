"""Corpus declarations as people write them: one line, or YAML; both give the same declaration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, TypeAlias

import yaml
from pydantic import ValidationError
from yaml.reader import ReaderError

from chancery.evidence.corpora import ATTRIBUTES, CorpusDeclaration
from chancery.kernel.errors import Rejected

TEXT_MAX: Final = 4096
"""The most characters that a declaration may take."""

_WORD_MAX: Final = 64
_BRACKETS_MAX: Final = 64
"""The time that YAML takes grows with the square of these; a declaration needs one pair."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LINE: Final = re.compile(r"\s*corpus(\s+(?!\s|$|:(\s|$))|\s*$)")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_YAML_KEY: Final = re.compile(rf"[\s{{,\"']*({'|'.join(ATTRIBUTES)})[\"']?\s*:")
Written: TypeAlias = "Mapping[str, str | Sequence[str]]"
"""The attributes as they were written; `content` is a list, the others are text."""


def parse_declaration(text: str) -> CorpusDeclaration:
    """Return the declaration that `text` writes, on one line or as YAML.

    Raises:
        Rejected: with the attribute as `field`; nothing of the text is in the message.
    """
    if len(text) > TEXT_MAX:
        raise _malformed(f"write at most {TEXT_MAX} characters", code="too_long")
    return parse_line(text) if is_one_line(text) else parse_yaml(text)


def is_one_line(text: str) -> bool:
    """Tell whether `text` begins as the form on one line does; `corpus :` begins a YAML mapping."""
    return _LINE.match(text) is not None


def parse_line(line: str) -> CorpusDeclaration:
    """Return the declaration in `corpus NAME model=... scope=... title=... content=... ...`.

    Values hold no white space; `content` is separated by commas.

    Raises:
        Rejected: with the attribute as `field`.
    """
    first, *words = line.split() or [""]
    if first != "corpus" or not words or "=" in words[0]:
        raise _malformed("begin with: corpus NAME model=...")
    written: dict[str, str | Sequence[str]] = {}
    for number, word in enumerate(words[1:], start=3):
        name, equals, value = word.partition("=")
        if not equals and name not in ATTRIBUTES:
            fix = f"word {number} is no NAME=VALUE; values hold no white space"
            raise _malformed(fix, code="unknown_attribute")
        if not equals or name not in ATTRIBUTES:
            raise _unknown(name)
        if name in written:
            raise _repeated(name)
        written[name] = tuple(value.split(",")) if name == "content" else value
    return declaration_of(words[0], written)


def format_line(declaration: CorpusDeclaration) -> str:
    """Return the one line that `parse_line` reads back as the same declaration."""
    values = (
        declaration.model,
        declaration.scope,
        declaration.title,
        ",".join(declaration.content),
        declaration.where,
        declaration.binding,
    )
    attributes = (f"{name}={value}" for name, value in zip(ATTRIBUTES, values, strict=True))
    return " ".join(("corpus", declaration.corpus, *attributes))


def parse_yaml(text: str) -> CorpusDeclaration:
    """Return the declaration in a YAML mapping with the key `corpus` and the six attributes.

    Raises:
        Rejected: with the attribute as `field`.
    """
    written = dict(_pairs(_composed(text)))
    name = written.pop("corpus", "")
    return declaration_of(name if isinstance(name, str) else "", written)


def declaration_of(name: str, written: Written) -> CorpusDeclaration:
    """Return the checked declaration of a corpus `name` with the attributes as `written`.

    Raises:
        Rejected: with the first attribute that is missing, empty, too long or refused.
    """
    if not _NAME.fullmatch(name):
        message = "corpus: name it with 1 to 64 of the characters A-Z a-z 0-9 _ and -"
        raise Rejected(message, field="corpus", code="malformed_name")
    for attribute in ATTRIBUTES:
        value = written.get(attribute)
        if not value or (attribute == "content" and not all(value)):
            message = f"{attribute} of the corpus declaration is missing or empty; all of "
            message += f"{', '.join(ATTRIBUTES)} are required"
            raise Rejected(message, field=attribute, code="missing_attribute")
    fields = {("binding" if key == "from" else key): value for key, value in written.items()}
    content = tuple(fields.pop("content"))
    try:
        declaration = CorpusDeclaration.model_validate(
            {"corpus": name, "content": content, **fields}
        )
    except ValidationError as error:
        place = str(error.errors()[0]["loc"][0])
        attribute = "from" if place == "binding" else place
        message = f"{attribute} of the corpus declaration is too long or of another type"
        raise Rejected(message, field=attribute, code="malformed_attribute") from None
    return declaration.checked()


def _composed(text: str) -> yaml.MappingNode:
    if text.count("[") + text.count("{") > _BRACKETS_MAX:
        raise _malformed("the text is not YAML, or nested too deep")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise _broken(text, error) from None
    except (RecursionError, ValueError):
        raise _malformed("the text is not YAML, or nested too deep") from None
    if not isinstance(node, yaml.MappingNode):
        raise _malformed("write a mapping with the key corpus and the six attributes")
    return node


def _pairs(mapping: yaml.MappingNode) -> Iterator[tuple[str, str | Sequence[str]]]:
    """Yield each attribute once with its text; nodes stay unresolved, so no alias can grow."""
    seen: set[str] = set()
    for key, value in mapping.value:
        name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
        if name not in (*ATTRIBUTES, "corpus"):
            raise _unknown(name)
        if name in seen:
            raise _repeated(name)
        seen.add(name)
        yield name, _value(name, value)


def _value(name: str, node: yaml.Node) -> str | Sequence[str]:
    if isinstance(node, yaml.ScalarNode):
        text = str(node.value)
        return (text,) if name == "content" else text
    each_is_text = isinstance(node, yaml.SequenceNode) and all(
        isinstance(each, yaml.ScalarNode) for each in node.value
    )
    if name == "content" and each_is_text:
        return tuple(str(each.value) for each in node.value)
    message = f"{name} of the corpus declaration has to be text"
    raise Rejected(message, field=name, code="malformed_attribute")


def _repeated(name: str) -> Rejected:
    message = f"{name} stands twice in the corpus declaration; write it once"
    return Rejected(message, field=name, code="duplicate_attribute")


def _unknown(word: str) -> Rejected:
    """Return the refusal of a word that is no attribute, naming it if a name is what it looks like.

    Anything else could be content, and is not repeated.
    """
    if word in ATTRIBUTES:
        message = (
            f"{word} of the corpus declaration has no value; write {word}=VALUE without blanks"
        )
        return Rejected(message, field=word, code="malformed_attribute")
    named = word if _IDENTIFIER.fullmatch(word) else None
    meant = next(iter(get_close_matches(word[:_WORD_MAX].lower(), ATTRIBUTES, n=1)), None)
    message = f"{named or 'what stands for a name'} is no attribute of a corpus declaration; "
    message += f"write only {', '.join(ATTRIBUTES)}"
    if meant is not None:
        message += f"; {meant} is misspelt"
    return Rejected(message, field=meant or named or "corpus", code="unknown_attribute")


def _broken(text: str, error: yaml.YAMLError) -> Rejected:
    """Return the refusal of text that is not YAML: where it breaks, and in which attribute."""
    line, column, begun = _place(text, error)
    rows = text.splitlines()[: begun + 1]
    keys = (found[1] for row in reversed(rows) if (found := _YAML_KEY.match(row)))
    message = "the corpus declaration cannot be read; "
    message += f"the YAML breaks at line {line + 1}, column {column + 1}"
    if begun != line:
        message += f", of what begins at line {begun + 1}"
    attribute = next(keys, None)
    message += "" if attribute is None else f", in {attribute}"
    return Rejected(message, field=attribute or "corpus", code="malformed_declaration")


def _place(text: str, error: yaml.YAMLError) -> tuple[int, int, int]:
    """Return line and column of the fault, and the line where what it is in begins, from 0."""
    match error:
        case yaml.MarkedYAMLError(problem_mark=yaml.Mark() as mark):
            context = error.context_mark or mark
            return mark.line, mark.column, context.line
        case ReaderError():
            before = text[: error.position]
            line = before.count("\n")
            return line, len(before) - before.rfind("\n") - 1, line
        case _:
            return 0, 0, 0


def _malformed(fix: str, *, code: str = "malformed_declaration") -> Rejected:
    return Rejected(f"the corpus declaration cannot be read; {fix}", field="corpus", code=code)
