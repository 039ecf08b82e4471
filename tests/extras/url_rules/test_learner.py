"""Rules that are learned from the pages of a site, and the requests that they spare."""

import random

import pytest

from scrapy_simhash.extras.url_rules.evidence import (
    MAX_RULES,
    RuleEvidence,
    RuleRecord,
    decode_rules,
    encode_rules,
    merged,
)
from scrapy_simhash.extras.url_rules.learner import UrlRules

SITE = "http://example.com"
SID = (("drop", "sid"),)
DEEP = pytest.param(100_000 * b"[", id="nested too deep")


class Crawl:
    """Requests pages of a site whose contents are known."""

    def __init__(self, content_of, rules=None):
        self.content_of = content_of
        self.rules = rules or UrlRules(explore=0.0, random=random.Random(1))
        self.first = {}
        self.spared = []

    def ask(self, *urls):
        for url in urls:
            equal = self.rules.equal(SITE + url)
            if equal is not None and not (equal.explore or equal.untested):
                equal.spare()
                self.spared.append(url)
                continue
            content = self.content_of(url)
            original = self.first.setdefault(content, SITE + url)
            self.rules.handled(SITE + url, original, original)

    @property
    def lost(self):
        return {self.content_of(url) for url in self.spared} - self.first.keys()


def without_sid(url):
    return url.partition("&sid")[0]


def topics(first, stop, *sids):
    return [f"/topic?t={number}&sid={sid}" for number in range(first, stop) for sid in sids]


def test_a_parameter_that_never_matters_is_learned_and_spares_requests():
    crawl = Crawl(without_sid)
    crawl.ask(*topics(0, 20, "1a", "2b"))
    crawl.ask(*topics(100, 200, "3c", "4d", "5e"))
    assert len(crawl.spared) >= 150
    assert crawl.lost == set()
    record = crawl.rules.site(SITE).rules[SID]
    assert record.total.against == 0
    assert record.total.spared == len(crawl.spared)


def test_many_urls_of_one_page_are_no_evidence():
    crawl = Crawl(without_sid)
    crawl.ask(*topics(1, 3, *range(200)))
    assert crawl.spared == []


def test_urls_that_differ_in_other_parameters_are_no_evidence_for_a_path():
    """The wiki has two equal stubs, then its scripts are visited under many session ids."""
    crawl = Crawl(lambda url: url[-1] if "Stub" in url else url)
    crawl.ask(*(f"{path}Stub{n}" for n in range(2) for path in ("/wiki/", "/index.php?title=")))
    for number in range(60):
        for sid in "ab":
            url = f"{SITE}/index.php?title=Page{number}&sid={sid}"
            crawl.rules.handled(url, f"script {number}")
    crawl.ask(*(f"/wiki/Page{number}" for number in range(60)))
    assert crawl.spared == []


def test_where_the_parameter_matters_nothing_is_lost():
    """`ref` says where a reader of news came from, and which part of the catalog is shown."""

    def content_of(url):
        return url if url.startswith("/catalog") else url.partition("?")[0]

    crawl = Crawl(content_of)
    crawl.ask(*(f"/news/{n}?ref={ref}" for n in range(100) for ref in "ab"))
    assert len(crawl.spared) >= 40
    crawl.ask(*(f"/catalog/list?ref={n}" for n in range(200)))
    crawl.ask(*(f"/catalog/{n}?ref={ref}" for n in range(100) for ref in range(3)))
    assert crawl.lost == set()


def test_a_parameter_that_matters_for_some_pages_is_given_up():
    """Every tenth page has comments."""

    def content_of(url):
        page, _, comments = url.partition("?")
        return url if comments and int(page[3:]) % 10 == 0 else page

    crawl = Crawl(content_of, UrlRules(random=random.Random(3)))
    crawl.ask(*(f"/a/{n}{end}" for n in range(3000) for end in ("", "?comments")))
    assert len(crawl.lost) < 0.005 * 3300


