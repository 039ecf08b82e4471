"""URLs as parts, and rules as rewritings of them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simhash.extras.url_rules.differences import rules_between
from scrapy_simhash.extras.url_rules.rewriting import describe, rewrite
from scrapy_simhash.extras.url_rules.url_parts import (
    MAX_NAMES,
    MAX_URL_CHARACTERS,
    PathPatterns,
    plain_url,
)

SITE = "http://example.com"


def plain(url):
    found = plain_url(url if "://" in url else SITE + url)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("/a?b=1&a=2", "/a?&a=2&b=1"),
        ("", "?"),
        ("/?", "?"),
        ("//", "//?"),
        ("/a;jsessionid=1F/b?x", "/a/b?&;jsessionid=1F&x="),
        ("/a;x=1&2/b&c?d=/e?&=f", "/a/b%26c?&;x=1%262&d=%2Fe%3F"),
        ("/a;b", "/a;b?"),
        ("/Talk:A,%20(b)?t=Talk:A,+(b)&u=C%2B%2B%3B", "/Talk:A,%20(b)?&t=Talk:A,%20(b)&u=C++%3B"),
        ("/a#part", "/a?"),
        ("HTTP://user:secret@Example.com:80/A", f"{SITE}/A?"),
        ("https://example.com:8443/", "https://example.com:8443?"),
        ("http://[::1]:8000/", "http://[::1]:8000?"),
    ],
)
def test_the_plain_form_keeps_what_rules_can_rewrite(url, shown):
    assert plain(url) == (shown if "://" in shown else SITE + shown)


@pytest.mark.parametrize(
    "url",
    [
        *("", "about:blank", "ftp://example.com/", "http://", "http://[1", "http://a:port/"),
        SITE + "/" + MAX_URL_CHARACTERS * "a",
        SITE + "/?" + "&".join(f"p{n}" for n in range(100)),
    ],
)
def test_other_urls_have_no_plain_form(url):
    assert plain_url(url) is None


@pytest.mark.parametrize(
    ("copy", "original", "rule"),
    [
        ("/t?id=1&sid=a", "/t?id=1&sid=b", "without sid"),
        ("/t?id=1&sid=a", "/t?id=1&sid=b", "without the value of sid"),
        ("/t?id=1&sid=a&sid=b", "/t?id=1&sid=c", "without the value of sid"),
        ("/t?id=1&sid=&sid=b&z=1", "/t?id=1&sid=&z=1", "without the value of sid"),
        ("/t?utm_source=a&utm_medium=b", "/t", "without utm_medium, utm_source"),
        ("/t;jsessionid=1?id=1", "/t?id=1", "without ;jsessionid"),
        ("/a/print/b", "/a/b", "without /print/ in the path"),
        ("/a/b/print", "/a/b", "without /print/ in the path"),
        ("/Special:/print/a", "/Special:/a", "without /print/ in the path"),
        ("/a/", "/a", "without a trailing slash"),
        ("/a/index.html", "/a/", "(nothing) instead of index.html"),
        ("/a/index.html", "/a", "without /index.html/ in the path"),
        ("/print/a", "/news/a", "news instead of print"),
        ("/a/story-print.html", "/a/story.html", "without -print at the end of the file name"),
        ("/index.php?title=X", "/wiki/X", "/wiki/… instead of /index.php?title=…"),
        ("/w.php?title=C%2B%2B:_(a)", "/wiki/C++:_(a)", "/wiki/… instead of /w.php?title=…"),
        ("/?p=17", "/17", "/… instead of /?p=…"),
        ("/?p=17&id=17&a=17", "/17?id=17", "/… instead of /?a=…"),
        ("/w.php?t=X&print=1", "/wiki/X", "/wiki/… instead of /w.php?t=… and without print"),
        ("/list?page=1", "/list", "without page=1"),
        ("/list?order=new&page=1", "/list", "without order=new, page=1"),
        ("/(S(a1b2c3d4e5f6g7h8))/a", "/(S(h8g7f6e5d4c3b2a1))/a", "without /(S(*))/ in the path"),
        ("/(S(a1b2c3d4e5f6g7h8))/a", "/a", "without /(S(*))/ in the path"),
        ("/album/7/photo/1", "/album/12/photo/1", "without /album/#/ in the path"),
        ("/album/7/photo/1", "/photo/1", "without /album/#/ in the path"),
        ("/cat/boats/page/1", "/cat/boats", "without /page/1/ in the path"),
        ("/questions/17/how-to-row", "/questions/17", "without words at * in /questions/#/*"),
        ("/questions/17/row", "/questions/17/how-to-row", "without words at * in /questions/#/*"),
        ("/q/17-row.html", "/q/17-rowing.html", "without words at * in /q/#*"),
        ("/row-a-boat-17", "/rowing-17", "without words at * in /*#"),
        (
            "http://m.example.com/a",
            "http://www.example.com/a",
            "http://www.example.com instead of ",
        ),
        ("http://www.example.com/a", "https://www.example.com/a", "https://www.example.com inst"),
        ("https://m.example.com/a?m=1", "https://www.example.com/a", " and without m"),
    ],
)
def test_rules_between_two_urls_make_them_equal(copy, original, rule):
    for one, other in ((copy, original), (original, copy)):
        found = rules_between(plain(one), plain(other))
        assert any(rule in describe(known) for known in found)
        for known in found:
            assert rewrite(known, plain(one)) == rewrite(known, plain(other))


@pytest.mark.parametrize(
    ("name", "rewritten"),
    [
        *(("row-17.html", "17.html"), ("row-17/", "17/"), ("row-17.mp3", "17.mp3")),
        *(("row-17.5", "17.5"), ("row-1.5.html", "5.html"), ("a-1.b-2.html", "2.html")),
        *((name, name) for name in ("17", "17.mp3", "row.17", "17-row.html")),
    ],
)
def test_words_before_a_number_are_removed_but_no_extension(name, rewritten):
    rule = (("words", "q", "*#"),)
    assert rewrite(rule, plain(f"/q/{name}")) == plain(f"/q/{rewritten}")


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        ("/a/b", "/c/d"),
        ("/a1", "/a2"),
        ("http://a.example.com/x?p=1", "http://b.example.com/y"),
        ("/?" + "&".join(f"a{n}=1" for n in range(9)), "/"),
        ("/w.php?t=X&t=Y", "/wiki/X"),  # which of them makes the path?
    ],
)
def test_urls_that_differ_too_much_have_no_rule_between_them(copy, original):
    assert rules_between(plain(copy), plain(original)) == []


NAMES = (20 * "1a", "", *"a b print index.html X a-print.html 1 2 a-1 1-a".split())
PATHS = st.lists(st.sampled_from(NAMES))
PARAMS = st.lists(st.sampled_from(["a=1", "a=2", "b", "sid=7", "a"]))
URLS = st.builds(
    lambda host, path, params: f"http://{host}.com/{'/'.join(path)}?{'&'.join(params)}",
    *(st.sampled_from(["a", "www.a"]), PATHS, PARAMS),
)


@given(URLS, URLS, URLS)
@example("http://a.com//?", "http://a.com/?", "http://a.com/")
def test_rewriting_twice_changes_nothing_more(one, other, third):
    found = plain_url(one)
    for rule in rules_between(found, plain_url(other)):
        assert rewrite(rule, found) == rewrite(rule, plain_url(other))
        if rule[0][0] != "suffix":  # a suffix is removed once
            rewritten = rewrite(rule, plain_url(third))
            assert rewrite(rule, rewritten) == rewritten


@given(st.text())
def test_no_text_is_too_strange_for_a_url(text):
    for url in (text, f"http://example.com/{text}"):
        found = plain_url(url)
        if found is not None:
            assert PathPatterns().of(found).startswith("/")
            describe(((("drop", text)),))


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("/", "/"),
        ("/about", "/about"),
        ("/17", "/*"),
        ("/news/2024/05/story.html", "/news/*/*/*.html"),
        ("/shop/shoes/?sort=price", "/shop/*"),
        ("/viewtopic.php?t=17&view=print", "/viewtopic.php?t=*&view=print"),
        ("/?page=news&id=3", "/?id=*&page=news"),
    ],
)
def test_pattern_of_a_url(url, pattern):
    assert PathPatterns().of(plain(url)) == pattern


def test_the_first_names_of_a_folder_keep_patterns_of_their_own():
    patterns = PathPatterns()
    names = [chr(ord("a") + number) for number in range(MAX_NAMES + 3)]
    found = [patterns.of(plain(f"/{name}/x")) for name in names]
    assert found == [*(f"/{name}/*" for name in names[:MAX_NAMES]), *3 * ["/*/*"]]
    again = PathPatterns()
    for pattern in reversed(found):
        again.remember(pattern)
    assert [again.of(plain(f"/{name}/x")) for name in names] == found


def test_the_names_of_a_stored_pattern_are_kept():
    for pattern in ("/shop/*", "/*.script?action=edit", "/w.php?action=edit"):
        patterns = PathPatterns()
        patterns.remember(pattern)
        name = pattern.replace("*", "7").replace(".script", ".php")
        for number in range(MAX_NAMES + 3):
            other = chr(ord("a") + number)
            patterns.of(plain(name.replace("shop", other).replace("edit", other)))
        assert patterns.of(plain(name)) == pattern
