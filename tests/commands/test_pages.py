"""Pages that commands are about, from files, standard input and loopback, and their schemes."""

import argparse
import io
import json
import sys

import pytest
from scrapy.settings import Settings

from scrapy_simhash.commands import _pages
from scrapy_simhash.crawl.settings import SettingsReader
from scrapy_simhash.errors import SimhashError
from tests.crawl.site import serving

from .samples import FERRY, NOTICE, PAGE, written


def options_of(**settings):
    return argparse.Namespace(settings=SettingsReader(Settings(settings)))


def loaded(where, **settings):
    return _pages.load_page(str(where), options_of(**settings))


class Unreadable(io.RawIOBase):
    """A stream that raises an error when it is read."""

    def readable(self):
        return True

    def readinto(self, _buffer):
        raise IsADirectoryError(21, "Is a directory")


def test_standard_input(folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PAGE.encode())))
    page = loaded("-")
    assert (page.name, page.text, page.is_html) == ("standard input", PAGE, True)
    with pytest.raises(SimhashError, match="can be read once"):
        _pages.load_pages(["-", "-"], options_of())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Unreadable())))
    with pytest.raises(SimhashError, match="standard input: cannot be read"):
        loaded("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SimhashError, match="is closed"):
        loaded("-")


TWO_PAGES = """
import argparse, json, sys
from scrapy_simhash.commands import _pages
from scrapy_simhash.commands._settings import project_settings
from scrapy_simhash.crawl.settings import SettingsReader
options = argparse.Namespace(settings=SettingsReader(project_settings()))
try:
    pages = _pages.load_pages(sys.argv[1:], options)
except Exception as error:
    print(json.dumps(str(error)))
else:
    print(json.dumps([[page.name, page.text, page.is_html, page.url] for page in pages]))
"""


def test_several_urls_in_one_process(run_process, folder):
    written(folder, FERRY)
    with serving() as site:
        first = site.put("/first", PAGE)
        old = site.put("/old", b"", status=302, location=site.url("/new"))
        new = site.put("/new", NOTICE, content_type="text/plain")
        ran = run_process(sys.executable, "-c", TWO_PAGES, old, "letter.txt", first, first)
        assert json.loads(ran.out) == [
            [old, NOTICE, False, new],
            ["letter.txt", FERRY, False, None],
            [first, PAGE, True, first],
            [first, PAGE, True, first],
        ]
        hits = len(site.hits)
        # A file that is not there is known before anything is fetched.
        ran = run_process(sys.executable, "-c", TWO_PAGES, first, "none.txt")
        assert "no such file" in ran.out
        assert len(site.hits) == hits
