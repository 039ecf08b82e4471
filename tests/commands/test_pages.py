"""Pages that commands are about, from files, standard input and loopback, and their schemes."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys

import pytest
from scrapy.settings import Settings

from scrapy_simhash.commands import _options, _pages
from scrapy_simhash.errors import SettingsError, SimhashError
from scrapy_simhash.scheme import PRESETS
from tests.crawl.site import serving

from .samples import CHINESE, FERRY, NOTICE, PAGE, written


def options_of(*arguments, settings=None):
    parser = argparse.ArgumentParser()
    _pages.add_reading_options(parser, json=False)
    _options.add_scheme_options(parser)
    options = parser.parse_args(arguments)
    options.settings = Settings(settings or {})
    return options


def loaded(where, *arguments):
    return _pages.load_page(str(where), options_of(*arguments))


@pytest.mark.parametrize(
    ("name", "content", "text", "is_html"),
    [
        ("a.txt", FERRY, FERRY, False),
        ("a.html", PAGE, PAGE, True),
        ("page", f"\n<!-- saved --> {PAGE}", f"\n<!-- saved --> {PAGE}", True),
        ("a.txt", CHINESE.encode("gb18030"), CHINESE, False),
        ("a.txt", CHINESE.encode("utf-16"), CHINESE, False),
        ("a.html.gz", gzip.compress(PAGE.encode()), PAGE, True),
        ("a.json", json.dumps({"url": "https://boats.example/", "text": FERRY}), FERRY, False),
        ("a.jl", json.dumps({"text": PAGE}), PAGE, True),
    ],
)
def test_files(folder, name, content, text, is_html):
    page = loaded(written(folder, content, name))
    assert page == _pages.LoadedPage(name=name, text=text, is_html=is_html, url=None)


def test_a_plain_text_is_no_page(folder):
    name = written(folder, FERRY, "a.html")
    with pytest.raises(SimhashError, match=r"a\.html: not HTML"):
        loaded(name)


def test_an_encoding_that_is_named(folder):
    name = written(folder, CHINESE.encode("big5", "replace"))
    assert loaded(name, "--encoding", "big5").text == CHINESE.encode("big5", "replace").decode(
        "big5"
    )


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("none.txt", "no such file; the URL of a page begins with http"),
        ("ftp://boats.example/", "no such file; the URL of a page begins with http"),
        (".", "is a folder: name one file in it"),
        ("", "the file name is empty"),
        ("empty.txt", "no text in it"),
        ("binary", "binary"),
        ("empty.jsonl", "no text in it"),
        ("two.jsonl", "more than one document"),
        ("long.txt", "longer than 4,000 bytes"),
        ("cut.html.gz", "damaged gzip"),
        ("other.jsonl", "no field 'text'"),
    ],
)
def test_what_is_no_page(folder, where, told):
    for name, content in {
        "empty.txt": b" \n",
        "binary": b"\0\1\2",
        "empty.jsonl": b"\n",
        "two.jsonl": b'{"text": "one"}\n{"text": "two"}\n',
        "long.txt": b"boat " * 2000,
        "cut.html.gz": gzip.compress(PAGE.encode())[:-9],
        "other.jsonl": b'{"body": "one"}',
    }.items():
        written(folder, content, name)
    with pytest.raises(SimhashError, match=told):
        loaded(where, "--max-bytes", "4000")


def test_standard_input(folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PAGE.encode())))
    page = loaded("-")
    assert (page.name, page.text, page.is_html) == ("standard input", PAGE, True)
    with pytest.raises(SimhashError, match="can be read once"):
        _pages.load_pages(["-", "-"], options_of())
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SimhashError, match="is closed"):
        loaded("-")


TWO_PAGES = """
import argparse, json, sys
from scrapy_simhash.commands import _pages
parser = argparse.ArgumentParser()
_pages.add_reading_options(parser, json=False)
options = parser.parse_args([])
options.settings = None
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


def test_the_scheme_is_that_of_the_settings_or_options():
    chosen = _options.chosen_settings(options_of())
    wide = PRESETS["wide"]
    assert chosen[:4] == ("wide", wide.scheme, wide.max_distance, wide.confirmation)
    settings = {
        "SIMHASH_PRESET": "classic",
        "SIMHASH_MAX_DISTANCE": 5,
        "SIMHASH_EXTRACTOR": "text",
        "SIMHASH_CONTENT_SELECT": ["main"],
        "SIMHASH_CONTENT_REMOVE": [".ad"],
        "SIMHASH_MIN_TOKENS": 7,
    }
    chosen = _options.chosen_settings(options_of(settings=settings))
    scheme = chosen.scheme
    assert (chosen.max_distance, chosen.preset, scheme.bits) == (5, "classic", 64)
    assert (scheme.extractor, scheme.select, scheme.remove) == ("text", ("main",), (".ad",))
    assert chosen.min_tokens == 7
    arguments = ["--preset", "wide", "--extractor", "readability-only", "--select", "article"]
    arguments += ["--select", "//p", "--min-tokens", "9"]
    options = options_of(*arguments, settings=settings)
    chosen = _options.chosen_settings(options)
    assert (chosen.max_distance, chosen.preset) == (wide.max_distance, "wide")
    scheme = chosen.scheme
    assert scheme.bits == 256
    assert (scheme.extractor, scheme.remove) == ("readability-only", (".ad",))
    assert scheme.select == ("article", "//p")
    assert chosen.min_tokens == 9
    assert _options.chosen_settings(options_of("--max-distance", "4")).max_distance == 4


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--preset", "broad"], "there is no preset"),
        (["--preset", "all"], "there is no preset"),
        (["--select", "p["], "neither CSS nor XPath"),
        (["--remove", "//*["], "neither CSS nor XPath"),
        (["--extractor", "none"], "one of readability"),
        (["--extractor", "nowhere.at_all"], "ModuleNotFoundError"),
        (["--max-distance", "64", "--preset", "classic"], "less than 64"),
        (["--max-distance", "-1"], "from 0 to 511"),
        (["--min-tokens", "0"], "1 or more"),
        (["--max-bytes", "many"], "invalid number value"),
        (["--encoding", "klingon"], "has no text encoding of this name"),
    ],
)
def test_wrong_options(capsys, arguments, told):
    with pytest.raises((SystemExit, _options.WrongUsage)) as caught:
        _options.chosen_settings(options_of(*arguments))
    assert told in f"{caught.value} {capsys.readouterr().err}"


def test_wrong_settings():
    with pytest.raises(SettingsError, match="SIMHASH_PRESET"):
        _options.chosen_settings(options_of(settings={"SIMHASH_PRESET": "broad"}))
    with pytest.raises(SettingsError, match="SIMHASH_CONTENT_SELECT"):
        _options.chosen_settings(options_of(settings={"SIMHASH_CONTENT_SELECT": "p["}))
