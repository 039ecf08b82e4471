from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import fragment_fromstring

from scrapy_simhash.blocks import (
    DISPLAY_NONE,
    Block,
    content_blocks,
    iterate_blocks,
    join,
    prose_characters,
)
from tests.samples import CHINESE, ENGLISH


def blocks(html: str) -> list[Block]:
    return list(iterate_blocks(fragment_fromstring(html, create_parent="div")))


def plain(text: str, links: int = 0, *, chrome: bool = False, pre: bool = False) -> Block:
    return Block(text, links, chrome, pre)


class TestLines:
    @pytest.mark.parametrize(
        ("html", "lines"),
        [
            ("<p>one</p>two<p>three</p>", "one|two|three"),
            ("one<br>two", "one|two"),
            ("<p>a<b>b</b>c <i> d</i></p>", "abc d"),
            ("<p> \n one\t two&nbsp;three </p>", "one two three"),
            ("<p></p><p> </p><div></div>", ""),
            ("<p>a<script>no</script>b<style>no</style>c</p>", "abc"),
            ("a<svg><text>no</text></svg>b<template><p>no</p></template>c", "abc"),
            ("<p>a</p><noscript><p>no</p></noscript><p>b</p>", "a|b"),
            ("<custom-a>one</custom-a><p>two", "one|two"),
        ],
    )
    def test_are_those_that_a_browser_shows(self, html, lines):
        assert join(blocks(html)) == lines.replace("|", "\n")

    @pytest.mark.parametrize(
        "attribute",
        [
            "hidden",
            "hidden=''",
            "hidden='hidden'",
            "hidden='until-found'",
            "style='display:none'",
            "style='DISPLAY : NONE ;'",
            "style='color:red;display:none'",
            "style='display: none !important; color: red'",
            "style='visibility:hidden'",
        ],
    )
    @pytest.mark.parametrize("tag", ["p", "span", "div", "a", "pre", "nav", "custom-a"])
    def test_hidden_ones_are_left_out_and_what_follows_is_kept(self, tag, attribute):
        html = f"<p>one</p><{tag} {attribute}>no<i>no<br>no</i><b>no</b></{tag}>two<p>three</p>"
        assert blocks(html) == [plain("one"), plain("two"), plain("three")]

    @pytest.mark.parametrize(
        "style",
        [
            "",
            "display:block",
            "--display:none-such",
            "background:url(display:nonesuch)",
            "color:red",
        ],
    )
    def test_other_styles_hide_nothing(self, style):
        assert not DISPLAY_NONE.search(style)
        assert blocks(f"<p style='{style}'>one</p>") == [plain("one")]

    def test_hidden_ones_within_hidden_ones(self):
        html = "<div hidden>no<p hidden>no</p><svg>no</svg>no</div><p>a<b hidden>no</b>b</p>"
        assert blocks(html) == [plain("ab")]

    def test_what_follows_the_element_is_not_its_own(self):
        root = fragment_fromstring("<div><p>one</p>two</div>", create_parent=False)
        assert join(iterate_blocks(root[0])) == "one"


class TestMarks:
    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            ("<p>ab <a href=x>cde</a> f</p>", [plain("ab cde f", 3)]),
            ("<p><a href=x>a <b>b</b></a></p><p>c</p>", [plain("a b", 3), plain("c")]),
            ("<a href=x><p>ab</p></a>c", [plain("ab", 2), plain("c")]),
            ("<p>a <button>bcd</button></p>", [plain("a bcd", 3)]),
            ("<p>a<a hidden>no</a>b</p>", [plain("ab")]),
            ("<p>a<a>b<svg>no</svg>c</a>d</p>", [plain("abcd", 2)]),
        ],
    )
    def test_characters_of_links_are_counted(self, html, expected):
        assert blocks(html) == expected

    @pytest.mark.parametrize("tag", ["nav", "footer", "aside", "form"])
    def test_chrome_ends_where_it_ends(self, tag):
        html = f"one<{tag}>two<p>three</p><nav>four</nav>five</{tag}>six"
        assert blocks(html) == [
            plain("one"),
            *(plain(text, chrome=True) for text in ("two", "three", "four", "five")),
            plain("six"),
        ]

    def test_so_does_preformatted_text(self):
        assert blocks("a<pre>b<span>c</span></pre>d") == [
            plain("a"),
            plain("bc", pre=True),
            plain("d"),
        ]


class TestContent:
    def test_chrome_and_lines_of_links_are_none(self):
        kept = [plain("ten letters", 4), plain("ten letters", 0), plain("x" * 10, 4, pre=True)]
        chrome = [plain("ten letters", 0, chrome=True), plain("x" * 10, 5), plain("abc", 3)]
        assert content_blocks([*chrome, *kept]) == kept

    @pytest.mark.parametrize(
        ("text", "counts"),
        [
            ("one two three four five six seven eight nine ten", True),
            ("one two three four five six seven eight nine — !", False),
            ("渡轮六点离开旅客很多", True),
            ("渡轮六点离开旅客很。", False),
            ("ยังมีเรือลำสุดท้ายออกตอนเย็น", True),
            ("船は六時に出ます。", False),
            ("1 2 3 4 5 6 7 8 9 10", True),
        ],
    )
    def test_running_text_has_ten_words_or_characters(self, text, counts):
        assert prose_characters([plain(text)]) == (len(text) if counts else 0)

    def test_short_lines_count_where_they_are_preformatted(self):
        assert prose_characters([plain("ls -l", pre=True), plain("Home"), plain(ENGLISH)]) == (
            len("ls -l") + len(ENGLISH)
        )


@given(
    st.lists(
        st.sampled_from(
            "<p> </p> <div> </div> <b> </b> <br> <nav> </nav> <a> </a> <pre> </pre> <form> <table> "
            "<td> <script> </script> <svg> </svg> text words 渡轮 &nbsp; <p\xa0hidden> <!--c-->"
            "".split(" ")
        ),
        max_size=30,
    )
)
def test_no_nesting_confuses_the_counts(pieces):
    html = "".join(pieces).replace("\xa0", " ")
    for block in blocks(f"{html}</svg></script><p>{CHINESE}</p>"):
        assert block.text == " ".join(block.text.split()) != ""
        assert 0 <= block.link_characters <= len(block.text)
