"""Extractors by name, by import path, and those that are not installed."""

import sys

import pytest

from scrapy_simhash.detector import Detector
from scrapy_simhash.errors import ExtractionError, SchemeError
from scrapy_simhash.extraction import Extraction, extract, find_extractor, is_extractor
from scrapy_simhash.extraction.selectors import Selectors
from scrapy_simhash.names.names import Names
from scrapy_simhash.scheme import Scheme
from tests.extractors import OPTIONAL
from tests.samples import PARAGRAPHS, article_page

OWN = "tests.extractors."
PAGE = "<title>News</title><p>Seven boats came in.</p><i>advertisement</i>"


class TestImportPath:
    def test_a_function_from_html_to_text_is_an_extractor(self):
        assert extract(PAGE, OWN + "upper") == Extraction(
            PAGE.upper(),
            "News",
            way=OWN + "upper",
            names=Names("News", [], is_weak=True),
            states=("Seven boats came in.", "advertisement"),
        )

    def test_the_function_gets_the_page_without_removed_elements(self):
        found = extract(PAGE, OWN + "upper", Selectors(remove=("i",)))
        assert "BOATS" in found.text
        assert "ADVERTISEMENT" not in found.text
        assert extract(PAGE, OWN + "upper", Selectors(("p",))).text == "Seven boats came in."

    def test_the_function_is_not_called_for_an_empty_page(self):
        assert extract(" \n\0", OWN + "failing") == Extraction("", way=OWN + "failing")

    def test_exceptions_of_the_function_are_extraction_errors(self):
        with pytest.raises(ExtractionError, match="RuntimeError: no idea what <title>N") as e:
            extract(PAGE, OWN + "failing")
        assert e.value.extractor == OWN + "failing"
        assert isinstance(e.value.__cause__, RuntimeError)
        page = Detector(Scheme(extractor=OWN + "failing")).fingerprint_page(PAGE)
        assert page.skipped == "extraction_error"
        assert "no idea" in page.error

    @pytest.mark.parametrize(
        ("path", "says"),
        [
            (OWN + "NOT_CALLABLE", "TypeError: not callable"),
            (OWN + "no_such", "AttributeError"),
            ("no_such_package.extract", "ModuleNotFoundError"),
            ("tests.samples.ENGLISH.upper", "ModuleNotFoundError"),
        ],
    )
    def test_a_path_that_cannot_be_imported_is_a_scheme_error(self, path, says):
        assert is_extractor(path), "importing it is put off"
        with pytest.raises(SchemeError, match=f"extractor='{path}'.*{says}"):
            extract(PAGE, path)


@pytest.mark.parametrize(
    "name", ["", "magic", "Readability", "a b.c", "os.", ".os", "a.b\n", "a-b.c"]
)
def test_other_names_are_no_extractors(name):
    assert not is_extractor(name)
    with pytest.raises(SchemeError, match="extractor="):
        find_extractor(name)


class TestOptional:
    @pytest.mark.parametrize("name", OPTIONAL)
    def test_the_error_for_a_missing_package_says_how_to_install_it(self, name, monkeypatch):
        for module in [m for m in sys.modules if m.partition(".")[0] == name]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, name, None)
        find_extractor.cache_clear()  # an earlier test may have found it
        with pytest.raises(SchemeError, match=rf"pip install scrapy-simhash\[{name}\]"):
            extract(article_page(), name)

    @pytest.mark.parametrize("name", OPTIONAL)
    def test_an_installed_package_finds_the_article(self, name):
        pytest.importorskip(name)
        found = extract(article_page(), name)
        assert (found.way, found.title, found.heading) == (name, "Ferry news", "A new ferry")
        for paragraph in PARAGRAPHS:
            assert paragraph in found.text
        assert "Timetable" not in found.text
        assert extract("<p></p>", name).text == ""
