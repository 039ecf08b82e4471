"""Bytes as text: by what they say, else by a guess; or they are no text."""

from __future__ import annotations

import sys

import pytest

from scrapy_simhash.passages.decoding import NotReadable, decoded

CHINESE = "开往岛上的渡船九点出发。船上可以带自行车、狗和邮件。请在开船前十分钟到达码头。"
FRENCH = "Le café est près de la forêt où l’été n’en finit pas. "


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", CHINESE),
        ("utf-8-sig", CHINESE),
        ("utf-16", CHINESE),
        ("utf-32", CHINESE),
        ("gb18030", CHINESE * 10),
        ("cp1252", FRENCH * 10),
        ("shift_jis", "島への渡し船は九時に出ます。自転車と犬と郵便物を運びます。" * 10),
    ],
)
def test_encodings_that_can_be_told(encoding, text):
    assert decoded(text.encode(encoding)) == text


def test_the_encoding_that_a_page_declares():
    page = f'<html><head><meta charset="gb2312"></head><body><p>{CHINESE}</p></body></html>'
    assert CHINESE in decoded(page.encode("gb18030"), html=True)
    page = f"<html><body><p>{CHINESE}</p></body></html>"
    assert CHINESE in decoded(page.encode("gb18030"), content_type="text/html; charset=gbk")
    assert FRENCH in decoded(f"<p>{FRENCH}</p>".encode("cp1252"), html=True)


def test_utf8_with_a_fault_in_it_is_utf8():
    content = (CHINESE * 20).encode()
    assert decoded(content[:-1]) == (CHINESE * 20)[:-1] + "\ufffd"
    assert decoded(content[:300] + b"\xff" + content[300:]).count("\ufffd") <= 3


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        CHINESE.encode("utf-16-le"),  # of no mark
        bytes(range(1, 32)) * 200 + bytes(range(128, 256)) * 200,
        bytes((n * 7919 >> 3) % 255 + 1 for n in range(5000)),
    ],
)
def test_what_is_no_text(content):
    with pytest.raises(NotReadable) as caught:
        decoded(content)
    assert caught.value.reason in {"binary", "in an unknown encoding"}


def test_without_a_detector_nothing_is_guessed(monkeypatch):
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    assert decoded(CHINESE.encode()) == CHINESE
    with pytest.raises(NotReadable, match="--encoding"):
        decoded(CHINESE.encode("gb18030"))
    assert FRENCH in decoded(f"<p>{FRENCH}</p>".encode("cp1252"), html=True)
