"""The types of files do not depend on the machine."""

import mimetypes

import pytest

from scrapy_simhash.detector import Detector
from scrapy_simhash.file_types import type_of
from scrapy_simhash.scheme import PRESETS


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("https://a.example/x.html", "text/html"),
        ("song.flac", "audio/flac"),
        ("/files/trip.gpx", "application/gpx+xml"),
        ("/all.tar.bz2", "application/bzip2"),
        ("data:image/png;base64,AA", "image/png"),
        ("http://[x/", ""),
    ],
)
def test_types(name, expected):
    assert type_of(name) == expected


def test_a_machine_with_other_tables_says_the_same_of_a_page(monkeypatch):
    # Programs add types, and so do files such as /etc/mime.types.
    mimetypes.init()
    monkeypatch.setitem(mimetypes.types_map, ".ext", "audio/x-ext")
    assert mimetypes.guess_type("song.ext") == ("audio/x-ext", None)
    text = "The orchestra of the harbour plays each summer on the old quay for everybody. " * 6
    page = f"<html><body><article><h1>Song</h1><p>{text}</p><a href='/song-1.%s'>x</a></article>"
    detector = Detector(PRESETS["wide"].scheme)
    found = [detector.fingerprint_page(page % ending).evidence for ending in ("ext", "flac")]
    assert [bool(evidence.identity) for evidence in found] == [False, True]
