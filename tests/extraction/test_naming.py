"""Names and identities of pages: where they are found in the markup."""

import json

import pytest

from scrapy_simhash.extraction import extract

TEXT = "<p>The ferry leaves from the quay at noon, and takes bicycles, dogs and bales of wool.</p>"


def names(html):
    return extract(html, "text").names


def headings(html):
    return list(names(f"<title>Ferries</title>{html}{TEXT}").headings)


def identities(html):
    page = extract(f"<title>Boat 7 - Shop</title><h1>Boat 7</h1>{html}{TEXT}", "text")
    return dict(page.identities)


def ld(*things):
    return "".join(
        f'<script type="application/ld+json">{json.dumps(thing)}</script>' for thing in things
    )


PRODUCT = {"@type": "Product", "name": "Boat 7", "sku": "B-7"}


class TestHeadings:
    @pytest.mark.parametrize(
        "html",
        [
            "<h1>Line 4</h1>",
            "<header><h1>Line 4</h1></header>",
            "<nav><h1>Line 4</h1></nav>",
            "<h1 class=header>Line 4</h1>",
            "<h1 class='page-header site-header'>Line 4</h1>",
            "<div id=masthead><h1>Line 4</h1></div>",
            "<h1 class=logo>Ferries</h1><h1>Line 4</h1>",
            "<h1><a href='/'>Ferries</a></h1><h1>Line 4</h1>",
            "<h1><img src=4.png alt='Line 4'></h1>",
            "<h1 aria-label='Line 4'><svg></svg></h1>",
            "<div role=heading aria-level=1>Line 4</div>",
            "<h2>Timetable</h2><h1>Line 4</h1>",
        ],
    )
    def test_the_first_heading_wherever_it_is(self, html):
        assert headings(html) == ["Line 4"]
        assert not names(html).is_weak

    @pytest.mark.parametrize(
        "html",
        [
            "<h2>Line 4</h2><h3>Monday</h3>",
            "<h4>Line 4</h4><h5>Monday</h5>",
            "<h3 itemprop=name>Line 4</h3>",
            "<h3>Timetable</h3><b itemprop=name>Line 4</b>",
            "<h3><img alt='Line 4'></h3>",
            "<aside><h2>Our tips</h2></aside><h2>Line 4</h2>",
            "<p role=heading>Line 4</p>",
            "<nav><p role=heading aria-level=1>Our tips</p></nav><h2>Line 4</h2>",
            "<dialog><h2>Our tips</h2></dialog><section class=comments><h2>Line 4</h2>",
            "<h3>Line 4</h3><section class=comments><h2>2 comments</h2><p>Nice.</section>",
            "<h1 class=logo>Ferries</h1><h2>Line 4</h2>",
            ld({"@type": "BusTrip", "name": "Line 4"}) + "<h3>Monday</h3>",
            ld({"@graph": [{"@type": "Article", "headline": "Line 4"}]}),
            "<meta property=og:title content='Line 4'><h3>Monday</h3>",
            "<meta name=twitter:title content='Line 4'>",
            "<base href='http://quay.example'><meta name=dc.title content='quay.example: Line 4'>",
            "<base href='http://quay.example'><meta property=og:title content=Quay><h3>Line 4</h3>",
            "<table><caption>Line 4</caption><tr><td>9:30</table>",
        ],
    )
    def test_what_stands_for_it_where_there_is_none(self, html):
        assert headings(html) == ["Line 4"]
        assert names(f"<title>Ferries</title>{html}{TEXT}").is_weak

    def test_all_first_headings_count(self):
        assert headings("<h1>Line 4</h1><h1>News</h1>") == ["Line 4", "News"]

    def test_without_any_name_the_first_short_lines_are_it(self):
        for html in ("<div class=x><b>Line 4</b></div>", "<ul><li>Line 4</ul>"):
            assert names(html + TEXT).headings == ["Line 4"]
        assert names(TEXT).headings == []
        assert names("<div>a<p>b<p>c<p>d").headings == ["a b c"]


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>Line 4</title><meta property=og:title content='Line 5'>", "Line 4"),
        ("<meta property=og:title content=' Line 4 '>", "Line 4"),
        ("<title> </title><meta name=og:title content='Line 4'>", "Line 4"),
        (ld({"@type": "Trip", "name": "Line &amp; 4"}), "Line & 4"),
        ("<h1>Line 4</h1>", ""),
    ],
)
def test_titles(html, title):
    assert names(html + TEXT).title == title


