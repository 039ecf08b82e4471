"""Chains of pages without content, and pages that are never in a chain."""

import random

import pytest

from scrapy_simhash.extras.url_rules.traps import (
    MIN_BARREN,
    MIN_BARREN_IN_FOLDER,
    Traps,
    chain_after,
    is_barren,
)
from scrapy_simhash.verdict import Verdict

SITE = "http://example.com"


def similar(url, other, similarity=0.95):
    return Verdict(kind="new", key=url, bits=64, similar_to=other, similarity=similarity)


def new(url):
    return Verdict(kind="new", key=url, bits=64)


def month(number):
    return f"{SITE}/calendar?month={number}"


def follow(traps, verdict_of, months):
    asked, chain = [], 0
    for number in range(months):
        if traps.spares(month(number), chain):
            chain += 1  # as if the sample had shown it
            continue
        asked.append(number)
        verdict = verdict_of(number)
        traps.judged(verdict, chain)
        chain = chain_after(verdict, chain, month(number + 1))
    return asked


@pytest.mark.parametrize(
    "verdict",
    [
        new(month(7)),
        similar(month(7), month(8), 0.8),
        similar(month(7), f"{SITE}/other"),
        Verdict(kind="unchanged", key=month(7), bits=64),
        Verdict(kind="new", key=month(7), bits=64, similar_to=month(8)),
    ],
)
def test_pages_with_content_begin_no_chain(verdict):
    assert not is_barren(verdict)
    assert chain_after(verdict, 99, month(8)) == 0
    assert len(follow(Traps(random.Random(1)), lambda _: verdict, 500)) == 500


def test_what_a_listing_links_to_is_never_spared():
    """Products of one template are similar, but were not found on each other."""
    traps = Traps(random.Random(1))
    for number in range(1000):
        url = f"{SITE}/product/{number}"
        chain = chain_after(new(f"{SITE}/list/{number // 50}"), 0, url)
        assert not traps.spares(url, chain)
        traps.judged(similar(url, f"{SITE}/product/0"), chain)


@pytest.mark.parametrize(
    ("page", "link", "chained"),
    [
        ("/cal/2024/05/", "/cal/2024/05/17/", True),
        ("/when/may-2024", "/when/june-2024", True),
        ("/2024/05/", "/2024/05/17/", True),
        ("/tools?size=small", "/tools?colour=red&size=small", True),
        ("/cal/2024/05/", "/events/17", False),
        ("/tools?size=small", "/about", False),
        ("/", "/about", False),
        ("/about", "/contact", False),
        ("/2024/05/", "/about", False),
    ],
)
def test_a_chain_stays_in_a_folder(page, link, chained):
    found = chain_after(Verdict(kind="near-duplicate", key=SITE + page, bits=64), 2, SITE + link)
    assert found == 3 * chained


def test_months_and_days_of_a_calendar_are_one_trap():
    traps = Traps(random.Random(1))
    asked, chain = 0, 0
    for number in range(4000):
        end = f"{number % 28 + 1:02}/" if number % 29 else ""
        url = f"{SITE}/cal/{2024 + number // 348}/{number // 29 % 12 + 1:02}/{end}"
        if traps.spares(url, chain):
            continue
        asked += 1
        traps.judged(Verdict(kind="near-duplicate", key=url, bits=64), chain)
        chain += 1
    assert MIN_BARREN <= asked <= MIN_BARREN_IN_FOLDER + 0.02 * 4000


def test_urls_that_grow_are_in_the_trap_of_their_folder():
    traps = Traps(random.Random(1))
    asked = 0
    for number in range(1, 500):
        url = f"{SITE}/a/b{number * '/c'}"
        if not traps.spares(url, asked):
            asked += 1
            traps.judged(Verdict(kind="near-duplicate", key=url, bits=64), asked)
    assert MIN_BARREN <= asked <= MIN_BARREN_IN_FOLDER + 20


def test_a_folder_that_still_brings_content_is_no_trap():
    traps = Traps(random.Random(1))
    for number in range(2000):
        url = f"{SITE}/tools?{'abcdefgh'[number % 8] * (number // 8)}=x"
        assert not traps.spares(url, 9)
        kind = "near-duplicate" if number % 100 else "new"
        traps.judged(Verdict(kind=kind, key=url, bits=64), 9)
