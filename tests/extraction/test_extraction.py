import time

import pytest
import readability
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.errors import ExtractionError
from scrapy_simhash.extraction import extract
from scrapy_simhash.extraction.readability import _lean_document
from tests.extractors import INSTALLED, OURS
from tests.samples import (
    CHINESE,
    ENGLISH,
    FOOTER,
    NAVIGATION,
    PARAGRAPHS,
    REFERENCE_PAGE,
    article_page,
)

each = pytest.mark.parametrize("extractor", INSTALLED)
# Optional extractors leave out text that is too short or nested too deeply for them.
each_of_ours = pytest.mark.parametrize("extractor", OURS)


class TestVisibleText:
    @pytest.mark.parametrize(
        "html",
        [
            "wo<b>rd</b>s",
            "<p>w<span>or<i>d</i></span>s</p>",
            "<p>wor<a href='/x'>d</a>s",
            "<p>wor<wbr>ds",
            "<p>wor<img src=x>ds",
            "<p>wor<embed src=x>ds",
            "<p>wor<!-- a comment -->ds",
            "<p>wor<?php echo ?>ds",
            "<p>wor<script>var x = 1;</script>ds",
            "<p>wo<sub>r</sub><o:p></o:p>ds",
            "<p>wor<custom-element>ds</custom-element>",
            "<p>&#119;or&#x64;s",
            "<p>wo\0rds",
        ],
    )
    def test_inline_tags_do_not_split_words(self, html):
        assert extract(html, "text").text == "words"


class TestOddPages:
    @each_of_ours
    @pytest.mark.parametrize(
        "html",
        [
            "",
            " \n\t",
            "\0\0",
            "<!-- only a comment -->",
            "<!-- never closed <p>text",
            "<!DOCTYPE html>",
            "<?xml version='1.0'?>",
            "<html></html>",
            "<head><title>title</title></head>",
            "<script>var text = 'hidden';</script>",
            "<body><img src='a.png'><img src='b.png'></body>",
            "<style>p {}</style><!-- c --><img src=x>",
            "<frameset><frame src=a></frameset>",
            "<",
            "</p>",
            "<p",
        ],
    )
    def test_pages_without_text_are_empty(self, extractor, html):
        text = extract(html, extractor).text
        assert text in {"", "<"}
        assert bool(text) == (html == "<")

    @each_of_ours
    @pytest.mark.parametrize("broken", ["<p>{}", "<div><p>{}</div></p>", "<p>{}</b></x><td>", "{}"])
    def test_broken_markup_keeps_its_text(self, extractor, broken):
        sentence = "The harbour was closed all night, and the ferry waited outside."
        assert sentence in extract(broken.format(sentence), extractor).text

    @each
    def test_lone_surrogates_are_replaced(self, extractor):
        text = extract(article_page("\ud800 " + PARAGRAPHS[0] + "\udfff", *PARAGRAPHS), extractor)
        assert PARAGRAPHS[0] in text.text
        text.text.encode("utf-8")

    @each
    @pytest.mark.parametrize("character", ["\0", "\x01", "\x0b", "\x1f", "\ufffe", "&#1;"])
    @pytest.mark.parametrize(
        "markup",
        [
            "<p>{}</p>",
            "<p>{}<script>x()</script> Read on.</p>",
            "<p>{}<!-- an advertisement --> Read on.</p>",
            "<div>{}<p>Read on.</p></div>",
        ],
    )
    def test_a_page_with_a_control_character_is_read(self, extractor, character, markup):
        page = article_page().replace(
            f"<p>{PARAGRAPHS[0]}</p>", markup.format(PARAGRAPHS[0] + character)
        )
        text = extract(page, extractor).text
        for paragraph in PARAGRAPHS:
            assert paragraph in text

    @each
    def test_nul_is_removed(self, extractor):
        page = article_page()
        riddled = "\0".join(page[i : i + 7] for i in range(0, len(page), 7))
        assert extract(riddled, extractor) == extract(page, extractor)

    @each
    @pytest.mark.parametrize(
        "declaration",
        [
            '<?xml version="1.0" encoding="utf-16"?>',
            "<?xml version='1.0' encoding='gb2312'?>",
            '<?xml version="1.0" encoding="no-such-encoding"?>',
            "\ufeff",
        ],
    )
    def test_encoding_declarations_are_ignored(self, extractor, declaration):
        for head in ("", '<meta charset="gb2312">', '<meta charset="utf-16">'):
            page = article_page("第一班渡轮准时离开码头,旅客很多。", *PARAGRAPHS, head=head)
            text = extract(declaration + page, extractor).text
            assert "第一班渡轮准时离开码头,旅客很多。" in text
            assert "a café, or both" in text

    @each_of_ours
    @pytest.mark.parametrize("tag", ["div", "span", "table", "b", "ul"])
    def test_a_page_nested_too_deeply_is_read_up_to_the_limit(self, extractor, tag):
        depth = 100_000
        page = f"<p>Words at the top.</p>{f'<{tag}>' * depth}deep{f'</{tag}>' * depth}"
        started = time.perf_counter()
        assert "Words at the top." in extract(page, extractor).text
        assert time.perf_counter() - started < 30

    @given(st.text(st.characters(), max_size=80))
    def test_visible_text_of_any_text_raises_nothing(self, html):
        assert isinstance(extract(html, "text").text, str)


