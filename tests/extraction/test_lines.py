"""The lines of a page as a browser shows them, with links, chrome and headings."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.extraction import Page, extract, prepared
from scrapy_simhash.extraction.chrome import is_hidden
from scrapy_simhash.extraction.lines import count_words
from scrapy_simhash.extraction.selectors import Selectors
from tests.samples import CHINESE

ROOT = Path(__file__).parents[2]


def lines(html):
    return Page(prepared(html), Selectors()).lines


def texts(html, **wanted):
    """Return the texts of the wanted lines, joined by bars."""
    found = [
        line for line in lines(html) if all(getattr(line, name) == wanted[name] for name in wanted)
    ]
    return "|".join(line.text for line in found)


class TestShown:
    @pytest.mark.parametrize(
        ("html", "shown"),
        [
            ("<p>one</p>two<p>three</p>", "one|two|three"),
            ("<p>one<p>two", "one|two"),
            ("<div>one<div>two</div>three</div>", "one|two|three"),
            ("one<br>two<br/>three<hr>four", "one|two|three|four"),
            ("<h1>one</h1>two<h2>three</h2>", "one|two|three"),
            ("<ul><li>one<ul><li>two</li></ul>three</li><li>four</ul>", "one|two|three|four"),
            ("<ol><li>one<li>two</ol>", "one|two"),
            ("<article><header>one</header><section>two</section></article>", "one|two"),
            ("<blockquote>one</blockquote><pre>two</pre><figcaption>three", "one|two|three"),
            ("<p>a<b>b</b>c <i> d</i></p>", "abc d"),
            ("<p> \n one\t two&nbsp;three　four </p>", "one two three four"),
            ("<p>caf&eacute; &lt;b&gt; &amp;amp; &nope; &#x6e21;</p>", "café <b> &amp; &nope; 渡"),
            ("just text", "just text"),
            ("1 < 2 > 0", "1 < 2 > 0"),
            ("<p></p><p> </p><div></div>one", "one"),
            ("<p>a<script>no</script>b<style>no</style>c</p>", "abc"),
            ("a<svg>no<title>no</title><text>and</text><desc>no</desc></svg>b", "a and b"),
            ("a<svg><defs><text>no</text></defs></svg>b<template><p>no</p></template>c", "abc"),
            ("<svg><text><tspan>a</tspan><tspan>b</tspan></text></svg>", "a b"),
            ("<svg><foreignObject><p>a</p></foreignObject></svg>b", "a|b"),
            ("a <math><mi>x</mi><mo>−</mo><mn>5</mn></math> b", "a x − 5 b"),
            ("<math><msup><mi>x</mi><mn>2</mn></msup><mo>=</mo><mi>y</mi></math>", "x ^ 2 = y"),
            ("<math><mfrac><mn>1</mn><mrow><mn>2</mn></mrow></mfrac></math>", "1 / 2"),
            ("<math><semantics><mi>x</mi><annotation>no</annotation></semantics>", "x"),
            ("a<math alttext='x + 1'></math>b<math alttext=no><mi>y</mi></math>", "a x + 1 b y"),
            ("<h1>Integral of <math><mi>x</mi><mi>y</mi></math></h1>", "Integral of x y"),
            ("a<textarea>b\n&lt;i&gt;</textarea>c", "a|b <i>|c"),
            ("<object data=a.swf>one</object><canvas><p>two</p></canvas>", "one|two"),
            ("<object data=a.svg>no</object><object type=application/pdf>no</object>one", "one"),
            ("<datalist><option>no</datalist>one<video>no</video><audio>no</audio>", "one"),
            ("<x-a><template shadowrootmode=open><p>one<slot></template>two</x-a>", "one|two"),
            ("<x-a>no<template ShadowRootMode=closed><h1>one</template><b>no</b>no</x-a>", "one"),
            ("<x-a><b slot=s>2</b>no<template shadowrootmode=open><slot name=s></template>", "2"),
            ("<x-a><b slot=t>no</b><template shadowrootmode=open>1<slot name=s></template>", "1"),
            ("<iframe srcdoc='<p>one</p>&lt;p&gt;two'>no</iframe>three", "one|two|three"),
            ("<iframe srcdoc=' '>no</iframe>one", "one"),
            ("<p hidden=until-found>one</p><details><summary>two</summary>three", "one|two|three"),
            ("<p>a</p><noscript><p>no</p></noscript><p>b</p>", "a|b"),
            ("<custom-a>one</custom-a><p>two", "one|two"),
            ("<table><tr><td>one<td>two<tr><th>three<td><b>fo</b>ur</table>", "one two|three four"),
            ("<table><tr><td><p>one</p><p>two</p><td>three</table>", "one|two|three"),
            (
                "<table><caption>one<tr><td>two<td><table><tr><td>three<td>four</table></table>five",
                "one|two|three four|five",
            ),
            ("<dl><dt>Weight<dd>90 t<dt>Length<dd>31 m</dl>", "Weight|90 t|Length|31 m"),
            ("<button>one</button> <b>two</b> <a>three</a>", "one two three"),
            ("<form><p>0</p><label>1</label> <input value=no> <legend>2</legend>", "0|1|2"),
            ("<select><option>one<option>two</select>", "one|two"),
        ],
    )
    def test_lines_are_those_of_a_browser_but_a_table_row_is_one_line(self, html, shown):
        assert texts(html) == shown

    @pytest.mark.parametrize(
        "attribute",
        [
            "hidden",
            "hidden=''",
            "hidden='hidden'",
            "style='display:none'",
            "style='DISPLAY : NONE ;'",
            "style='color:red;display:none'",
            "style='display: none !important; color: red'",
            "style='visibility:hidden'",
            "style='visibility: collapse'",
            "style='content-visibility: hidden'",
            "popover",
            "popover=manual",
        ],
    )
    @pytest.mark.parametrize("tag", ["p", "span", "div", "a", "pre", "nav", "h1", "custom-a"])
    def test_hidden_elements_are_left_out_but_not_the_text_after_them(self, tag, attribute):
        html = f"<p>one</p><{tag} {attribute}>no<i>no<br>no</i><b>no</b></{tag}>two<p>three</p>"
        assert lines(html) == lines("<p>one</p>two<p>three</p>")

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
        assert not is_hidden(style)
        assert texts(f"<p style='{style}'>one</p>") == "one"


class TestMarksInTheInput:
    """Pages may contain the characters that `lines_of` uses as marks."""

    MARKS = tuple(map(chr, range(0xE000, 0xE011)))

    @pytest.mark.parametrize("mark", MARKS)
    @pytest.mark.parametrize(
        "written", ["{}", "&#{0};", "&#x{0:x};", "&#X{0:X}", "&#00{0};", "&#x0{0:x} "]
    )
    def test_marks_in_a_page_change_no_line(self, mark, written):
        text = written.format(mark if written == "{}" else ord(mark))
        html = f"<nav>a</nav><p>one{text} two</p><p>{text}</p><a title='{text}' href=x>three</a>"
        expected = lines("<nav>a</nav><p>one two</p><a href=x>three</a>")
        if mark == self.MARKS[-1]:  # not reserved
            assert mark in texts(html)
        else:
            assert lines(html) == expected


class TestLinks:
    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            ("<p>ab <a href=x>cde</a> f</p>", [("ab cde f", 3)]),
            ("<p><a href=x>a <b>b</b></a></p><p>c</p>", [("a b", 3), ("c", 0)]),
            ("<a href=x><p>ab</p></a>c", [("ab", 2), ("c", 0)]),
            ("<a href=x><p>a<p>bc</p></a>d", [("a", 1), ("bc", 2), ("d", 0)]),
            ("<p>a <button>bcd</button></p>", [("a bcd", 3)]),
            ("<p>a<a hidden>no</a>b</p>", [("ab", 0)]),
            ("<p>a<a>b<svg>no</svg>c</a>d</p>", [("abcd", 2)]),
            ("<p><a href=x>ab</a><a href=y>cd</a>e</p>", [("abcde", 4)]),
            ("<p><a href=x></a>ab</p>", [("ab", 0)]),
            ("<button>a<a href=x>b</a>c</button>d", [("abcd", 3)]),
        ],
    )
    def test_the_characters_of_links_are_counted(self, html, expected):
        assert [(line.text, line.link_characters) for line in lines(html)] == expected

    def test_links_of_chrome_do_not_count(self):
        html = "<nav><a href=x>a</a><ul><li><a href=y>b</a></ul><main><a href=z>c</a></main></nav>"
        found = [(line.link_characters, line.targets, line.row) for line in lines(html)]
        assert found == [(0, (), False), (0, (), False), (1, ("z",), False)]


class TestWords:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", 0),
            ("one", 1),
            ("one two, three", 3),
            ("渡轮六点离开", 3),
            ("渡轮六", 2),
            ("渡", 1),
            ("ferry 渡轮 08", 3),
            ("ひらがな。", 2),
            ("ภาษาไทย", 2),
            ("ກາ 渡轮六", 2),
            ("한국어 문서", 2),
            ("Ферри один", 2),
        ],
    )
    def test_scripts_without_spaces_have_words_of_two_or_four_characters(self, text, words):
        assert count_words(text) == words
        if text:
            (line,) = lines(f"<p>{text}</p>")
            assert line.words == words


@given(
    st.lists(
        st.sampled_from(
            "<p> </p> <div> </div> <b> </b> <br> <nav> </nav> <a> </a> <pre> </pre> <form> <table> "
            "<td> <tr> <dl> <dt> <h1> </h1> <header> </header> <script> </script> <svg> </svg> "
            "<div\xa0role=dialog> <div\xa0class=cookie> <section> </section> <dialog> </dialog> "
            "text words 渡轮 &nbsp; <p\xa0hidden> <!--c--> \ue001 &#xe003;".split(" ")
        ),
        max_size=30,
    )
)
def test_any_nesting_gives_valid_lines(pieces):
    html = "".join(pieces).replace("\xa0", " ")
    found = lines(f"{html}</svg></script><p>{CHINESE}</p>")
    for line in found:
        assert line.text == " ".join(line.text.split()) != ""
        assert 0 <= line.link_characters <= len(line.text)
        assert not any("\ue000" <= character <= "\ue006" for character in line.text)
        assert line.words >= (line.text != "")
    assert found == lines(f"{html}</svg></script><p>{CHINESE}</p>")


@pytest.mark.parametrize("tag", ["main", "section", "article", "x-app"])
def test_what_the_parser_leaves_in_the_head_is_visible(tag):
    # libxml2 does not know these tags, and a page need not have a body.
    assert extract(f"<title>Ferries</title><{tag}><p>Line 4</p></{tag}>", "text").text == "Line 4"
