"""Pages that are made to take a parser much time or memory."""

import time
import tracemalloc

import pytest

from scrapy_simhash.detector import Detector
from scrapy_simhash.errors import ExtractionError
from scrapy_simhash.extraction import extract, prepared
from scrapy_simhash.extraction.page import MAX_TAGS
from scrapy_simhash.scheme import Scheme

FERRY = "<p>The ferry leaves.</p>"
ATTRIBUTES = (
    *("a{0}=1", "a{0}", "a{0}='b c'", 'a{0}="b"', "data-{0} = x", "a{0}=<", "a{0}='<'"),
    *('a{0}=">"', "a{0}='<p>'", """a{0}="'>" b{0}='"<'""", "a{0}  =           '>'"),
)
HIDING = "<p class=a id=b style=c role=d hidden itemprop=name>a"
NAMES = (
    *("<b>", "<div class=name>a", "<h1>", "<h3>a", "<i role=heading>a", "<template>a"),
    *("<nav class=breadcrumb aria-current=page>a", "<div itemscope itemprop=offers>"),
    *("<p data-a='{" + 400 * " " + "'>", "<iframe src=/film-1></iframe>"),
    "<div class=breadcrumb><a>b</a></div>",
)
LINKS = 12 * "<a href=/a>b</a>"
SENTENCE = "<p>The ferry leaves. It calls at three islands, and returns.</p>"
PICTURES = 100 * "<article>" + 300 * "<img src=/a.png><iframe src=/b></iframe>"
# Before readability had a budget, each of these took more than 20 seconds. Now it takes one or two.
SENTENCES = "<p>The ferry waits, at the pier, for bread and post.</p>" * 9
TEXT = f"<div>{SENTENCES}</div>"
WORST = {
    "pictures without text": SENTENCES + "<div><img src=a></div>" * 4_000,
    "text behind scripts": TEXT + "<p>" + "<script></script>abcdefgh" * 120_000,
    "text behind hidden elements": TEXT + "<p>" + "<b hidden>a</b>abcdefgh" * 130_000,
    "text behind styled ones": TEXT + "<p>" + "<b style=display:none>a</b>abcdefgh" * 120_000,
    "text behind comments": TEXT + "<p>" + "<b class=comment>a</b>abcdefgh" * 110_000,
    "text behind noscript": TEXT + "<p>" + "<noscript></noscript>abcdefgh" * 110_000,
    "text behind headings": TEXT + "<h3 class=footer>a</h3>tail " * 90_000,
    "attributes to be cleaned": "<div title='" + " color=1" * 75_000 + "'>few words</div>",
    "links in nested tables": "<table><tr><td>" * 80 + "<a href=x>word</a> " * 40_000,
    "leads of an article": f"<article>{'<div class=dek>ab</div>' * 44_000}{TEXT}</article>",
}
# (page, limit in seconds). Those with a title may have another text. What is done with them comes
# before any extractor, or after it.
SLOW_FOR_ALL = [
    *(
        (f"<div {' '.join(each.format(number) for number in range(20_000))}>{FERRY}</div>", 1)
        for each in ATTRIBUTES
    ),
    *(
        (f"<h1>The ferry</h1>{FERRY}<p>π = {digits * 50_000}", 3)
        for digits in ("3", "3 333", "3.", "3'", "$3")
    ),
    *((f"<title>A</title>{FERRY}{200 * '<div>'}{each * 20_000}", 4) for each in NAMES),
]
# Each extractor has steps of its own for these.
SLOW_FOR_ONE = [
    (HIDING * 40_000 + FERRY, 8),
    (f"<title>A</title>{FERRY}{'<main>a</main>' * 12_000}{PICTURES}", 3),
    (f"<h1>The ferry</h1><nav>{'1' * 2_000_000}</nav>{SENTENCE}", 2),
    (f"<h1>The ferry</h1>{FERRY}{'<label>' * 200}<nav>{'word ' * 400_000}</nav>", 3),
    (f"<main>{FERRY}" + f"<div><nav>{LINKS}</nav></div>" * 10_000 + "<h1>A</h1>", 4),
]
# What is nested nearly as deeply as the parser allows, and what is often in it.
NESTED = {
    "<div>": ["<h1>x</h1>", "<h1><a href=x>x</a></h1>", "<header>x</header>"],
    "<div class=x>": ["<div class=cookie>x</div>"],
    "<div class=cookie>": ["<b>x</b>"],
    "<section role=dialog>": ["<b>x</b>"],
    "<form>": ["<b>x</b>"],
    "<h1><div>": ["<a href=x>x</a>"],
}
LONG = (
    *("<div>" * 100_000 + "deep", "<b>" * 100_000 + "deep", "<a href=x>" * 100_000 + "x"),
    *("<a href=x>word</a>" * 149_000, "<p>x" * 299_000, "<br>x" * 299_000, "word " * 1_000_000),
    *("w" * 5_000_000, "渡轮" * 1_000_000, "\ue001" * 1_000_000, "&#xe001;" * 300_000),
    *("<table>" + "<tr><td>x" * 100_000, "<dl>" + "<dt>a<dd>b" * 100_000),
    *(around * 240 + each * 70_000 for around, inside in NESTED.items() for each in inside),
    (("<div id=gdpr>" * 240) + "</div>" * 240) * 100,
    f"<div class='{'a ' * 100_000}'>" + "<h1>x</h1>" * 10_000,
    *(f"<p style='{style}'>x" for style in (";" + " " * 1_000_000, "display:" * 200_000)),
)


