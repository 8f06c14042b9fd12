"""What a corpus may be made of, and how its declaration is read."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chancery.evidence.corpora import ATTRIBUTES, CATALOGUE, CorpusDeclaration, Row
from chancery.evidence.corpus_text import (
    format_line,
    is_one_line,
    parse_declaration,
    parse_line,
    parse_yaml,
)
from chancery.kernel.errors import Rejected

LINE = (
    "corpus Handbook model=Revision scope=parent.parent title=title "
    "content=body,attachments where=live(row) from=deployment.knowledge"
)
YAML = """
corpus: Handbook
model: Revision
scope: parent.parent
title: title
content: [body, attachments]
where: live(row)
from: deployment.knowledge
"""


def declarations() -> st.SearchStrategy[CorpusDeclaration]:
    """Every declaration that the catalogue allows."""
    return st.sampled_from(sorted(CATALOGUE)).flatmap(_of_model)


def _of_model(name: str) -> st.SearchStrategy[CorpusDeclaration]:
    model = CATALOGUE[name]
    kept = [key for key, each in model.selectors.items() if each.immutable and each.kind != "line"]
    pure = [f"{key}(row)" for key, is_pure in model.predicates.items() if is_pure]
    return st.builds(
        CorpusDeclaration,
        corpus=st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True),
        model=st.just(name),
        scope=st.just("parent.parent"),
        title=st.just("title"),
        content=st.lists(st.sampled_from(kept), min_size=1, unique=True).map(tuple),
        where=st.sampled_from(pure),
        binding=st.just("deployment.knowledge"),
    )


@pytest.mark.req("CL-5")
def test_the_line_and_the_yaml_form_say_the_same() -> None:
    declaration = parse_line(LINE)
    assert declaration == parse_yaml(YAML) == parse_declaration(YAML) == parse_declaration(LINE)
    assert declaration.content == ("body", "attachments")
    assert declaration.sha256 == parse_yaml(YAML).sha256


@pytest.mark.req("CL-5")
@given(declarations())
def test_every_allowed_declaration_is_read_back_from_its_line(
    declaration: CorpusDeclaration,
) -> None:
    assert parse_line(format_line(declaration)) == declaration.checked()


@pytest.mark.req("CL-5")
@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_a_missing_attribute_is_named(attribute: str) -> None:
    line = " ".join(word for word in LINE.split() if not word.startswith(f"{attribute}="))
    yaml = "\n".join(row for row in YAML.splitlines() if not row.startswith(f"{attribute}:"))
    for text in (line, yaml):
        with pytest.raises(Rejected) as refused:
            parse_declaration(text)
        assert (refused.value.field, refused.value.code) == (attribute, "missing_attribute")


@pytest.mark.req("CL-5")
@pytest.mark.parametrize(
    ("old", "new", "field", "code"),
    [
        ("model=Revision", "model=Draft", "model", "unknown_model"),
        ("scope=parent.parent", "scope=parent", "scope", "unknown_path"),
        ("scope=parent.parent", "scope=parent.successor", "scope", "nullable_scope"),
        ("scope=parent.parent", "scope=parent.grants", "scope", "plural_scope"),
        ("title=title", "title=name", "title", "unknown_selector"),
        ("title=title", "title=body", "title", "unbounded_title"),
        ("content=body,", "content=text,", "content", "unknown_selector"),
        ("content=body,", "content=title,", "content", "unknown_selector"),
        ("content=body,", "content=newest,", "content", "mutable_selector"),
        ("content=body,", "content=attachments,", "content", "duplicate_selector"),
        ("content=body,", "content=,", "content", "missing_attribute"),
        ("where=live(row)", "where=open(row)", "where", "unknown_predicate"),
        ("where=live(row)", "where=recent(row)", "where", "impure_predicate"),
        ("where=live(row)", "where=live", "where", "malformed_predicate"),
        ("where=live(row)", "where=live(row)or(1)", "where", "malformed_predicate"),
        ("from=deployment.knowledge", "from=deployment.secrets", "from", "unknown_binding"),
        ("title=title", "title=title title=title", "title", "duplicate_attribute"),
        ("title=title", "title=title colour=red", "colour", "unknown_attribute"),
        ("title=title", "title=title co/lour=red", "corpus", "unknown_attribute"),
        ("title=title", "title=title of ours", "corpus", "unknown_attribute"),
        ("from=", "frm=", "from", "unknown_attribute"),
        ("scope=", "Scpoe=", "scope", "unknown_attribute"),
        ("title=title", "title", "title", "malformed_attribute"),
        ("corpus Handbook", "corpus Hand/book", "corpus", "malformed_name"),
        ("title=title", f"title={'t' * 65}", "title", "malformed_attribute"),
    ],
)
def test_what_the_catalogue_does_not_allow_is_refused_by_name(
    old: str, new: str, field: str, code: str
) -> None:
    assert old in LINE
    with pytest.raises(Rejected) as refused:
        parse_line(LINE.replace(old, new))
    assert (refused.value.field, refused.value.code) == (field, code)


@pytest.mark.parametrize(
    ("text", "field", "code"),
    [
        ("", "corpus", "malformed_declaration"),
        ("corpus", "corpus", "malformed_declaration"),
        ("- a\n- b\n", "corpus", "malformed_declaration"),
        ("a: [1", "corpus", "malformed_declaration"),
        ("[" * 3000, "corpus", "malformed_declaration"),
        ("x" * 5000, "corpus", "too_long"),
        (YAML + "title: title\n", "title", "duplicate_attribute"),
        (YAML + "colour: red\n", "colour", "unknown_attribute"),
        (YAML + "what we paid: red\n", "corpus", "unknown_attribute"),
        (YAML + f"{'c' * 33}: red\n", "corpus", "unknown_attribute"),
        (YAML.replace("where:", "were:"), "where", "unknown_attribute"),
        (YAML.replace("title: title", "title: {a: b}"), "title", "malformed_attribute"),
        (YAML.replace("[body, attachments]", "[[body]]"), "content", "malformed_attribute"),
        (YAML.replace("corpus: Handbook", "corpus: [a]"), "corpus", "malformed_attribute"),
    ],
)
def test_text_that_is_no_declaration_is_refused(text: str, field: str, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        parse_declaration(text)
    assert (refused.value.field, refused.value.code) == (field, code)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    for written in (text, f"corpus {text}", f"{YAML}{text}"):
        field = _field_or_name(written)
        assert field in {*ATTRIBUTES, "corpus", ""} or field in _words(text)


@pytest.mark.req("CL-5")
@pytest.mark.parametrize(
    "first",
    ["corpus : Handbook", "corpus  : Handbook", '"corpus": Handbook', "# x\ncorpus: Handbook"],
)
def test_yaml_is_known_by_what_it_is_however_its_first_key_is_written(first: str) -> None:
    written = YAML.replace("corpus: Handbook", first)

    assert not is_one_line(written)
    assert parse_declaration(written) == parse_declaration(YAML)


@pytest.mark.parametrize("text", [LINE, f"  \n{LINE}", "corpus", " corpus ", "corpus h model=x"])
def test_the_one_line_form_is_known_by_its_first_word(text: str) -> None:
    assert is_one_line(text)


@pytest.mark.req("CL-5")
@pytest.mark.parametrize(
    ("old", "new", "field", "place"),
    [
        ("title: title", "title: [title", "title", "line 6, column 8, of what begins at line 5"),
        ("title: title", 'title: "title', "title", "line 9, column 1, of what begins at line 5"),
        ("where: live", "where: @live", "where", "line 7, column 8, in where"),
        ("where: live", "\twhere: live", "where", "line 7, column 1, in where"),
        ("model: Revision", "model: *other", "model", "line 3, column 8, in model"),
        ("from: deployment", "from: deploy\x01ment", "from", "line 8, column 13, in from"),
        ("corpus: Handbook", "corpus: a: b", "corpus", "line 2, column 10"),
    ],
)
def test_broken_yaml_is_refused_with_its_line_column_and_attribute(
    old: str, new: str, field: str, place: str
) -> None:
    assert old in YAML
    with pytest.raises(Rejected, match=place) as refused:
        parse_declaration(YAML.replace(old, new))
    assert (refused.value.field, refused.value.code) == (field, "malformed_declaration")


@pytest.mark.parametrize(
    "text",
    [
        f"{LINE} 9-secret",
        f"{LINE} a-9-secret=1",
        LINE.replace("title=title", "title=title 9-secret"),
        LINE.replace("title=title", "title=9-secret"),
        f"{YAML}about 9-secret: x\n",
        f"{YAML}[9-secret",
        f"{YAML}? [9-secret]\n: x\n",
        YAML.replace("live(row)", "@9-secret"),
        YAML.replace("live(row)", "*9-secret"),
        YAML.replace("live(row)", "!9-secret x"),
    ],
)
def test_no_refusal_repeats_what_was_written_in_place_of_a_name(text: str) -> None:
    with pytest.raises(Rejected) as refused:
        parse_declaration(text)
    assert "9-secret" not in f"{refused.value.detail} {refused.value.field}"


def _words(text: str) -> list[str]:
    return re.findall(r"\b[A-Za-z_][A-Za-z0-9_]{0,31}\b", text)


def _field_or_name(text: str) -> str:
    """Return the field that is refused, or nothing when the text is a declaration."""
    try:
        declaration = parse_declaration(text)
    except Rejected as refused:
        return refused.field or "none"
    return "" if declaration.checked() == declaration else "unchecked"


@pytest.mark.req("CL-5")
def test_a_corpus_takes_in_what_content_and_predicate_select() -> None:
    handbook = parse_line(LINE)
    text = Row(model="Revision", media_type="text/markdown", live=True)
    picture = Row(model="Revision", media_type="image/png", live=True)
    paper = Row(model="Revision", media_type="application/pdf", live=True)
    assert [handbook.admits(row) for row in (text, picture, paper)] == [True, True, False]
    papers = parse_line(LINE.replace("body,attachments", "document"))
    assert [papers.admits(row) for row in (text, picture, paper)] == [False, False, True]
    norms = parse_line(LINE.replace("live(row)", "normative(row)"))
    norm = Row(model="Revision", media_type="text/plain", live=True, authority="normative")
    assert norms.admits(norm)
    assert not norms.admits(text)
    dated = parse_line(LINE.replace("live(row)", "dated(row)"))
    row = Row(model="Revision", media_type="text/plain", live=True, date="2026-01-31")
    assert dated.admits(row)
    assert not dated.admits(text)


@pytest.mark.req("CL-5")
@given(declarations(), st.sampled_from(["Revision", "Version"]), st.sampled_from(["text/plain"]))
def test_what_is_not_live_or_of_another_model_is_never_taken_in(
    declaration: CorpusDeclaration, model: str, media_type: str
) -> None:
    row = Row(model=model, media_type=media_type, live=False, authority="normative")
    assert not declaration.admits(row)
    other = "Version" if declaration.model == "Revision" else "Revision"
    assert not declaration.admits(Row(model=other, media_type=media_type, live=True))


def test_brackets_in_which_yaml_would_take_its_time_never_reach_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """4,096 of them took 1.5 seconds, and nobody's credential is proven by then."""
    read: list[str] = []
    compose = yaml.compose

    def noted(text: str, Loader: type[yaml.SafeLoader]) -> object:  # noqa: N803 - YAML calls it so
        read.append(text)
        return compose(text, Loader=Loader)

    monkeypatch.setattr(yaml, "compose", noted)
    for text in ("a: " + "[" * 64 + "]" * 64, "a: " + "[" * 65, "{a: " * 33 + "[" * 33):
        with pytest.raises(Rejected):
            parse_declaration(text)

    assert read == ["a: " + "[" * 64 + "]" * 64]
