from __future__ import annotations

import logging
import time

import pytest
import readability
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.errors import ExtractionError
from scrapy_simhash.extraction import MIN_SHARE_OF_SEGMENTS, Extraction, extract, visible_text
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
# Others leave out what is too short or too deep for them.
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

    @pytest.mark.parametrize(
        "tag",
        "script style noscript template svg textarea iframe object video audio canvas math".split(),
    )
    def test_what_a_browser_does_not_show_is_left_out_and_what_follows_is_kept(self, tag):
        html = f"<p>one <{tag}>hidden</{tag}> two</p><{tag}>hidden</{tag}><p>three</p>"
        assert visible_text(html) == "one two\nthree"

    def test_an_embedded_element_hides_nothing_behind_it(self):
        html = "<div>one</div><embed src=a.swf><div>two</div><p><embed src=b>three</p>"
        assert visible_text(html) == "one\ntwo\nthree"

    def test_the_head_is_left_out(self):
        html = "<html><head><title>hidden</title><meta name=a content=hidden></head><body>text"
        assert visible_text(html) == "text"


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
    @pytest.mark.parametrize("part", [0.3, 0.5, 0.7, 0.9, 0.99])
    def test_a_page_cut_off_anywhere_is_read_as_far_as_it_goes(self, extractor, part):
        page = article_page()
        cut = page[: int(len(page) * part)]
        text = extract(cut, extractor).text
        assert ("The new ferry" in text) == ("The new ferry" in cut)

    @each
    def test_lone_surrogates_cost_one_character(self, extractor):
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
    def test_a_control_character_does_not_cost_the_page(self, extractor, character, markup):
        page = article_page().replace(
            f"<p>{PARAGRAPHS[0]}</p>", markup.format(PARAGRAPHS[0] + character)
        )
        text = extract(page, extractor).text
        for paragraph in PARAGRAPHS:
            assert paragraph in text

    @each
    def test_nul_is_ignored_as_browsers_do(self, extractor):
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
    def test_what_the_page_says_of_its_encoding_is_past(self, extractor, declaration):
        for head in ("", '<meta charset="gb2312">', '<meta charset="utf-16">'):
            page = article_page("第一班渡轮准时离开码头,旅客很多。", *PARAGRAPHS, head=head)
            text = extract(declaration + page, extractor).text
            assert "第一班渡轮准时离开码头,旅客很多。" in text
            assert "a café, or both" in text

    @each_of_ours
    @pytest.mark.parametrize("tag", ["div", "span", "table", "b", "ul"])
    def test_a_hundred_thousand_levels_yield_what_stands_above_the_limit(self, extractor, tag):
        depth = 100_000
        page = f"<p>Words at the top.</p>{f'<{tag}>' * depth}deep{f'</{tag}>' * depth}"
        started = time.perf_counter()
        assert "Words at the top." in extract(page, extractor).text
        assert time.perf_counter() - started < 30

    @each_of_ours
    def test_nests_that_browsers_show_are_read_to_the_ground(self, extractor):
        page = f"{'<div>' * 150}The ferry waits at the pier, at the very bottom.{'</div>' * 150}"
        assert "at the very bottom" in extract(page, extractor).text

    @given(st.text(st.characters(), max_size=80))
    def test_visible_text_of_any_text_raises_nothing(self, html):
        assert isinstance(extract(html, "text").text, str)


