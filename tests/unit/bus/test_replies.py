"""The server's answers, parsed once, with its refusals as errors of ours."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from chancery.bus.connection import ApiRefused, parse_reply
from chancery.bus.publish import Outgoing
from chancery.kernel.errors import Corrupt


class Ack(BaseModel):
    """A part of an acknowledgement."""

    seq: int


def test_an_answer_is_parsed() -> None:
    assert parse_reply(b'{"stream": "S", "seq": 7}', Ack).seq == 7


def test_a_refusal_keeps_the_numbers_of_the_server() -> None:
    data = b'{"error": {"code": 404, "err_code": 10037, "description": "no message found"}}'

    with pytest.raises(ApiRefused) as caught:
        parse_reply(data, Ack)

    assert (caught.value.status, caught.value.error_code) == (404, 10037)
    assert caught.value.is_missing


@pytest.mark.parametrize("data", [b"", b"{", b'{"seq": "x"}', b"[]"])
def test_anything_else_is_corrupt(data: bytes) -> None:
    with pytest.raises(Corrupt):
        parse_reply(data, Ack)


def test_a_message_has_only_the_headers_it_needs() -> None:
    plain = Outgoing(subject="s", payload=b"", message_id="m1")
    full = Outgoing(subject="s", payload=b"", message_id="m1", expect_last=0, ttl_s=3600)

    assert plain.headers() == {"Nats-Msg-Id": "m1"}
    assert full.headers() == {
        "Nats-Msg-Id": "m1",
        "Nats-Expected-Last-Subject-Sequence": "0",
        "Nats-TTL": "3600s",
    }
