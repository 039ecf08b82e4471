"""The canonical URL and the site of a page, as the page itself tells them."""

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
        '<LINK HREF="/page" REL="CANONICAL"/>',
        '<link rel="alternate canonical" href="/page">',
        '<link rel="canonical\tnofollow" href="/page">',
        '<link rel=" \n canonical " href=" \n /page\t">',
        '<link rel="icon" href="/icon"><link rel="canonical" href="/page">',
        '<link rel="canonical" href="/page"><link rel="canonical" href="/other">',
        '<!-- <link rel="canonical" href="/other"> --><link rel="canonical" href="/page">',
        "<script>'<link rel=canonical href=/other>'</script><link rel=canonical href=/page>",
    ],
)
def test_any_spelling_of_the_link_is_found(link):
    assert extract(article_page(head=link)).canonical == "/page"


@pytest.mark.parametrize(
    "link",
    [
        '<a rel="canonical" href="/page">page</a>',
        '<link rel="canonical-page" href="/page">',
        '<link rev="canonical" href="/page">',
        '<meta name="canonical" content="/page">',
        '<link rel="canonical">',
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


OWN = '<link rel="stylesheet" href="https://cdn.boats.co.uk/a.css">'
FONTS = '<link rel="stylesheet" href="//fonts.example.org/b.css">'


@pytest.mark.parametrize(
    ("head", "site"),
    [
        ('<link rel="canonical" href="https://www.boats.co.uk/7">', "boats.co.uk"),
        (f'<meta property="og:url" content="https://shop.boats.co.uk/7">{FONTS}', "boats.co.uk"),
        ('<base href="http://boats.co.uk/">', "boats.co.uk"),
        (OWN, "boats.co.uk"),
        (f'{OWN}<link rel="stylesheet" href="css/c.css">', "boats.co.uk"),
        (OWN + FONTS, ""),
        *((f'<link rel="stylesheet" href="{url}">', "") for url in ("/a.css", "../a.css?v=1", "a")),
        ('<base href="/a/"><link rel="canonical" href="b.html">', ""),
        ("", ""),
    ],
)
def test_only_hosts_tell_the_site(head, site):
    assert extract(f"<html><head>{head}</head><body><p>Boats</p></body></html>").site == site
