"""Of a message's headers the attributes of an event are kept, whole or too long for any use."""

from __future__ import annotations

from urllib.parse import quote, unquote

from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from chancery.bus.headers import (
    EVENT_HEADERS,
    VALUE_CHARACTERS_MAX,
    event_headers,
    parse_headers,
)

NAMES = st.sampled_from(
    ["ce-id", "Ce-Id", "CE-ID", "ce-specversion", "ce-type", "Nats-Msg-Id", "ce-other", "x", "ce"]
)


@given(st.dictionaries(NAMES, st.text(max_size=10)))
def test_exactly_the_attributes_are_kept_and_the_last_of_equal_names_counts(
    headers: dict[str, str],
) -> None:
    named = {name.lower(): value for name, value in headers.items()}

    assert event_headers(headers) == {
        name: value for name, value in named.items() if name in EVENT_HEADERS
    }


def test_a_message_without_headers_has_none() -> None:
    assert event_headers(None) == event_headers({}) == {}


@given(st.text(st.characters(codec="utf-8"), min_size=201).map(quote), st.integers(0, 3))
def test_a_value_that_fits_no_attribute_fits_none_when_it_is_cut(text: str, times: int) -> None:
    cut = event_headers({"ce-id": text * (1 + 20 * times)})["ce-id"]

    assert len(cut) <= VALUE_CHARACTERS_MAX
    assert len(unquote(cut)) > 200


@given(st.lists(st.tuples(NAMES, st.text("ab %:\u00e9", max_size=8)), max_size=6))
def test_a_stored_block_is_read_as_the_driver_reads_a_delivered_one(
    lines: list[tuple[str, str]],
) -> None:
    body = "".join(f"{name}: {value}\r\n" for name, value in lines).encode()

    read = Client._parse_header_lines(body)  # pyright: ignore[reportPrivateUsage]
    assert parse_headers(b"NATS/1.0\r\n" + body + b"\r\n") == read


def test_what_is_no_header_line_is_passed_over() -> None:
    block = b"NATS/1.0\r\nce-id: e1\r\nnothing\r\nce type: x\r\nc\xc3\xa9-id: y\r\n\r\n"

    assert parse_headers(block) == {"ce-id": "e1"}