@pytest.mark.parametrize(
    ("extractor", "page", "limit_s"),
    [
        *(("segments", *slow) for slow in SLOW_FOR_ALL + SLOW_FOR_ONE),
        *((one, *slow) for one in ("readability", "text") for slow in SLOW_FOR_ONE),
    ],
    ids=lambda value: str(value)[:40],
)
def test_pages_made_to_be_slow_take_linear_time(extractor, page, limit_s):
    started = time.process_time()
    text = extract(page, extractor).text
    assert "The ferry leaves." in text or page.startswith("<title>")
    assert time.process_time() - started < limit_s


@pytest.mark.thorough
@pytest.mark.parametrize("extractor", ["readability", "text"])
@pytest.mark.parametrize("name", WORST)
def test_no_page_takes_half_a_minute_of_cpu_time(name, extractor):
    started = time.process_time()
    extract(f"<html><body>{WORST[name]}</body></html>", extractor)
    assert time.process_time() - started < 20


@pytest.mark.thorough
@pytest.mark.parametrize("html", LONG, ids=lambda html: f"{html[:20]}…{html[-10:]}")
def test_long_pages_take_linear_time(html):
    started = time.process_time()
    found = extract("<p>Words at the top.</p>" + html, "segments")
    assert time.process_time() - started < 10
    assert "Words at the top." in found.text or len(found.text) > 100


@pytest.mark.parametrize(
    "more",
    [
        *("word " * 1_000_000, "<script>" * 100_000, "<a b='" * 200_000, "<!-- " * 200_000),
        *("<a" + " " * 2_000_000, 'a = "b > c" ' * 100_000),
    ],
    ids=lambda more: more[:12],
)
def test_tags_are_found_in_linear_time(more):
    started = time.process_time()
    assert prepared(FERRY + more).startswith(FERRY.encode())
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "page",
    [
        f"<img src='data:image/png;base64,{'QUJD' * 5000}' class=a><p>b c</p>",
        f'<div data-page="{"&quot;a&quot;: 1, " * 1000}" class="b"><p>b c</p></div>',
        "<p>" + "word = word " * 2000,
        f"<script>{'if (a && b) c = d; ' * 1000}</script>",
        f"<script>a > b; if (a<b) {'c = d; ' * 5000}</script>",
        f"<p>b</p><!-- a > b <p {'c = d ' * 5000}--><p>c</p>",
    ],
)
def test_long_tags_texts_and_scripts_stay(page):
    assert prepared(page).decode() == page.strip()


def test_a_page_with_too_many_tags_is_skipped_with_its_reason():
    page = "<br>" * (MAX_TAGS + 1)
    with pytest.raises(ExtractionError, match="more than 300000 tags"):
        extract(page, "segments")
    assert Detector(Scheme()).fingerprint_page(page).skipped == "extraction_error"


@pytest.mark.parametrize(
    "link",
    [
        "<a href='javascript:f({0}, \"" + 30_000 * "x" + "\")'>it</a>",
        "<p><a href='data:text/csv,{0}" + 30_000 * "x" + "'>The file number {0}</a>",
    ],
    ids=["script", "data"],
)
def test_no_cache_keeps_long_targets(link):
    def page(number):
        links = (link.format(f"{number}{n}") for n in range(20))
        return f"<h1>The ferry</h1><p>Many words are in this text. {' See '.join(links)}</p>"

    extract(page(0))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(1, 6):
            extract(page(number))
        assert tracemalloc.get_traced_memory()[0] - before < 1_500_000
    finally:
        tracemalloc.stop()
