"""Why no server answered, as far as this side can tell, and whether trying again may help."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpx

from chancery.client.errors import Unreachable


def may_pass(error: httpx.TransportError) -> bool:
    """Tell whether the same call may succeed later without any change."""
    if isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return False
    return not any(isinstance(each, ssl.SSLError) for each in _causes(error))


def unreachable(url: httpx.URL, error: httpx.TransportError) -> Unreachable:
    """Return what to say of a server that did not answer; it never holds the token."""
    return Unreachable(_sentence(url, error))


def _sentence(url: httpx.URL, error: httpx.TransportError) -> str:
    causes = list(_causes(error))
    if isinstance(error, httpx.UnsupportedProtocol):
        return f"{url} is no address of a server; it begins with http:// or https://"
    if isinstance(error, httpx.LocalProtocolError):
        return "the request cannot be sent; does the token hold a space or a line break?"
    if any(isinstance(each, socket.gaierror) for each in causes):
        return f"no host is found under the name {url.host}"
    if any(isinstance(each, ssl.SSLError) for each in causes):
        return f"no secure connection comes about with {url}; does the server speak http:// there?"
    if isinstance(error, httpx.ReadTimeout):
        return f"the server at {url} took the request and did not answer in time"
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
        return f"the server at {url} broke the connection off; does it speak https:// there?"
    return f"nothing answers at {url}; is `chancery up` running there?"


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__
