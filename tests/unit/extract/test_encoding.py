"""What a publisher is told whose text is not UTF-8."""

from __future__ import annotations

import pytest

from chancery.extract.encoding import Misencoding, misencoding


@pytest.mark.parametrize("data", [b"", b"plain", "Zürich, 東京".encode(), b"\xef\xbb\xbfmarked"])
def test_a_text_in_utf8_has_nothing_wrong_with_it(data: bytes) -> None:
    """The positive control."""
    assert misencoding(data) is None


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("hall seven".encode("utf-16"), "nul_byte"),
        ("東京".encode("utf-16"), "invalid_utf8"),
    ],
)
def test_a_text_in_utf16_is_called_by_its_name(data: bytes, code: str) -> None:
    """The code stays that of the byte that does not fit."""
    fault = misencoding(data)
    assert fault == Misencoding(code, "is UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)")


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        ("seven".encode("utf-16-le"), "nul_byte", "if it is UTF-16, save it as UTF-8"),
        (b"a\x00b", "nul_byte", "else take the byte out"),
        ("Zürich".encode("latin-1"), "invalid_utf8", "byte 1 cannot be decoded; save it as UTF-8"),
        (b"<meta charset=windows-1252>\xfc", "invalid_utf8", "iconv -f CHARSET -t UTF-8"),
    ],
)
def test_a_refused_text_is_told_with_its_remedy(data: bytes, code: str, said: str) -> None:
    """Whatever the bytes are, the sentence says how to make UTF-8 of them."""
    fault = misencoding(data)
    assert fault is not None
    assert (fault.code, said in fault.reason) == (code, True)
