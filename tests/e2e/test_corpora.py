"""Corpora over HTTP: declared in three forms; what is wrong with one is named."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.e2e.curating import ABOUT_LAW, LAW, problem
from tests.e2e.handbook import JSON, LINE, REQUEST, YAML, corpora, declared, place
from tests.e2e.running import System, command
from tests.e2e.world import World, send


@pytest.mark.req("CL-5")
async def test_one_line_yaml_and_json_declare_the_same_corpus(world: World) -> None:
    by_line = await world.desk.corpora.declare("Handbook", LINE)
    by_yaml = await world.desk.corpora.declare("Handbook", YAML)
    by_json = await send(world.publisher, "PUT", place(world), json=JSON)
    read = await corpora(world.reader, world).read("Handbook")

    assert by_line == by_yaml == read
    assert by_json.json()["declaration_sha256"] == read.declaration_sha256
    assert read.declaration == LINE
    unseen = await problem(world.stranger, "GET", place(world))
    unasked = await problem(world.reader, "PUT", place(world), JSON)
    assert (unseen[0], unasked[0]) == (404, 403)


@pytest.mark.req("CL-5")
@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("model", "Nothing"),
        ("scope", "parent.successor"),
        ("scope", "parent.grants"),
        ("scope", "parent.cousin"),
        ("title", "body"),
        ("content", "body,body"),
        ("content", "newest"),
        ("content", "secret"),
        ("where", "recent(row)"),
        ("where", "live(other)"),
        ("from", "somewhere.else"),
        *((name, None) for name in JSON),
    ],
)
async def test_a_refused_declaration_names_its_attribute_in_every_form(
    world: World, tmp_path: Path, system: System, attribute: str, value: str | None
) -> None:
    written = {**JSON, attribute: value}
    if attribute == "content" and value is not None:
        written["content"] = value.split(",")
    as_json = {name: each for name, each in written.items() if each is not None}
    words = [
        f"{name}={each if isinstance(each, str) else ','.join(each)}"
        for name, each in as_json.items()
    ]
    line = " ".join(["corpus", "Handbook", *words])
    form = {"content-type": "text/plain"}
    by_line = await send(world.publisher, "PUT", place(world), content=line, headers=form)
    by_json = await problem(world.publisher, "PUT", place(world), as_json)
    file = tmp_path / "handbook.corpus"
    file.write_text(line, "utf-8")
    shown = await asyncio.to_thread(
        command, ["corpus", "declare", str(file), "-w", world.id, "--json"], system.environment
    )

    assert (by_line.status_code, by_line.json()["field"]) == (422, attribute)
    assert by_json[::2] == (422, attribute)
    assert shown.returncode == 1
    assert attribute in shown.stderr + shown.stdout
    missing = await problem(world.publisher, "GET", place(world))
    assert missing[:2] == (404, "corpus_not_found")


@pytest.mark.req("CL-8", "CL-9")
@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("source", ["", "x" * 201, 5]),
        ("revision", [0, -1, "one", 1.5]),
        ("question", ["", "  ", "x" * 4001]),
        ("profile", ["", "x" * 201]),
        ("policy_revision", ["", "x" * 201]),
        ("max_input_tokens", [0, 32_769]),
        ("max_output_tokens", [0, 4097]),
        ("max_duration_s", [0, 601]),
        ("min_sources", [0, 13]),
        ("max_sources", [0, 13]),
        ("surprise", [1]),
    ],
)
async def test_each_bound_of_a_request_is_an_error_that_names_its_field(
    world: World, field: str, values: list[object]
) -> None:
    await world.desk.corpora.declare("Handbook", LINE)
    answer = place(world, "/answer")
    for value in values:
        found = await problem(world.reader, "POST", answer, {**REQUEST, field: value})
        assert found == (422, "invalid_request", field), value
    if field in REQUEST:
        without = {name: each for name, each in REQUEST.items() if name != field}
        assert (await problem(world.reader, "POST", answer, without))[2] == field


@pytest.mark.req("CL-8")
async def test_what_lies_exactly_on_its_bounds_is_taken(world: World) -> None:
    await declared(world)
    widest = {
        "source": "ä" * 200,
        "revision": 1,
        "question": f"  {'x' * 4000}  ",
        "profile": "p" * 200,
        "policy_revision": "test-1",
        "max_input_tokens": 32_768,
        "max_output_tokens": 4096,
        "max_duration_s": 600,
        "min_sources": 12,
        "max_sources": 12,
    }
    narrowest = {**REQUEST, "max_input_tokens": 1, "max_output_tokens": 1, "max_duration_s": 1}
    wide = await send(world.reader, "POST", place(world, "/answer"), json=widest)
    narrow = await send(world.reader, "POST", place(world, "/answer"), json=narrowest)
    crossed = await problem(
        world.reader,
        "POST",
        place(world, "/answer"),
        {**REQUEST, "min_sources": 5, "max_sources": 4},
    )

    assert (wide.status_code, narrow.status_code) == (202, 202)
    bounds = wide.json()["bounds"]
    assert (bounds["min_sources"], bounds["max_duration_s"]) == (12, 600)
    defaults = narrow.json()["bounds"]
    assert (defaults["min_sources"], defaults["max_sources"]) == (1, 8)
    assert crossed == (422, "invalid_request", "max_sources")


@pytest.mark.req("CL-6")
def test_the_command_line_declares_asks_and_tells_the_state(system: System, tmp_path: Path) -> None:
    env = system.environment
    name = f"corpus-{tmp_path.name}"[:40].replace("_", "-")
    document, declaration = tmp_path / "law.md", tmp_path / "handbook.yaml"
    document.write_text(LAW, "utf-8")
    declaration.write_text(YAML, "utf-8")
    made = command(["workspace", "create", name], env)
    published = command(["publish", str(document), "-w", name], env)
    told = command(["corpus", "declare", str(declaration), "-w", name], env)
    shown = command(["corpus", "show", "Handbook", "-w", name], env)
    answers = [
        command(["corpus", "ask", "Handbook", "ticket 1", "1", question, "-w", name], env)
        for question in (ABOUT_LAW, ABOUT_LAW, "Something else?")
    ]
    status = command(["corpus", "status", "Handbook", "law", "1", "-w", name], env)

    assert (made.returncode, published.returncode) == (0, 0), published.stderr
    assert told.stdout == shown.stdout == LINE + "\n"
    assert [each.returncode for each in answers] == [0, 0, 1]
    assert answers[0].stdout == answers[1].stdout
    assert "nine in the morning" in answers[0].stdout
    assert status.stdout == "ready\n"