@pytest.mark.parametrize(
    "html",
    [
        "<meta property=og:site_name content='Old Harbour'>",
        "<meta name=application-name content='Old Harbour'>",
        ld({"@type": "Article", "publisher": {"@type": "Organization", "name": "Old Harbour"}}),
        ld([{"@type": "WebSite", "name": "Old Harbour"}]),
        "<a href='/'>Old Harbour</a>",
        "<a href=index.html><img alt='Old Harbour'></a>",
        "<link rel=canonical href=https://a.example/x><a href='https://a.example'>Old Harbour</a>",
    ],
)
def test_the_names_of_the_site(html):
    assert "Old Harbour" in names(html + TEXT).sites


def test_links_that_run_scripts_name_no_site():
    page = "<a href='javascript://'>Quick links</a><a href='http://'>More</a><h1>Line 4</h1>"
    assert extract(page).names.sites == ()


def test_links_to_other_sites_and_long_ones_name_none():
    for html in (
        "<link rel=canonical href=https://a.example/x><a href='https://b.example'>Old Harbour</a>",
        "<a href=/tickets>Old Harbour</a>",
        "<a href='/'>This is a long text that is no name of anything</a>",
    ):
        sites = names(html + TEXT).sites
        assert [site for site in sites if " " in site] == []


