"""Texts of pages are escaped for logs and terminals."""

import pytest

from scrapy_simhash.documents.escaping import nearness, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://a.example/茶?q=ü", "https://a.example/茶?q=ü"),
        ("one\ntwo\r\x1b[31m\x00", r"one\ntwo\r\x1b[31m\x00"),
        ("\u202egnp.exe\u2028\ud800", r"\u202egnp.exe\u2028\ud800"),
        ("", ""),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 199 + "…"),
    ],
)
def test_what_is_shown(text, shown):
    assert printable(text) == shown
    assert printable(text).isprintable()


def test_a_similarity_is_rounded_down():
    assert nearness(3, 0.999) == "distance 3, similarity 99 %"
    assert nearness(3, 0.29) == "distance 3, similarity 29 %"
