"""Events on the wire: encode and decode are inverse, and what cannot be read is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.events.authority import MemberAdded, RevisionPublished, SourceDeclared
from chancery.events.codec import MODELS, UndecodableEvent, decode, encode, stated_type
from chancery.events.envelope import Envelope, Event, EventData
from chancery.events.topology import STREAMS, TOPICS
from chancery.kernel.canonical import SAFE_INTEGER_MAX, Json, canonical_bytes, parse_json
from chancery.testkit.contracts.examples import examples

Path: TypeAlias = tuple[str | int, ...]

LARGEST = {name: content for name, content in examples().items() if name.endswith("/largest.json")}


def wrap(data: EventData, type_name: str | None = None) -> Event:
    """Return `data` in an envelope of its own type, or of `type_name`."""
    envelope = Envelope(
        id="e1",
        source="/chancery/ingestion",
        type=type_name or data.TYPE,
        subject="s1",
        time=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        tenant="t1",
        actor="ada",
        requestsha256="a" * 64,
    )
    return Event(envelope=envelope, data=data)


ids = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
titles = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=300
)


@pytest.mark.req("EV-3")
@given(workspace=ids, source=ids, title=titles)
def test_decode_is_the_inverse_of_encode(workspace: str, source: str, title: str) -> None:
    data = SourceDeclared(
        workspace_id=workspace,
        source_id=source,
        title=title,
        visibility="restricted",
        declarer="ada",
    )
    event = wrap(data)

    assert decode(encode(event)) == event


@pytest.mark.req("EV-3")
def test_an_event_is_a_structured_cloud_event() -> None:
    fields = json.loads(encode(wrap(MemberAdded(workspace_id="w", role="reader"))))

    assert fields["specversion"] == "1.0"
    assert fields["type"] == "chancery.principal.member-added.v1"
    assert fields["time"] == "2026-01-02T03:04:05.678901Z"
    assert all(name.islower() and name.isalnum() for name in fields)


def test_a_field_of_a_later_minor_change_is_ignored() -> None:
    fields = json.loads(encode(wrap(MemberAdded(workspace_id="w", role="reader"))))
    fields["data"]["added_later"] = 1
    fields["addedlater"] = "x"

    decoded = decode(json.dumps(fields).encode())

    assert decoded.data == MemberAdded(workspace_id="w", role="reader")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"type": "chancery.principal.member-added.v2"}, "unknown_event_type"),
        ({"type": "chancery.nothing.happened.v1"}, "unknown_event_type"),
        ({"data": {"workspace_id": "w", "role": "emperor"}}, "invalid_event"),
        ({"data": {"workspace_id": "a.b", "role": "reader"}}, "invalid_event"),
        ({"data": {"role": "reader"}}, "invalid_event"),
        ({"data": None}, "invalid_event"),
        ({"tenant": "a.b"}, "invalid_event"),
        ({"specversion": "2.0"}, "invalid_event"),
        ({"time": "2026-01-02T03:04:05"}, "invalid_event"),
    ],
)
def test_what_this_build_cannot_read_is_refused(change: dict[str, object], code: str) -> None:
    fields = json.loads(encode(wrap(MemberAdded(workspace_id="w", role="reader"))))
    fields.update(change)

    with pytest.raises(UndecodableEvent) as caught:
        decode(json.dumps(fields).encode())

    assert caught.value.code == code


@pytest.mark.parametrize("payload", [b"", b"\xff", b"[1]", b'{"a":1,"a":1}'])
def test_what_is_no_json_object_is_refused(payload: bytes) -> None:
    with pytest.raises(UndecodableEvent) as caught:
        decode(payload)

    assert caught.value.code == "malformed_event"


def test_an_event_above_the_bound_is_refused_when_written() -> None:
    data = RevisionPublished(
        revision=1, content_sha256="a" * 64, media_type="text/plain", size_bytes=1
    )
    event = wrap(data)
    envelope = event.envelope.model_copy(update={"correlationid": "x" * 300_000})
    wide = replace(event, envelope=envelope)

    with pytest.raises(UndecodableEvent) as caught:
        encode(wide)

    assert caught.value.code == "event_too_large"


@pytest.mark.req("EV-2")
def test_every_model_has_one_topic_and_every_topic_a_model() -> None:
    assert {topic.type for topic in TOPICS} == set(MODELS)


@pytest.mark.req("EV-10")
def test_streams_of_record_are_kept_for_ever() -> None:
    kept = {stream.name for stream in STREAMS if stream.append_only and stream.max_age_s == 0}

    assert {"AUTHORITY", "INDEX", "RELEASES"} <= kept


@pytest.mark.parametrize("name", sorted(LARGEST))
def test_no_integer_is_decoded_that_could_not_be_encoded(name: str) -> None:
    document = parse_json(LARGEST[name])
    decode(canonical_bytes(document))
    for path in _integers(document):
        if path[0] != "data":
            continue
        altered = json.dumps(_replaced(document, path, SAFE_INTEGER_MAX + 1)).encode()
        with pytest.raises(UndecodableEvent):
            decode(altered)


def test_the_largest_integers_are_among_the_examples() -> None:
    assert sum(len(list(_integers(parse_json(each)))) for each in LARGEST.values()) > 30


def _integers(value: Json, path: Path = ()) -> Iterator[Path]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield path
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _integers(each, (*path, name))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, each in enumerate(value):
            yield from _integers(each, (*path, index))


def _replaced(value: Json, path: Path, new: int) -> Json:
    if not path:
        return new
    step, *rest = path
    if isinstance(value, Mapping):
        return {k: _replaced(v, tuple(rest), new) if k == step else v for k, v in value.items()}
    assert isinstance(value, Sequence)
    return [_replaced(v, tuple(rest), new) if n == step else v for n, v in enumerate(value)]


@pytest.mark.parametrize(
    ("payload", "stated"),
    [
        (b'{"type":"chancery.run.cancelled.v9","data":7}', "chancery.run.cancelled.v9"),
        (b'{"data":{"type":"inner"}}', None),
        (b'{"type":7}', None),
        (b'{"type":"once","type":"twice"}', None),
        (b"[]", None),
        (b"\xff{", None),
    ],
)
def test_a_type_is_stated_by_the_attribute_alone(payload: bytes, stated: str | None) -> None:
    assert stated_type(payload) == stated