class TestIdentities:
    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            (ld(PRODUCT), {"sku": "b-7"}),
            (ld({"@graph": [{"@type": "WebPage", "name": "Boat 7"}, PRODUCT]}), {"sku": "b-7"}),
            (ld({"schema:@type": "schema:Product", "schema:sku": "B-7"}), {"sku": "b-7"}),
            (
                ld({**PRODUCT, "sku": "", "offers": {"@type": "Offer", "sku": "B-7"}}),
                {"sku": "b-7"},
            ),
            (ld({**PRODUCT, "sku": "", "offers": [{"sku": "B-7"}, {"sku": "B-8"}]}), {}),
            ("<div typeof='schema:Product'><b property='schema:sku'>B-7</b></div>", {"sku": "b-7"}),
            (
                (
                    "<div itemscope><b itemprop=name>Boat 7</b><p itemprop=offers itemscope>"
                    "<b itemprop=name>Sale</b><b itemprop=sku>B-7</b></p></div>"
                ),
                {"sku": "b-7"},
            ),
            (ld({"@type": "WebPage", "mainEntity": PRODUCT}), {"sku": "b-7"}),
            (ld({"@type": "WebPage", "about": PRODUCT}), {"sku": "b-7"}),
            (ld({"@type": "Article", "about": PRODUCT}), {}),
            (ld({**PRODUCT, "@type": ["Product", "Boat"], "mpn": 17}), {"sku": "b-7", "mpn": "17"}),
            (ld({"@type": "Product", "gtin13": "0 4006381-333931"}), {"gtin": "4006381333931"}),
            (ld({"@type": "Product", "gtin": "04006381333931"}), {"gtin": "4006381333931"}),
            (ld({"@type": "Book", "isbn": "978-3-16-148410-0"}), {"gtin": "9783161484100"}),
            ("<div itemscope><b itemprop=sku>B-7</b></div>", {"sku": "b-7"}),
            ("<div itemScope><b itemProp=sku>B-7</b></div>", {"sku": "b-7"}),
            (ld({"@type": "Product", "color": "Red", "size": "M"}), {"color": "red", "size": "m"}),
            (
                ld({"@type": "Product", "material": "Wool", "pattern": "Dots"}),
                {"material": "wool", "pattern": "dots"},
            ),
            ("<meta property=product:color content=Red>", {"color": "red"}),
            (ld({**PRODUCT, "color": ["red", "blue"]}), {"sku": "b-7"}),
            ("<div itemscope>It is <i itemprop=color>Red</i>.</div>", {"color": "red"}),
            (
                ld({"@type": "Event", "startDate": "2026-05-12T20:00"}),
                {"startdate": "2026-05-12"},
            ),
            (ld({"@type": "Event", "startDate": "12 May"}), {"startdate": "12 may"}),
            (
                ld({"@type": "Event", "location": {"address": {"addressLocality": "Bonn"}}}),
                {"addresslocality": "bonn"},
            ),
            (
                ld({"@type": "JobPosting", "jobLocation": {"address": "Bonn"}}),
                {"addresslocality": "bonn"},
            ),
            (
                ld({"@type": "Event", "location": "Old Hall, Bonn"}),
                {"addresslocality": "old hall, bonn"},
            ),
            # A place is that of many events.
            (
                ld({"@type": "Event", "sku": "E-7", "location": {"sku": "H-9", "address": {}}}),
                {"sku": "e-7"},
            ),
            (
                (
                    "<div itemscope><b itemprop=sku>E-7</b><p itemprop=location itemscope>"
                    "<b itemprop=sku>H-9</b></p></div>"
                ),
                {"sku": "e-7"},
            ),
            (
                "<p itemscope><b itemprop=address itemscope><i itemprop=streetAddress>Kai 5</i></b>.",
                {"streetaddress": "kai 5"},
            ),
            ("<meta itemprop=productID content=B-7>", {"productid": "b-7"}),
            ("<meta property=product:retailer_item_id content=B-7>", {"sku": "b-7"}),
            # What is beside the main thing is of no account.
            (ld(PRODUCT, {**PRODUCT, "name": "Oar", "sku": "O-1"}), {"sku": "b-7"}),
            (ld({**PRODUCT, "isRelatedTo": [{"@type": "Product", "sku": "O-1"}]}), {"sku": "b-7"}),
            (ld({"@type": "ItemList", "itemListElement": [PRODUCT]}), {}),
            (ld(*({**PRODUCT, "name": f"Oar {n}", "sku": n} for n in (1, 2))), {}),
            (
                (
                    "<div itemscope><b itemprop=name>Boat 7</b><b itemprop=sku>B-7</b>"
                    "<p itemprop=isRelatedTo itemscope><b itemprop=sku>O-1</b></p></div>"
                    "<div itemscope><b itemprop=name>Oar</b><b itemprop=sku>O-2</b></div>"
                ),
                {"sku": "b-7"},
            ),
            # A thing that is described twice, and contradictions.
            (ld(PRODUCT) + "<b itemprop=sku>B-7</b>", {"sku": "b-7"}),
            (ld(PRODUCT, {**PRODUCT, "sku": "B-8", "mpn": "1"}), {"mpn": "1"}),
            # Damaged scripts.
            ("<script type=application/ld+json>{</script>" + ld(PRODUCT), {"sku": "b-7"}),
            (f"<script type=application/ld+json>{'[' * 99_999}</script>", {}),
            *(
                (f"<script type=application/ld+json>{before}{sku}{after}</script>", {"sku": "b-7"})
                for sku in ('{"@type": "Product", "sku": "B-7",}',)
                for before, after in (
                    *(("", ""), ("<!--\n", "\n-->"), ("", ";")),
                    *(("//<![CDATA[\n", "\n//]]>"), ("/*<![CDATA[*/\n", "\n/*]]>*/")),
                )
            ),
            (ld({"@type": "Product", "sku": {"@id": "x"}}, 7, None, []), {}),
        ],
    )
    def test_what_a_page_declares_of_its_main_thing(self, html, expected):
        assert identities(html) == expected

    def test_an_identifier_that_the_page_does_not_show_may_be_of_the_visit(self):
        html = ld({"@type": "Article", "headline": "Boat 7", "identifier": "a-99"})
        assert identities(html) == {}
        assert identities(html + "<p>No. A-99</p>") == {"identifier": "a-99"}
        link = "<link rel=canonical href=https://a.example/a-99>"
        assert identities(link + html) == {"identifier": "a-99"}
        value = {"@type": "JobPosting", "identifier": {"@type": "PropertyValue", "value": "a-99"}}
        assert identities(ld(value) + "<p>No. A-99</p>") == {"identifier": "a-99"}

    def test_a_declared_name_that_other_names_do_not_have(self):
        assert identities("<h1>Quick view</h1><b itemprop=name>Oar 9</b>") == {"name": "oar 9"}
        assert identities("<h1>Oar 9, new</h1><b itemprop=name>Oar 9</b>") == {}
        for thing in (
            {"@type": "JobPosting", "title": "Oar 9"},
            {"@type": "Product", "name": {"@value": "Oar 9", "@language": "en"}},
            {"@type": "ProfilePage", "mainEntity": {"@type": "Person", "name": "Oar 9"}},
            {"@type": "Organization", "name": "Oar 9"},
            {"@type": "http://schema.org/Product", "http://schema.org/name": "Oar 9"},
        ):
            assert identities(ld(thing)) == {"name": "oar 9"}
        # A person beside another thing is its author, or the like.
        assert identities(ld(PRODUCT, {"@type": "Person", "name": "Ann"})) == {"sku": "b-7"}

    @pytest.mark.parametrize(
        ("html", "states"),
        [
            (ld({**PRODUCT, "offers": {"price": 12.5}}), ("price 12.5",)),
            (
                ld({**PRODUCT, "offers": [{"priceSpecification": [{"price": "9"}]}]}),
                ("price 9",),
            ),
            (
                ld({**PRODUCT, "offers": {"availability": "https://schema.org/SoldOut"}}),
                ("availability soldout",),
            ),
            (ld({"@type": "Event", "eventStatus": "EventCancelled"}), ("eventstatus eventcancelled",)),
            (
                (
                    "<div itemscope><p itemprop=offers itemscope><b itemprop=price content=9>9 €</b>"
                    "<link itemprop=availability href=http://schema.org/InStock></p></div>"
                ),
                ("availability instock", "price 9"),
            ),
            ("<meta property=product:price:amount content=9>", ("price 9",)),
            # Choices that cannot be chosen.
            ("<select><option>7 cm<option disabled>9 cm</select>", ("disabled 9 cm",)),
            ("<form><input type=radio value=L disabled><input type=text value=7 disabled></form>", ("disabled L",)),
            ("<input type=hidden value=a1 disabled><select disabled><option>7</select>", ()),
            # Without a declared state, the prices that the page shows count, wherever they are.
            ("<aside>Now 9.90 €</aside><form><b>$ 5</b><button>Buy</button></form>", ("9.90 €", "$ 5")),
            (
                "<p>1 299,00 €</p><p>$12\u202f000</p><p>1'299.00 €, not 2 for 10</p>",
                ("1 299,00 €", "$12 000", "1'299.00 €"),
            ),
            ("<p><a href=/b>Oar</a></p><p>9 €</p><ul><li>8 €</ul><a href=/c>Sail 7 €</a>", ()),
            # Notices below the heading may be in chrome.
            ("<aside>Cancelled</aside><form><button>Sold out</button></form>", ("Cancelled", "Sold out")),
            ("<aside>12 views</aside><p>Open</p>", ("Open",)),
            (TEXT + "<aside>Cancelled</aside>", ()),
            ("<aside>CHF 12.50 USD 9</aside><form><b>12,50 zł</b></form>", ("CHF 12.50", "USD 9", "12,50 zł")),
            ("<aside><p>ab 125 kr.</p><p>9,- <p>3 kg</p></aside>", ("125 kr.", "9,-")),
            ("<div itemscope><b itemprop=price>12 €/Day</b></div>", ("price 12 €/day",)),
            ("<p><a href=tel:+12>Call</a> <a href='mailto:a@b.example?x'>us</a>", ("tel:+12", "mailto:a@b.example")),
            ("<p><a href=/files/b.pdf?s=1>Plan</a>", ("b.pdf",)),
            # Tokens are others at each visit.
            ("<p>It was <a href='javascript:f(\"a1\")'>seen</a> and <button onclick=g(7)>liked", ("It was seen and liked",)),
            ("<p>It was <a href=/out&u=a1>seen</a> by many", ("It was seen by many", "out")),
            ("<p>See also <a href=/c/d/?s=1#e>the plan</a>, and the map", ("See also the plan, and the map", "d")),
            ("<p><a href=/c/d>The plan</a></p><main><nav><a href=e>Next boat</a></nav></main>", ()),
            # That of another product is of no account.
            (ld(PRODUCT, {**PRODUCT, "name": "Oar", "offers": {"price": 9}}), ()),
        ],
    )  # fmt: skip
    def test_states_of_the_main_thing(self, html, states):
        page = extract(f"<title>Boat 7 - Shop</title><h1>Boat 7</h1>{html}{TEXT}", "text")
        assert page.states == states

    @pytest.mark.parametrize(
        ("html", "states"),
        [
            ("<main>{}<aside><b>Cancelled</b><p>7 views</aside></main>", ("Cancelled",)),
            ("<div>{}<form><b>USD 9</b><div><button>Sold out</button></div></form></div>", ("USD 9", "Sold out")),
            ("<main>{}</main><aside>Cancelled</aside>", ()),
            ("<main>{}<div class=comments>Nice</div><aside><a href=/b>Oar</a></aside></main>", ()),
            ("<main>{}" + "<p>Of iron" * 20 + "<aside>Cancelled</aside></main>", ("Of iron",)),
            # In another column, or before the heading.
            ("<div><div>{}</div><div><b>Sold out</b><p>USD 9</div></div>", ("Sold out", "USD 9")),
            ("<div><p>Closed</div><div>{}</div>", ("Closed",)),
            ("<div>{}</div><div><dl><dt>State<dd>open</dl><table><tr><td>Seats<td>none</table></div>", ("State", "open", "Seats none")),
            ("<div>{}</div><p><a href=/b>Oar</a><p>Red<p>USD 7<p>By Ann", ()),
        ],
    )  # fmt: skip
    def test_notices_beside_the_text(self, html, states):
        page = extract(html.format(f"<h1>Boat 7</h1>{TEXT}"), "text")
        assert page.states == states

    def test_the_last_name_in_a_breadcrumb_is_the_page_if_it_leads_nowhere(self):
        for item, found in (({}, {"crumb": "oar 9"}), ({"item": "/oars"}, {})):
            crumbs = [{"name": "Shop", "item": "/"}, {"name": "Oar 9", **item}]
            html = ld({"@type": "BreadcrumbList", "itemListElement": crumbs})
            assert identities(html) == found


def test_a_fragment_may_have_a_general_heading_before_its_own():
    one, other = (
        names(f"<h2>Quick view</h2><h3>{name}</h3>{TEXT}").headings for name in ("Line 4", "Line 5")
    )
    assert (one, other) == tuple(
        ["Quick view", name, f"Quick view {name}"] for name in ("Line 4", "Line 5")
    )
    assert "Quick view Line 4" in names(f"<h2>Quick view</h2><p>Line 4</p>{TEXT}").headings
    assert names(f"<title>x</title><h2>A</h2><h3>B</h3>{TEXT}").headings == ["A"]
    assert names("<img alt='Line 4'>" + TEXT).headings == ["Line 4"]


def test_a_link_home_with_the_name_of_the_page_names_no_site():
    html = "<title>Fog on all lines - News - Ferries</title><a href='/'>Fog on all lines</a>"
    assert "Fog on all lines" not in names(html + TEXT).sites
    assert "Line 4" not in names("<h1>Line 4</h1><a href='/'>Line 4</a>" + TEXT).sites
    html = "<title>Fog | Ferry News</title><h1>Fog</h1><a href='/'>Ferry News</a>"
    assert "Ferry News" in names(html + TEXT).sites