class TestReadability:
    def test_it_finds_only_the_article(self):
        text = extract(article_page(), "readability").text
        assert text.splitlines() == ["A new ferry", *PARAGRAPHS]
        everything = extract(article_page(), "text").text.splitlines()
        assert everything == [*NAVIGATION.split(), "A new ferry", *PARAGRAPHS, FOOTER]

    def test_every_extractor_returns_the_title(self):
        for extractor in INSTALLED:
            assert extract(article_page(), extractor).title == "Ferry news"
        assert (
            extract("<title> A\n <b>ferry</b> </title><title>B</title>x").title == "A <b>ferry</b>"
        )
        assert extract("<p>x").title == extract("").title == ""

    @pytest.mark.parametrize(
        "failure", [RecursionError("too deep"), readability.readability.Unparseable("no article")]
    )
    def test_its_failures_are_extraction_errors(self, monkeypatch, failure):
        def fail(*_args, **_options):
            raise failure

        monkeypatch.setattr(_lean_document(), "summary", fail)
        expected = f"'readability' failed: {type(failure).__name__}: {failure}"
        with pytest.raises(ExtractionError, match=expected) as e:
            extract(article_page())
        assert e.value.__cause__ is failure
        assert e.value.extractor == "readability"


class TestFallback:
    def test_segments_replace_a_short_article(self):
        piece = extract(REFERENCE_PAGE, "readability-only")
        assert piece.way == "readability-only"
        assert piece.text.count("Returns how many") == 1
        found = extract(REFERENCE_PAGE)
        assert (found.way, found.title) == ("segments", "Counting boats")
        assert found == extract(REFERENCE_PAGE, "segments")
        assert found.text.count("Returns how many") == 9
        assert "front page" not in found.text, "navigation is no content"

    @pytest.mark.parametrize("text", [*PARAGRAPHS[:1], CHINESE + CHINESE[::-1], ENGLISH])
    def test_segments_do_not_replace_a_whole_article(self, text):
        page = article_page(text, text)
        found = extract(page)
        assert found.way == "readability"
        assert found.text == extract(page, "readability-only").text

    @pytest.mark.parametrize(("more", "way"), [(0, "readability"), (1, "segments")])
    def test_the_text_with_more_words_counts(self, more, way):
        # readability leaves out what is "extra".
        page = (
            f"<div class='content'><p>{'boats, ' * 400}</p></div>"
            f"<div class='extra'><p>{'ships, ' * 8 * more}</p></div>"
        )
        assert extract(page, "readability-only").text.count(",") == 400
        found = extract(page)
        assert found.way == way
        assert len(found.text.split("\n")) == 1 + more

    @pytest.mark.parametrize("page", ["<p>Closed.</p>", "<nav><p>Menu</p></nav>"])
    def test_a_page_of_few_words_keeps_them(self, page):
        found = extract(page)
        assert found.way == "readability"
        assert found.text
        assert found.text in page

    @pytest.mark.parametrize("chrome", ["<nav>Menu</nav>", "<footer>Visitor 4711</footer>"])
    def test_chrome_of_a_short_page_is_no_text(self, chrome):
        assert extract(f"{chrome}<p>{PARAGRAPHS[0]}</p>").text == PARAGRAPHS[0]
