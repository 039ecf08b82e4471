"""The site of a page, as the page itself tells it."""

import pytest

from scrapy_simhash.extraction import extract

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
