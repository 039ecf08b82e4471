"""The canonical URL of a page, as the page writes it."""

import pytest

from scrapy_simhash import Detector, Scheme
from scrapy_simhash.extraction import extract
from scrapy_simhash.extraction.selectors import Selectors
from tests.extractors import INSTALLED
from tests.samples import article_page

HREF = "https://example.com/page?a=1&b=2#part"


@pytest.mark.parametrize("extractor", INSTALLED)
def test_every_extractor_returns_the_canonical_url(extractor):
    extraction = extract(article_page(head=f'<link rel="canonical" href="{HREF}">'), extractor)
    assert extraction.canonical == HREF
    assert "example.com" not in extraction.text


@pytest.mark.parametrize(
    "link",
    [
        '<link rel="canonical" href="/page">',
        "<link href=/page rel=canonical>",
        '<LINK HREF="/page" REL="CANONICAL"/>',
        '<link Rel="Canonical" hRef="/page"></link>',
        '<link rel="alternate canonical" href="/page">',
        '<link rel="canonical\tnofollow" href="/page">',
        '<link rel=" \n canonical " href=" \n /page\t">',
        '<link class="x" data-rel="icon" rel="canonical" type="text/html" href="/page">',
        '<link rel="icon" href="/icon"><link rel="canonical" href="/page">',
        '<link rel="canonical" href="/page"><link rel="canonical" href="/other">',
        '<!-- <link rel="canonical" href="/other"> --><link rel="canonical" href="/page">',
        "<script>'<link rel=canonical href=/other>'</script><link rel=canonical href=/page>",
        '<link rel="canonical" href="&#47;page">',
    ],
)
def test_any_spelling_of_the_link_is_found(link):
    assert extract(article_page(head=link)).canonical == "/page"


@pytest.mark.parametrize(
    "link",
    [
        '<a rel="canonical" href="/page">page</a>',
        '<link rel="canonical-page" href="/page">',
        '<link rel="canon" href="/page">',
        '<link canonical href="/page">',
        '<link rel="shortlink" href="/page">',
        '<link rev="canonical" href="/page">',
        '<meta name="canonical" content="/page">',
        '<link rel="canonical">',
        '<link rel="canonical" href>',
        '<link rel="canonical" href="  ">',
    ],
)
def test_other_elements_and_relations_are_ignored(link):
    assert extract(article_page(head=link)).canonical == ""


def test_selectors_keep_the_canonical_url_unless_they_remove_the_link():
    html = article_page(head='<link rel="canonical" href="/page">')
    selected = extract(html, selectors=Selectors(select=("div.article",)))
    assert (selected.way, selected.canonical) == ("selected", "/page")
    removed = extract(html, selectors=Selectors(remove=("p:first-of-type",)))
    assert removed.canonical == "/page"
    assert extract(html, selectors=Selectors(remove=("link",))).canonical == ""


@pytest.mark.parametrize("body", ["", "<p>Too few words.</p>"])
def test_a_skipped_page_has_its_canonical_url(body):
    html = f'<html><head><link rel="canonical" href="/page"></head><body>{body}</body></html>'
    page = Detector(Scheme.preset("wide")).fingerprint_page(html)
    assert page.skipped in ("no_text", "few_tokens")
    assert page.canonical == "/page"
