"""The report as a file: what its data becomes, without a browser."""

import copy
import json
import re
from base64 import b64encode
from hashlib import sha256

import pytest
from lxml import etree
from lxml.html import document_fromstring

from scrapy_simhash.crawl.crawl_report import crawl_facts
from scrapy_simhash.report.page import render
from tests.report.samples import empty_report, hostile_report, reported, small_report


class Read:
    """The elements of a page with their attributes, and its text outside scripts and styles."""

    def __init__(self, page):
        self.tree = document_fromstring(page)
        self.elements = [(one.tag, dict(one.attrib)) for one in self.tree.iter(etree.Element)]
        words = self.tree.xpath("//text()[not(parent::script or parent::style)]")
        self.text = " ".join(" ".join(words).split())

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def raw(self, where):
        (found,) = self.tree.xpath(where)
        return found.text


def test_the_policy_allows_this_script_and_this_style_and_loads_nothing():
    read = Read(render(small_report()))
    [policy] = read.tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    allowed = {name: values for name, *values in map(str.split, policy.split("; "))}
    assert allowed["default-src"] == ["'none'"]
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        text = read.raw(f"//{tag}[not(@type = 'application/json')]")
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert allowed[rule] == [f"'sha256-{digest}'"]
        assert "\r" not in text
    for name in ("base-uri", "form-action", "trusted-types"):
        assert allowed[name] == ["'none'"]
    assert allowed["img-src"] == ["data:"]


def test_nothing_is_named_that_a_browser_would_load():
    read = Read(render(small_report()))
    for tag, attributes in read.elements:
        assert "src" not in attributes, tag
        assert "srcset" not in attributes, tag
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        if tag == "link":
            assert attributes == {"rel": "icon", "href": "data:,"}
    style = read.raw("//style")
    assert "url(" not in style
    assert "@import" not in style


def test_the_data_is_in_the_page_as_it_was():
    report = small_report()
    read = Read(render(report))
    data = json.loads(read.raw("//*[@id='data']"))
    assert data["pages"] == report["pages"]
    assert json.loads(read.raw("//*[@id='texts']")) == report["texts"]


HARD = "</script><!--<script>]]>&amp;\u2028\u2029\ud800 é 船 \U0001f6a2"


def test_json_ends_no_element_and_keeps_every_character():
    page = render(reported([(0, HARD, 0, "", None), (1, "b" + HARD, 1, "", None)]))
    page.encode("utf-8")
    read = Read(page)
    block = read.raw("//*[@id='data']")
    assert block.isascii()
    assert not set("<>&") & set(block)
    assert json.loads(block)["pages"]["key"] == [HARD, "b" + HARD]
    assert len(read.of("script")) == 3


def test_hostile_text_makes_no_element_and_no_attribute():
    kinds = {tag for tag, _ in Read(render(small_report())).elements}
    read = Read(render(hostile_report()))
    assert {tag for tag, _ in read.elements} <= kinds | {"em"}
    assert len(read.of("script")) == 3
    assert len(read.of("style")) == 1
    for tag, attributes in read.elements:
        assert not [name for name in attributes if name.startswith("on")], tag
    assert not [link for link in read.of("a") if link["href"].startswith("javascript")]
    assert "7 * 7" in read.text
    assert "\\u202egpj.exe \\x07\\x00" in read.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", read.text)


def test_of_an_index_alone():
    report = copy.deepcopy(small_report())
    report["crawl"] = None
    text = Read(render(report)).text
    assert "made from the index alone" in text
    assert "SIMHASH_REPORT" in text
    assert "spiders/harbour" in text


def test_what_a_crawl_did_and_did_not():
    text = Read(render(small_report())).text
    assert "83 pages were skipped" in text
    assert "1,294 requests, 1,289 responses, 702 items scraped." in text
    assert re.search(r"few tokens\s+61", text)
    crawl = small_report()["crawl"]
    for outcome in ("dropped", "followed", "tagged"):
        near, unchanged = (f"{crawl[outcome][kind]:,}" for kind in ("near_duplicate", "unchanged"))
        assert re.search(rf" {outcome} [a-z,; ]+ {near} {unchanged} ", text)
    assert re.search(r"of these kept: flood would have been dropped 30 0 ", text)


def test_what_was_left_out_is_said():
    report = copy.deepcopy(small_report())
    report["left_out"] = {"near_duplicates": 2345, "texts": 0}
    text = Read(render(report)).text
    assert "2,345 near-duplicates are not listed. The counts" in text
    assert "texts of" not in text
    # They are clusters all the same.
    report["index"]["clusters"] = 2345
    assert "clusters of near-duplicates 2,345 " in Read(render(report)).text
    report["left_out"] = {"near_duplicates": 0, "texts": 7}
    assert "the texts of 7 pages are left out" in Read(render(report)).text
    assert "This file is not complete" not in Read(render(small_report())).text


@pytest.mark.parametrize(
    ("crawl", "most", "share"),
    [
        (None, None, "0 of 0 pages"),
        (
            {"near_duplicate": 400, "unchanged": 93, "judged": 676},
            ("a.example/p/*/*", "a.example/p/*"),
            "493 of 676 requests",
        ),
        (
            {"near_duplicate": 1, "judged": 2},
            ("a.example/*", "a.example/*"),
            "1 of 2 requests",
        ),
    ],
)
def test_it_opens_with_a_sentence(crawl, most, share):
    report = empty_report() | {"most": most and dict(zip(("pattern", "like"), most, strict=True))}
    if crawl:
        report["crawl"] = crawl_facts({}, "shop", "finished") | crawl
    [summary] = document_fromstring(render(report)).xpath("//*[@id='summary']")
    sentence = f"{share} brought nothing new"
    if most:
        pattern, like = most
        repeats = "each other" if pattern == like else f"pages like {like}"
        sentence += f"; most of them pages like {pattern}, which repeat {repeats}"
    assert " ".join(summary.text_content().split()) == f"{sentence}."
