"""OpenAPI, AsyncAPI and the schemas of receipts are whole: what they refer to is there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.openapi.models import OpenAPI
from jsonschema import Draft202012Validator

from chancery.events.topology import REQUESTS, SERVICES, TOPICS
from chancery.evidence.documents import refused_document, sealed_document, withheld_document
from chancery.evidence.salts import derive_salts
from chancery.kernel.canonical import Json
from chancery.testkit.contracts import asyncapi, surface
from chancery.testkit.contracts.__main__ import generate
from tests.contract.validity import mistakes
from tests.unit.verify import sealed

ROOT = Path("/contracts")
FILES: dict[str, Any] = {name: json.loads(content) for name, content in generate().items()}
SALTS = derive_salts(sealed.SEED, 1)
METHODS = {"get", "put", "post", "delete", "patch"}


def references(value: Json) -> Iterator[str]:
    """Return every `$ref` inside `value`."""
    if isinstance(value, Mapping):
        reference = value.get("$ref")
        if isinstance(reference, str):
            yield reference
        yield from (found for item in value.values() for found in references(item))
    elif isinstance(value, list):
        yield from (found for item in value for found in references(item))


def resolve(name: str, reference: str) -> object:
    """Return what `reference` in the file `name` points to; KeyError when nothing is there."""
    place, _, pointer = reference.partition("#")
    target = (ROOT / name).parent / place if place else ROOT / name
    document: Any = FILES[Path(*_normal(target.relative_to(ROOT).parts)).as_posix()]
    for step in filter(None, pointer.split("/")):
        document = document[step.replace("~1", "/").replace("~0", "~")]
    return document


def _normal(parts: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for part in parts:
        if part == "..":
            found.pop()
        else:
            found.append(part)
    return found


@pytest.mark.req("EV-2")
@pytest.mark.parametrize("name", sorted(FILES))
def test_each_reference_of_a_document_leads_somewhere(name: str) -> None:
    for reference in references(FILES[name]):
        assert resolve(name, reference) is not None


def test_a_reference_that_leads_nowhere_is_found() -> None:
    with pytest.raises(KeyError):
        resolve("asyncapi/release.json", "#/components/messages/nothing")
    with pytest.raises(KeyError):
        resolve("asyncapi/release.json", "../events/nothing.v1.schema.json")


@pytest.mark.req("EV-2")
@pytest.mark.parametrize("name", sorted(name for name in FILES if name.endswith(".schema.json")))
def test_each_schema_is_a_json_schema_of_2020_12(name: str) -> None:
    Draft202012Validator.check_schema(FILES[name])

    assert {"$schema", "$id", "title", "description"} <= FILES[name].keys()


@pytest.mark.req("EV-2")
def test_the_surface_is_described_in_openapi_3_1_with_unique_operation_ids() -> None:
    document = FILES[surface.PATH]
    operations = [
        (path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    ]

    OpenAPI.model_validate(document)
    assert document["openapi"].startswith("3.1.")
    assert len({operation["operationId"] for _, operation in operations}) == len(operations)
    for path, operation in operations:
        declared = {
            item["name"] for item in operation.get("parameters", ()) if item["in"] == "path"
        }
        assert declared == {step.strip("{}") for step in path.split("/") if step.startswith("{")}
        assert operation["responses"]


@pytest.mark.req("EV-2")
@pytest.mark.parametrize("service", SERVICES)
def test_an_asyncapi_document_says_what_the_service_exchanges(service: str) -> None:
    document = FILES[f"asyncapi/{service}.json"]
    messages = document["components"]["messages"]
    events = {item["name"] for item in messages.values() if item["name"].startswith("chancery.")}
    answered = {name for name in document["operations"] if name.startswith("answer.")}

    assert document["asyncapi"] == "3.0.0"
    assert events == {
        topic.type for topic in TOPICS if service == topic.producer or service in topic.consumers
    }
    assert answered == {f"answer.{topic.subject}" for topic in REQUESTS if topic.server == service}
    for operation in document["operations"].values():
        channel: Any = resolve(f"asyncapi/{service}.json", operation["channel"]["$ref"])
        offered = {item["$ref"] for item in channel["messages"].values()}
        chosen: list[Any] = [
            resolve(f"asyncapi/{service}.json", item["$ref"]) for item in operation["messages"]
        ]
        assert operation["action"] in {"send", "receive"}
        assert {item["$ref"] for item in chosen} <= offered
        assert "nats" in operation["bindings"]


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.type)
def test_an_address_names_each_free_token_of_its_subject(topic: Any) -> None:
    named = asyncapi.address(topic.subject).split(".")
    parameters = [token for token in named if token.startswith("{")]

    assert len(parameters) == topic.subject.count("*") == len(set(parameters))


@pytest.mark.req("EV-2", "KO-24")
def test_what_callers_receive_fits_the_published_schemas() -> None:
    answer = sealed.sealed_answer()
    receipt = sealed.sealed_receipt(answer, SALTS)
    bundle = sealed.bundle()
    refused = sealed.refused_bundle()
    documents = {
        "receipt": receipt.to_json(),
        "bundle": bundle.to_json(),
        "answer-sealed": sealed_document(receipt, answer),
        "answer-refused": refused_document(refused.receipt, answer),
        "answer-withheld": withheld_document("run-1", 1, "en"),
    }

    for name, document in documents.items():
        schema = FILES[f"receipts/{name}.schema.json"]
        assert mistakes(schema, document) == [], name
        assert mistakes(schema, {**document, "more": 1}), name
        for field in document:
            without = {key: value for key, value in document.items() if key != field}
            assert mistakes(schema, without) or field == "format", (name, field)
