"""Names of a page besides its title and its first heading."""

import json

import pytest

from scrapy_simhash.extraction import extract

TEXT = "<p>The ferry leaves from the quay at noon, and takes bicycles, dogs and bales of wool.</p>"


def found(html, title="Ferries"):
    """Return the identities of a page that has the same title as the others of its site."""
    return dict(extract(f"<title>{title}</title>{html}", "text").identities)


def ld(thing):
    return f'<script type="application/ld+json">{json.dumps(thing)}</script>'


@pytest.mark.parametrize(
    ("kind", "html"),
    [
        ("subheading", "<h1>Timetable</h1><h2>{}</h2>"),
        ("subheading", "<h1>Timetable</h1><div>Valid now</div><h4>{}</h4>"),
        ("subheading", "<h1>Timetable</h1><p role='Heading'>{}</p>"),
        ("subheading", "<h2>Timetable</h2><h2>{}</h2>"),
        ("subheading", "<h3>{}</h3>" + TEXT + "<h2>Fares</h2>"),
        ("picture", "<h1>Timetable <img alt='{}'></h1>"),
        ("picture", "<img alt=''><img alt='{}'>"),
        ("picture", "<h1>Timetable</h1><h2><img alt='{}'></h2>"),
        ("crumb", "<h1>Lines</h1><nav class=breadcrumb><a href=/>Lines</a> › {}</nav>"),
        ("crumb", "<h1>Lines</h1><ol id=BreadCrumbs><li><a href=/>Lines</a><li>{}</ol>"),
        ("crumb", "<nav class=breadcrumb><a href=/>Lines</a><b aria-current=page>{}</b></nav>"),
        ("crumb", "<ol aria-label=Breadcrumb><li>Lines<li aria-current=page>{}</ol><h1>Lines</h1>"),
        ("label", "<main aria-label='{}'>"),
        ("label", "<section aria-label='{}'>"),
        ("label", "<article aria-label='{}'>"),
        ("lead", "<b>{}</b>"),
        ("lead", "<div>Lines</div><p><strong>{}</strong></p>"),
        ("lead", "<dl><dt>{}<dd>Daily</dl>"),
        ("lead", "<table><tr><th>{}</table>"),
        ("lead", "<fieldset><legend>{}</legend></fieldset>"),
        ("lead", "<details open><summary>{}</summary></details>"),
        ("lead", "<span class=line-name>{}</span>"),
        ("lead", "<div id=lineTitle>{}</div>"),
        ("lead", "<div class=vcard><span class='fn org'>{}</span></div>"),
        ("title", "<h1>Timetable</h1><meta property=og:title content='{}'>"),
        ("title", "<h1>Timetable</h1><meta property=og:title content='Timetable: {} | Ferries'>"),
        ("title", "<h1>Timetable</h1><meta name=dcterms.title content='{}'>"),
        ("title", "<h1>Timetable</h1><meta name=citation_title content='{}'>"),
    ],
)  # fmt: skip
def test_a_name_tells_pages_apart_that_have_the_same_title(kind, html):
    one, other = (found(html.format(name) + TEXT) for name in ("Line 4", "Line 5"))
    assert one[kind] != other[kind]
    assert {name for name in one if one[name] != other[name]} == {kind}


@pytest.mark.parametrize(
    "html",
    [
        "<h1>Our houses</h1><div class=name>{}</div>",
        "<h1>Our houses</h1><p><strong>{}</strong></p>",
        "<h1>Our houses</h1><table><tr><th>{}</table>",
        "<h1>Our houses</h1><figure><figcaption>{}</figcaption></figure>",
        "<h1>Our houses</h1><p>{}</p>",
        "<h1>Question</h1><p>{} was built when?</p>",
        "<h1>Our houses</h1><p>{} ใกล้ท่าเรือเก่า</p>",
        "<h1>Our houses</h1><ul><li>{}<li>Open daily</ul>",
        "<h1>Our houses</h1><table><tr><td>{}<tr><td>Open daily</table>",
        "<page-title>{}</page-title>",
        "<marquee>{}</marquee>",
        "<div class=heading-xl>{}</div>",
    ],
)
def test_a_line_that_looks_like_a_heading_tells_pages_apart(html):
    one, other = (found(html.format(name) + TEXT) for name in ("The Old Mint", "Larch Lodge"))
    assert one["lead"].startswith("the old mint")
    assert other["lead"].startswith("larch lodge")


def test_without_a_heading_the_first_facts_tell_pages_apart():
    html = "<dl><dt>Name<dd>{}<dt>Beds<dd>two</dl>"
    one, other = (found(html.format(name) + TEXT) for name in ("The Old Mint", "Larch Lodge"))
    assert one["fact"] != other["fact"]


def test_a_long_heading_below_a_general_one_tells_pages_apart():
    html = "<h1>Our houses</h1><h2>{} is a house by the harbour with a garden</h2>"
    one, other = (found(html.format(name) + TEXT) for name in ("The Old Mint", "Larch Lodge"))
    assert one["subheading"] != other["subheading"]