class TestReadability:
    def test_it_finds_the_article_alone(self):
        text = extract(article_page(), "readability").text
        assert text.splitlines() == ["A new ferry", *PARAGRAPHS]
        everything = extract(article_page(), "text").text.splitlines()
        assert everything == [*NAVIGATION.split(), "A new ferry", *PARAGRAPHS, FOOTER]

    def test_it_is_the_default_and_says_so(self):
        assert extract(article_page()) == extract(article_page(), "readability")
        assert extract(article_page()).way == "readability"
        assert extract("", "text") == Extraction("", way="text")

    def test_the_title_is_known_whatever_finds_the_text(self):
        for extractor in INSTALLED:
            assert extract(article_page(), extractor).title == "Ferry news"
        assert (
            extract("<title> A\n <b>ferry</b> </title><title>B</title>x").title == "A <b>ferry</b>"
        )
        assert extract("<p>x").title == extract("").title == ""

    def test_the_sidebar_changes_nothing(self):
        one = extract(article_page(aside="Home News Contact")).text
        other = extract(article_page(aside="Startseite Suche Hilfe Anmelden")).text
        assert one == other

    def test_its_failures_are_extraction_errors(self, monkeypatch):
        failure = RecursionError("too deep for me")

        def fail(*_args, **_options):
            raise failure

        monkeypatch.setattr(readability.Document, "summary", fail)
        with pytest.raises(
            ExtractionError, match="'readability' failed: RecursionError: too deep"
        ) as e:
            extract(article_page())
        assert e.value.__cause__ is failure
        assert e.value.extractor == "readability"

    def test_its_own_refusals_are_extraction_errors_where_there_is_a_page(self, monkeypatch):
        refusal = readability.readability.Unparseable("no")

        def refuse(*_args, **_options):
            raise refusal

        monkeypatch.setattr(readability.Document, "summary", refuse)
        with pytest.raises(ExtractionError) as e:
            extract(article_page())
        assert e.value.__cause__ is refusal

    @pytest.mark.parametrize("page", [article_page(), "<!-- empty -->", "<b>x</b>"])
    def test_it_logs_nothing(self, page, caplog):
        caplog.set_level(logging.DEBUG)
        extract(page)
        assert caplog.records == []


class TestFallback:
    def test_a_page_of_which_readability_takes_a_piece_gives_its_segments(self):
        piece = extract(REFERENCE_PAGE, "readability-only")
        assert piece.way == "readability-only"
        assert piece.text.count("Returns how many") == 1
        found = extract(REFERENCE_PAGE)
        assert (found.way, found.title) == ("segments", "Counting boats")
        assert found == extract(REFERENCE_PAGE, "segments")
        assert found.text.count("Returns how many") == 9
        assert "front page" not in found.text, "navigation is no content"

    def test_two_such_pages_don_t_look_like_copies(self):
        other = REFERENCE_PAGE.replace("yachts", "sailing boats").replace("ferries", "steamers")
        assert extract(other).text != extract(REFERENCE_PAGE).text

    @pytest.mark.parametrize("text", [*PARAGRAPHS[:1], CHINESE + CHINESE[::-1], ENGLISH])
    def test_an_article_does_not_need_it(self, text):
        page = article_page(text, text)
        found = extract(page)
        assert found.way == "readability"
        assert found.text == extract(page, "readability-only").text

    @pytest.mark.parametrize(("more", "way"), [(0, "readability"), (1, "segments")])
    def test_the_article_must_have_that_share_of_the_words(self, more, way):
        # Comments, which readability leaves out: as many words as it may, and one more.
        rest = round(400 / MIN_SHARE_OF_SEGMENTS) - 400 + more
        page = (
            f"<div class='content'><p>{'boats, ' * 400}</p></div>"
            f"<div class='comment'><p>{'ships, ' * rest}</p></div>"
        )
        assert extract(page, "readability-only").text.count(",") == 400
        found = extract(page)
        assert found.way == way
        assert len(found.text.split("\n")) == 1 + more

    @pytest.mark.parametrize("page", ["<p>Closed.</p>", "<nav><p>Menu</p></nav>"])
    def test_a_page_with_hardly_a_word_gives_what_it_has(self, page):
        found = extract(page)
        assert found.way == "readability"
        assert found.text in page

    def test_so_does_one_that_readability_gives_up(self):
        page = "<ul><li>one<li>two</ul>"
        assert extract(page, "readability-only").text == ""
        found = extract(page)
        assert (found.way, found.text) == ("segments", "one\ntwo")

    def test_what_is_hidden_is_not_missed(self):
        hidden = "".join(f"<p hidden>{paragraph}</p>" for paragraph in PARAGRAPHS * 9)
        page = article_page().replace("</body>", f"<div style='display:none'>{hidden}</div></body>")
        found = extract(page)
        assert found.way == "readability"
        assert found.text == extract(article_page()).text


def test_what_a_page_hides_is_no_text_of_it():
    for extractor in OURS:
        for attribute in ("hidden", "style='display:none'", "style='visibility: hidden'"):
            page = article_page(
                *PARAGRAPHS, "</p><p " + attribute + ">Hidden words. " + PARAGRAPHS[0]
            )
            text = extract(page, extractor).text
            assert "Hidden" not in text
            assert PARAGRAPHS[2] in text
