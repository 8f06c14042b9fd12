"""What is kept of a message's headers: the attributes of a CloudEvent in binary mode, bounded.

Without them an event in binary mode cannot be told from one in structured mode, and then its own
payload would say who it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PREFIX: Final = "ce-"
EVENT_HEADERS: Final = frozenset(
    PREFIX + name
    for name in (
        "specversion",
        "id",
        "source",
        "type",
        "subject",
        "time",
        "datacontenttype",
        "dataschema",
        "tenant",
        "traceparent",
    )
)
"""Every header that any reader of an event looks at; no other is kept."""

VALUE_CHARACTERS_MAX: Final = 4096
"""Longer values are cut: what is left is too long for every attribute, percent-encoded or not."""


def event_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """Return the attributes among `headers` under lower-case names; of equal names the last."""
    kept: dict[str, str] = {}
    for name, value in (headers or {}).items():
        if name[:3].lower() == PREFIX and name.lower() in EVENT_HEADERS:
            kept[name.lower()] = value[:VALUE_CHARACTERS_MAX]
    return kept


def parse_headers(block: bytes) -> dict[str, str]:
    """Return what a raw header block says, `NATS/1.0` and then lines, as the driver reads it."""
    found: dict[str, str] = {}
    for line in block.split(b"\r\n")[1:]:
        name, colon, value = line.partition(b":")
        text = name.strip().decode("ascii", "replace")
        if colon and text.isascii() and not any(each.isspace() for each in text):
            found[text] = value.strip().decode("utf-8", "replace")
    return found
