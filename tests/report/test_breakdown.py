"""Where pages are: hosts, patterns, and which patterns have each other's content."""

import random
from collections import Counter
from itertools import combinations

import pytest

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.maintenance.duplication import duplication
from scrapy_simhash.maintenance.rewriting import rewriting
from scrapy_simhash.report.breakdown import break_down
from scrapy_simhash.url_patterns import url_pattern

K = 3
SITE = "https://a.example"
# Each line one story: the page that answered first, and its copies.
STORIES = (
    ("/news/1.html", "/news/1.html?v=7", "/wire/1", "/news/1.html?v=8"),
    ("/wire/2", "/news/2.html"),
    ("/calendar/2026/11", "/calendar/2026/12", "/calendar/2027/1"),
    ("/news/4.html",),
)


@pytest.fixture
def tables(tmp_path):
    with open_index(tmp_path / "index", Scheme(bits=64), max_distance=K) as index:
        for number, story in enumerate(STORIES):
            for path in story:
                verdict = index.observe(SITE + path, 0xFFFF << 16 * number)
                if path == story[0]:
                    index.confirm(verdict)
    with rewriting(tmp_path / "index") as (source, _):
        return break_down(source, duplication(source))


def test_pairs_of_patterns_whichever_answered_first(tables):
    pairs = {tuple(row["patterns"]): row for row in tables.pairs}
    counts = {pair: (row["near_duplicates"], row["clusters"]) for pair, row in pairs.items()}
    news, wire = "a.example/news/*.html", "a.example/wire/*"
    calendar = "a.example/calendar/*/*"
    session = f"{news}?v=*"
    assert counts == {
        (news, wire): (2, 2),
        # In the first story, neither of them answered first.
        (session, wire): (1, 1),
        (news, session): (1, 1),
        (session, session): (1, 1),
        (calendar, calendar): (2, 1),
    }
    assert pairs[news, wire]["examples"] == [f"{SITE}/news/1.html", f"{SITE}/wire/1"]
    assert pairs[session, session]["examples"] == [f"{SITE}/news/1.html?v={n}" for n in (7, 8)]
    for row in tables.pairs:
        assert [url_pattern(key) for key in row["examples"]] == row["patterns"]


def test_pairs_do_not_depend_on_the_order(tmp_path):
    """A hundred stories, each under four patterns, in any order."""
    chance = random.Random(4)
    forms = ("/news/{}.html", "/news/{}.html?print=1", "/news/{}.html?v=7", "/amp/{}")
    pages = [(number, form.format(number)) for number in range(100) for form in forms]
    chance.shuffle(pages)
    with open_index(tmp_path / "index", Scheme(bits=64), max_distance=K) as index:
        prints = [chance.getrandbits(64) for _ in range(100)]
        for number, path in pages:
            index.confirm(index.observe(SITE + path, prints[number]))
    with rewriting(tmp_path / "index") as (source, _):
        tables = break_down(source, duplication(source))
    patterns = sorted({url_pattern(SITE + path) for _, path in pages})
    found = {tuple(row["patterns"]): row for row in tables.pairs}
    assert sorted(found) == sorted(combinations(patterns, 2))
    assert {(row["near_duplicates"], row["clusters"]) for row in found.values()} == {(100, 100)}


def test_each_near_duplicate_counts_in_one_row_of_a_table(tables):
    near = sum(len(story) - 1 for story in STORIES)
    for rows in (tables.hosts, tables.patterns):
        assert sum(row["near_duplicates"] for row in rows) == near
    expected = Counter(url_pattern(SITE + path) for story in STORIES for path in story[1:])
    assert {row["pattern"]: row["near_duplicates"] for row in tables.patterns} == expected
    representatives = Counter(url_pattern(SITE + story[0]) for story in STORIES)
    for row in tables.patterns:
        assert row["representatives"] == representatives[row["pattern"]]
