"""Selectors of content, and of elements to remove."""

import time
from dataclasses import replace

import pytest

from scrapy_simhash.errors import ExtractionError, SchemeError
from scrapy_simhash.extraction import Extraction, extract
from scrapy_simhash.extraction.selectors import Selectors
from scrapy_simhash.names.names import Names
from tests.extractors import INSTALLED
from tests.samples import FOOTER, PARAGRAPHS, article_page

PAGE = (
    "<html><head><title>Ferry  news</title></head><body><nav><p>Menu</p></nav>"
    "<main><h1>A ferry</h1><div class='text'><p>One.</p><p class='ad'>Buy!</p><p>Two.</p></div>"
    "</main><div class='text'><p>Three.</p></div><footer id='end'><p>Imprint</p></footer></body>"
)


def selected(*select, remove=(), page=PAGE):
    return extract(page, selectors=Selectors(select, remove))


class TestSelect:
    @pytest.mark.parametrize(
        ("select", "lines"),
        [
            (["h1"], "A ferry"),
            (["div.text"], "One.|Buy!|Two.|Three."),
            (["div.text > p:not(.ad)"], "One.|Two.|Three."),
            (["//div[@class='text']/p[1]"], "One.|Three."),
            (["(//div[@class='text'])[2]"], "Three."),
            (["h1, footer"], "A ferry|Imprint"),
            (["(id('end'))"], "Imprint"),
            (["footer", "h1"], "Imprint|A ferry"),
            (["DIV.text"], "One.|Buy!|Two.|Three."),
            (["title"], "Ferry news"),
            (["//p/text()", "h1"], "A ferry"),
            (["html"], "Menu|A ferry|One.|Buy!|Two.|Three.|Imprint"),
            (["/html/body/nav"], "Menu"),
        ],
    )
    def test_selected_text_is_in_the_order_of_the_selectors(self, select, lines):
        found = selected(*select)
        text = lines.replace("|", "\n")
        assert found == Extraction(
            text,
            "Ferry news",
            "A ferry",
            "selected",
            unmatched=found.unmatched,
            names=Names("Ferry news", ["A ferry"]),
            states=("One.", "Buy!", "Two.", "Three."),
        )
        assert found.unmatched == tuple(text for text in select if text == "//p/text()")

    @pytest.mark.parametrize(
        "select",
        [["main", "h1"], ["h1", "main"], ["main", "main"], ["main", "//main//p", "div.ad", ".ad"]],
    )
    def test_nested_and_repeated_elements_count_once(self, select):
        assert selected(*select).text == "A ferry\nOne.\nBuy!\nTwo."

    @pytest.mark.parametrize("select", ["article", "//p/text()", "//p/@class", "(//x)[1]"])
    def test_without_a_match_the_extractor_runs(self, select):
        for extractor in ("readability", "text"):
            expected = extract(article_page(), extractor)
            found = extract(article_page(), extractor, Selectors((select,)))
            assert found == replace(expected, unmatched=(select,))
            assert found.way == extractor

    def test_thousands_of_selected_elements_are_fast(self):
        page = f"<div>{'<p>x</p>' * 10_000}</div>"
        started = time.process_time()
        assert selected("p", page=page).text.count("x") == 10_000
        assert time.process_time() - started < 3


class TestRemove:
    @pytest.mark.parametrize("remove", [".ad", "//*[@class='ad']", "p:contains('Buy')"])
    def test_removed_elements_cannot_be_selected(self, remove):
        assert selected("main", remove=(remove,)).text == "A ferry\nOne.\nTwo."
        found = selected(remove, remove=(remove,))
        assert (found.way, found.unmatched) == ("segments", (remove,))

    @pytest.mark.parametrize("extractor", INSTALLED)
    def test_no_extractor_sees_removed_elements(self, extractor):
        page = article_page(*PARAGRAPHS, f"An advertisement. {PARAGRAPHS[0]}")
        found = extract(page, extractor, Selectors(remove=("#content > p:last-child", ".footer")))
        assert "The new ferry" in found.text
        assert "advertisement" not in found.text
        assert FOOTER not in found.text

    @pytest.mark.parametrize("remove", ["html", "body", "*", "//*", "//p/text()", "//@class"])
    def test_the_whole_page_may_be_removed(self, remove):
        found = extract(article_page(), "text", Selectors(remove=(remove,)))
        assert found.way == "text"
        assert (found.text == "") == (remove in {"body", "*", "//*"})

    def test_the_fallback_does_not_see_removed_elements(self):
        page = "<body>" + "".join(
            f"<section><div><div><div class='x{n % 2}'><p>{PARAGRAPHS[n % 3]}</p></div></div></div>"
            "</section>"
            for n in range(8)
        )
        found = extract(page, "readability", Selectors(remove=(".x1",)))
        assert found.way == "segments"
        assert len(found.text.splitlines()) == 4


class TestCompiled:
    @pytest.mark.parametrize("selector", ["//main/p[no-such()]", "//main//p[$x]"])
    def test_errors_during_evaluation_are_raised(self, selector):
        page = "<main><h1>A ferry</h1><p>One.</p></main>"
        with pytest.raises((SchemeError, ExtractionError), match=r"Unregistered|Undefined|no-such"):
            extract(page, selectors=Selectors((selector,)))