def test_a_default_value_is_learned_where_others_matter():
    def content_of(url):
        return url.replace("?page=1", "")

    crawl = Crawl(content_of)
    ends = ("?page=2", "", "?page=1")
    crawl.ask(*(f"/list/{n}{end}" for n in range(60) for end in ends))
    assert crawl.lost == set()
    assert len(crawl.spared) >= 20
    assert all(url.endswith("?page=1") for url in crawl.spared)
    rules = crawl.rules.site(SITE).rules
    assert (("default", "page", "1"),) in rules
    assert (("default", "page", "2"),) not in rules


def test_a_mirror_is_learned_across_sites():
    rules = UrlRules(explore=0.0, random=random.Random(1))
    spared = 0
    for number in range(100):
        original = f"https://www.example.com/{number}.html"
        for url in (original, f"http://mirror.example.net/{number}.html"):
            equal = rules.equal(url)
            if equal is not None and not (equal.explore or equal.untested):
                spared += 1
                equal.spare()
            else:
                rules.handled(url, original, original)
    assert spared >= 60
    for number in range(100, 200):
        for sid in "ab":
            rules.handled(f"http://mirror.example.net/{number}.html?sid={sid}", f"{number}")
    assert SID in rules.site("http://mirror.example.net").rules
    assert SID not in rules.site("https://www.example.com").rules


def test_a_removed_rule_is_not_learned_again():
    crawl = Crawl(without_sid)
    for name in ("drop", "value"):
        crawl.rules.site(SITE).rules[((name, "sid"),)] = RuleRecord("removed")
    crawl.ask(*topics(0, 100, "1a", "2b"))
    assert crawl.spared == []


def test_rules_are_bounded():
    crawl = Crawl(lambda url: url.partition("?")[0])
    for number in range(3 * MAX_RULES):
        crawl.ask(*(f"/p/{n}?x{number}={v}" for n in range(3) for v in "ab"))
    assert len(crawl.rules.site(SITE).rules) <= MAX_RULES


@pytest.mark.parametrize(
    "row",
    [
        *(b"", b"{", b"7", b"[7]", b"[[[], 1]]", b"\xff", b'[[[["drop"]],"learned",[0,0,0,0],{}]]'),
        *(
            b'[[[["eval","a"]],"learned",[0,0,0,0],{}]]',
            b'[[[["segment","a"]],"other",[0,0,0,0],{}]]',
        ),
        *(
            b'[[[["segment","a"]],"learned",[0,0,0],{}]]',
            b'[[[["segment","a"]],"learned",[0,-1,0,0],{}]]',
        ),
        b'[[[["segment","a"]],"learned",[0,0,0,0],[]]]',
        *(b'[[[["segment","a"]],"learned",[Infinity,0,0,0],{}]]', DEEP),
        *(b'[[[],"learned",[0,0,0,0],{}]]', b'[[[["words","a","b"]],"learned",[0,0,0,0],{}]]'),
    ],
)
def test_a_row_that_is_damaged_is_refused(row):
    with pytest.raises(ValueError, match=r"."):
        decode_rules(row)


def test_crawls_that_share_an_index_keep_the_rules_of_both():
    utm, ref = (("drop", "utm"),), (("drop", "ref"),)
    mine = {SID: RuleRecord(total=RuleEvidence(9)), ref: RuleRecord(total=RuleEvidence(9))}
    theirs = {SID: RuleRecord(total=RuleEvidence(400)), utm: RuleRecord(total=RuleEvidence(9))}
    theirs[ref] = RuleRecord("removed")
    row = merged(encode_rules(mine), encode_rules(theirs))
    assert decode_rules(row) == {SID: mine[SID], utm: theirs[utm], ref: theirs[ref]}
    assert merged(encode_rules(mine), b"{damaged") == merged(encode_rules(mine), None)
    many = {(("drop", f"x{n}"),): RuleRecord() for n in range(2 * MAX_RULES)}
    kept = decode_rules(merged(encode_rules(mine), encode_rules(many)))
    assert len(kept) == MAX_RULES
    assert SID in kept
