"""Pages that commands are about, from files, standard input and loopback, and their schemes."""

import argparse
import io
import sys

import pytest
from scrapy.settings import Settings

from scrapy_simhash.commands import _pages
from scrapy_simhash.crawl.settings import SettingsReader
from scrapy_simhash.errors import SimhashError

from .samples import PAGE


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
