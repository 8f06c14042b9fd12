"""The text of HTML: what a browser shows, hostile markup included."""

from __future__ import annotations

from html import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.extract.html import read_html
from chancery.kernel.errors import Rejected

_WORDS = st.lists(
    st.text(
        st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1
    ),
    min_size=1,
    max_size=6,
).map(" ".join)
_INLINE = st.sampled_from(["b", "i", "span", "a", "code", "em"])


def _text(html: str) -> str:
    return read_html(html.encode())


@settings(max_examples=80, deadline=None)
@given(texts=st.lists(_WORDS, min_size=1, max_size=5), tag=_INLINE)
def test_every_paragraph_is_there_letter_by_letter(texts: list[str], tag: str) -> None:
    html = "".join(f"<p> <{tag}>{escape(text)}</{tag}>\n</p>\n" for text in texts)

    assert _text(f"<!doctype html><body>{html}</body>") == "\n\n".join(texts)


@settings(max_examples=200, deadline=None)
@given(noise=st.text("<>/!-=\"' abdivscrptyle&;#x0", max_size=80))
def test_no_markup_is_too_broken_to_read_the_same_way_twice(noise: str) -> None:
    html = f"<p>before</p>{noise}"

    first = _text(html)

    assert first.startswith("before")
    assert first == _text(html)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a&nbsp;\n\n b\u200b", "a\u00a0 b\u200b"),
        ("<p>a <b>b</b>c</p>d", "a bc\n\nd"),
        ("a<br>b<br><br>c", "a\nb\n\nc"),
        ("<pre>\n a\n\tb </pre>c", " a\n\tb \n\nc"),
        ("<table><tr><th>a<td>b<tr><td><p>c</table>", "a\tb\nc"),
        ("x<table><tr><td><p>a</p></td> <td><p>b</p></td></tr></table>y", "x\n\na\tb\n\ny"),
        ("<table><tr><td>a<td><td><p>c<p>d</table>", "a\tc\n\nd"),
        ("<ul><li>a<li>b</ul>", "a\nb"),
        ("<svg><desc>no</desc><text>yes</text></svg>", "yes"),
        ("\ufeffmark", "mark"),
        ("&lt;script&gt;", "<script>"),
    ],
)
def test_white_space_and_blocks_follow_what_a_browser_shows(html: str, text: str) -> None:
    assert _text(html) == text


@pytest.mark.parametrize(
    "unseen",
    [
        "<script>x</script>",
        "<style>x</style>",
        "<script>a</script x>",
        "<!-- x -->",
        "<template>x</template>",
        "<noscript>x</noscript>",
        "<iframe>x</iframe>",
        "<div hidden>x<p>y</p></div>",
        '<div style="color:red; DISPLAY :none">x</div>',
        '<span style="visibility:hidden">x</span>',
        "<dialog>x</dialog>",
        "<title>x</title>",
        '<input type="hidden" value="x">',
        '<img alt="x">',
    ],
)
def test_what_no_reader_sees_is_no_text(unseen: str) -> None:
    assert _text(f"a {unseen}b") in {"a b", "a\nb", "a\n\nb"}


def test_a_shown_twin_of_each_hidden_thing_is_read() -> None:
    html = '<div>1</div><div style="color:red">2</div><dialog open>3</dialog>'

    assert _text(html) == "1\n2\n3"


def test_nesting_of_a_thousand_levels_is_read() -> None:
    assert _text("<div>" * 1000 + "x" + "</div>" * 1000 + "y") == "x\ny"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_document"),
        (b"<p>\xff", "invalid_utf8"),
        (b"<p>a\x00", "nul_character"),
        (b"<script>only()</script>", "no_text"),
    ],
)
def test_what_shows_nothing_is_refused_by_code(data: bytes, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        read_html(data)

    assert refused.value.code == code
