"""Texts of pages are escaped for logs and terminals, and secrets in their URLs are masked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.documents.escaping import nearness, printable
from scrapy_simhash.documents.masking import loggable, masked

SECRET = "d41d8cd98f00b204"


@pytest.mark.parametrize(
    "url",
    [
        *(
            f"https://a.example/p?id=1&{name}={SECRET}&page=2"
            for name in (
                *("token", "access_token", "accessToken", "X-Amz-Security-Token", "api_key", "key"),
                *("PHPSESSID", "sid", "osCsid", "session", "ASP.NET_SessionId", "sessionid"),
                *("password", "passwd", "pwd", "client_secret", "X-Amz-Signature", "sig", "jwt"),
                *("user%5Btoken%5D", "user[token]", "csrf", "authorization", "oauth_nonce"),
            )
        ),
        f"https://a.example/p;jsessionid={SECRET}?id=1",
        f"https://a.example/p#access_token={SECRET}&state=1",
        f"https://user:{SECRET}@a.example/p",
        f"https://{SECRET}@a.example/p",
        f"https://a.example/login?next=https%3A%2F%2Fb.example%2F%3Fid%3D1%26token%3D{SECRET}",
        f"https://a.example/reset/token/{SECRET}",
        f"https://a.example/(S)/sid/{SECRET}/p",
        f"GET failed for https://a.example/?token={SECRET}: see https://b.example/?sid={SECRET}",
    ],
)
def test_secrets_are_masked(url):
    assert SECRET not in masked(url)
    assert "a.example/" in masked(url)
    assert SECRET not in loggable("x" * 150 + url)


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example/p?id=1&keyword=key&author=pass&assignment=3&design=7&page=2",
        "https://a.example/session/12/keynote?lang=en",
        "https://a.example/p?q=token&sort=sid#secret",
        "https://a.example/tokens-of-2026-for-collectors.html?color=red",
        "no URL: a = b, token = c",
    ],
)
def test_other_parts_stay(url):
    assert masked(url) == url


@given(st.text())
def test_any_text_can_be_masked(text):
    assert masked(masked(text)) == masked(text)


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