@pytest.mark.parametrize(
    ("kind", "html"),
    [
        ("fact", "<dl><dt>Name<dd>{}<dt>Beds<dd>two</dl>"),
        ("fact", "<dl><div><dt>Beds<dd>two</div><div><dt>Name<dd>{}</div></dl>"),
        ("fact", "<table><tr><th>Beds<td>12<tr><th>Name<td>{}</table>"),
        ("fact", "<table><tr><th>Name<th>Beds<tr><td>{}<td>two</table>"),
        ("fact", "<ul><li>Beds: two<li>Beds: 12<li>Name: {}</ul>"),
        ("fact", "<dl><dt>Beds<dd>12<dt>Object no.<dd>{}-2041</dl>"),
        ("fact", "<table><tr><th>Reference<td>{}/77</table>"),
        ("time", "<p>Begins <time datetime='{}T20:00'>on May 12, at eight</time></p>"),
        ("time", "<p>Our hall</p><p>Sunday, {}, 19:30</p>"),
        ("time", "<div>{} at 8:00 pm</div>"),
        ("lead", "<p>12 May 2026</p><p>{}</p>"),
        ("lead", "<p>4.5 (12)</p><ul><li>{}</ul>"),
    ],
)  # fmt: skip
def test_facts_and_dates_below_a_general_heading_tell_pages_apart(kind, html):
    values = ("2026-05-12", "2026-05-19") if kind == "time" else ("The Old Mint", "Larch Lodge")
    if "}-" in html or "}/" in html:
        values = ("LI", "N")
    page = f"<h1>Our houses</h1>{html}" + TEXT
    one, other = (found(page.format(value))[kind] for value in values)
    assert one != other
    assert kind not in found(page.replace("Our houses", "A headline of five words").format("x"))


@pytest.mark.parametrize("heading", ["Our houses", "A house of five words", ""])
@pytest.mark.parametrize(
    "html",
    [
        "<p>€ {}</p>",
        "<div>Price</div><div>{} €</div>",
        "<p>Free in May</p><span>CHF {}</span>",
        "<dl><dt>Rent<dd>{} zł<dt>Beds<dd>2</dl>",
        "<table><tr><th>Rent<td>{} kr</table>",
    ],
)
def test_a_price_below_the_heading_tells_pages_apart(heading, html):
    page = f"<h1>{heading}</h1>{html}" + TEXT
    one, other = (found(page.format(price))["price"] for price in (890, 940))
    assert one != other
    assert "price" not in found(f"<h1>{heading}</h1><p>Tuesday, 12.5.2026 - 10:15</p>{TEXT}")
    in_text = TEXT + "<p>It cost $12 then.</p><p>$14</p><a href=/b>€ 15</a>"
    assert "price" not in found(f"<h1>{heading}</h1>{in_text}")


@pytest.mark.parametrize(
    "html",
    [
        "<h1>Line 4</h1>" + TEXT + "<h2>Monday</h2>",  # a heading of a section
        "<table><tr><td>Li</table><h1>Line 4</h1><table><tr><td>Line 4</table>",  # elsewhere
        "<h2>Boats</h2><h1>Line 4</h1>",  # above the heading: the section of the site
        "<h1>Line 4</h1><aside><h2>Weather</h2></aside>",
        "<h1>Line 4</h1><h2>Print version</h2>",
        "<h1>Line 4</h1><h2>1,200 comments</h2>",
        "<h1>Line 4 of the harbour, north</h1><h2>This heading is as long as an introduction of it</h2>",
        "<h1>Line 4</h1><h2>Line 4</h2>",
        "<h1>Line 4</h1><h2><a href=/5>Line 5</a></h2>",
        "<h1>Line 4</h1><article aria-label='Line 5'>",
        "<h1>Line 4</h1><b>12 May</b><img alt='A pier'>",  # there is a heading
        "<h1>Line 4</h1><nav><a aria-current=page>Boats</a></nav>",  # no breadcrumb
        "<h1>Line 4</h1><meta property=og:title content='Line 4 - Ferries'>",
        "<h1>Line 4 of the harbour</h1><b>and</b> then",  # no whole line
        "<h1>A headline of five words</h1><p>Anna Berg</p>",
        "<h1 itemscope><i itemprop=name>Line 4</i></h1><p>Anna Berg</p>",  # declared
        "<h1>Line 4</h1><p>It has left.</p>",
        "<p>Sunday, 12 May</p><p>Log in</p><h2>Line 4</h2>",  # above it may be anything
        "<h1>Terms</h1><p>Last updated: 12 May 2026</p>",  # of a version
        "<h1>Line 4</h1><dl><dt>12 views<dd>3</dl>",
        "<p>Boats came in.",
        "<p>12 May 2024",  # a number may be a date
        "<h1>Line 4</h1><nav class=breadcrumb><a href=/>Lines</a> / <a href=/4>Boats</a></nav>",
        "<h1>Line 4</h1><ol class=breadcrumb><li><a href=/>Lines</a><script>{}</script></ol>",
        "<h1 class=logo><img alt=Quay></h1><h1>Line 4</h1>",
        "<h1>Line 4</h1><h2>Boats <img alt='A pier'></h2>".replace("Boats", "Line 4"),
        "<p>A <b>word</b> in a text of many words that nobody takes for a heading</p><b>so</b>",
    ],
)
def test_what_is_no_further_name(html):
    assert found(html + TEXT) == {}


def test_at_most_ten_lines_are_at_the_top():
    lines = [f"<div>{number}</div>" for number in range(10)]
    assert found(f"{''.join(lines[1:])}<b>Line 4</b>{TEXT}") == {"lead": "line 4"}
    assert found(f"{''.join(lines)}<b>Line 4</b>{TEXT}") == {}
