"""Text of HTML that attributes hide is no text; its twin, which looks alike and is seen, is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.extract.css_values import declarations
from chancery.extract.html import read_html

pytestmark = pytest.mark.req("CR-8")

HIDING = [
    "display:none",
    "DISPLAY : NONE",
    "display:/**/none",
    "display/* a:b; */:none/* never closed",
    "d\\69splay:none",
    "display:n\\06f ne",
    "display:none!important; display:block",
    "display:none;display:sideways",
    "color:red;;;display:none",
    "};display:none",
    "background:url(a;b);display:none",
    "content:'a;b';display:none",
    "visibility:hidden",
    "visibility:collapse",
    "content-visibility:hidden",
    "opacity:0",
    "opacity:0.0e5",
    "opacity:0%",
    "opacity:-1",
    "opacity:calc(1 - 1)",
    "opacity:.01",
    "filter:opacity(0)",
    "font-size:0",
    "font-size:0px",
    "font-size:0.4px",
    "font-size:0em",
    "font-size:calc(0 * 1px)",
    "font-size:min(0px, 3em)",
    "font:0/0 a",
    "font: 700 0/1 sans-serif",
    "text-indent:-9999px",
    "text-indent:-100em",
    "position:absolute;clip:rect(0,0,0,0)",
    "position:absolute;clip:rect(1px 1px 1px 1px)",
    "clip-path:inset(50%)",
    "clip-path:circle(0)",
    "clip-path:polygon(0 0, 0 0, 0 0)",
    "height:0;overflow:hidden",
    "height:0;overflow:hidden;padding:0 30px;min-height:auto",
    "height:0;overflow:hidden;padding:0;min-height:0",
    "max-height:0;overflow-y:clip",
    "width:1px;height:1px;overflow:hidden",
    "position:absolute;left:-9999px",
    "position:fixed;top:-200vh",
    "position:absolute;right:9999px",
    "position:absolute;inset:0 0 0 -9999px",
    "margin-left:-9999px",
    "margin:-9999px",
    "transform:scale(0)",
    "transform:translateX(-9999px)",
    "scale:0",
    "color:transparent",
    "color:rgba(0,0,0,0)",
    "color:rgb(1 2 3 / 0%)",
    "color:#0000",
    "color:#12345600",
    "color:hsl(120 100% 50% / 0)",
    "-webkit-text-fill-color:transparent",
    "color:white;background:#fff",
    "color:rgb(255,255,255);background-color:white",
    "color:red;background:red",
]

SHOWN = [
    "display:block",
    "display:none;display:block",
    "display:block!important;display:none",
    "not-display:none",
    "--display:none",
    "content:'display:none'",
    "/*display:none*/",
    "background:url(display:none;visibility:hidden)",
    "display:none sideways",
    "visibility:visible",
    "opacity:1",
    "opacity:50%",
    "opacity:none",
    "opacity:var(--seen)",
    "font-size:12px",
    "font-size:-1px",
    "font-size:1",
    "font-size:.8em",
    "font-size:clamp(1rem, 2vw, 3rem)",
    "font:bold 12px/0 serif",
    "text-indent:-2em",
    "clip:rect(0,0,0,0)",
    "position:absolute;clip:rect(0,90px,20px,0)",
    "clip-path:inset(0 1px)",
    "height:0",
    "width:1%;overflow:hidden",
    "height:0;overflow:hidden;padding:30px",
    "height:0;overflow:hidden;padding-bottom:56.25%",
    "height:0;overflow:hidden;min-height:50px",
    "width:0;overflow:hidden;min-width:min-content",
    "max-height:20em;overflow:hidden",
    "left:-9999px",
    "position:absolute;left:-20px",
    "margin-left:-20px",
    "transform:translateX(-20px) scale(1)",
    "color:#000",
    "color:rgba(0,0,0,.5)",
    "color:transparent;color:black",
    "color:transparent;background-clip:text;background-image:linear-gradient(red,blue)",
    "color:white",
    "color:white;background:black",
    "color:white;background:white url(dark.png)",
]


def _text(html: str) -> str:
    return read_html(html.encode())


def _escaped(style: str) -> str:
    return style.replace("&", "&amp;").replace('"', "&quot;")


@pytest.mark.parametrize("style", HIDING)
def test_a_style_that_hides_leaves_no_text(style: str) -> None:
    assert _text(f'<p>a</p><div style="{_escaped(style)}">x<p>y</p></div><p>b</p>') == "a\n\nb"


@pytest.mark.parametrize("style", SHOWN)
def test_a_style_that_hides_nothing_keeps_the_text(style: str) -> None:
    assert _text(f'<p>a</p><div style="{_escaped(style)}">x</div><p>b</p>') == "a\n\nx\n\nb"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ('<p style="visibility:hidden">x<b style="visibility:visible">y</b>x</p>', "y"),
        ('<p style="font-size:0">x<b style="font-size:9pt">y</b>x</p>', "y"),
        ('<p style="font-size:0">x<b style="font-size:2em">x</b><button>y</button></p>', "y"),
        ('<p style="color:transparent">x<b style="color:navy">y</b></p>', "y"),
        ('<p style="color:transparent">x<b style="color:inherit">x</b></p>', ""),
        ('<div style="text-indent:-9999px">x<p style="text-indent:0">y</p></div>', "y"),
        ('<p style="opacity:0">x<b style="opacity:1">x</b></p>y', "y"),
        ('<p style="opacity:.2"><b style="opacity:.2">x</b>y</p>', "y"),
        ('<p style="display:none">x<b style="display:block">x</b></p>y', "y"),
        ('<p style="font-size:0"><b style="font-size:initial">y</b></p>', "y"),
    ],
)
def test_what_is_inherited_may_be_said_anew_and_what_is_gone_may_not(html: str, text: str) -> None:
    assert _text(f"a {html}").split() == ["a", *text.split()]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p hidden>x</p>", ""),
        ('<p hidden="">x</p>', ""),
        ('<p hidden="until-found">x</p>', ""),
        ('<p hidden="until-found" style="display:block">x</p>', ""),
        ('<p hidden style="display:block">y</p>', "y"),
        ("<p popover>x</p>", ""),
        ("<dialog>x</dialog>", ""),
        ("<dialog open>y</dialog>", "y"),
        ('<dialog style="display:block">y</dialog>', "y"),
        ("<details><summary>y</summary><p>z</p></details>", "y z"),
        ("<template style='display:block'>x</template>", ""),
        ("<noscript>x</noscript>", ""),
        ('<p aria-hidden="true">y</p>', "y"),
        ('<table><tr><td style="max-width:0;overflow:hidden">y</td></tr></table>', "y"),
        ('<span style="height:0;overflow:hidden">y</span>', "y"),
        ('<span style="height:0;overflow:hidden;display:block">x</span>', ""),
        ('<svg><text display="none">x</text><text fill="none">x</text><text>y</text></svg>', "y"),
        ('<svg><text opacity="0">x</text><text fill="red;display:none">y</text></svg>', "y"),
        ('<svg><text fill-opacity="0">x</text><text visibility="hidden">x</text></svg>y', "y"),
        ("<svg><clipPath><text>x</text></clipPath></svg>y", "y"),
        ('<p fill="none" opacity="0">y</p>', "y"),
    ],
)
def test_attributes_hide_as_they_do_in_a_browser(html: str, text: str) -> None:
    assert _text(f"a {html}").split() == ["a", *text.split()]


def test_rules_of_style_sheets_are_not_applied() -> None:
    """A stated limit: most of them are not in the file, and scripts and media decide with them."""
    assert _text("<style>.n{display:none}</style><p class=n>read</p>") == "read"


@settings(max_examples=300, deadline=None)
@given(noise=st.text(";:{}()[]\"'/*\\! #%-0ainoesply,", max_size=40))
def test_no_style_is_too_broken_to_read(noise: str) -> None:
    list(declarations(noise))

    assert _text(f'a<p style="{_escaped(noise)};/**/;display:block">').startswith("a")


def test_brackets_as_deep_as_a_style_has_room_for_are_read_in_time() -> None:
    depth = 200_000

    assert _text(f'a<p style="width:{"calc(" * depth}">b</p>') == "a\n\nb"
    assert _text(f'a<p style="{"{" * depth}">b</p>') == "a\n\nb"
