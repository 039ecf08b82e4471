"""The choice of lines that are the content of a page."""

import random

import pytest

from scrapy_simhash.extraction import extract
from scrapy_simhash.extraction.lines import Line
from scrapy_simhash.extraction.segments import content_lines
from tests.samples import PARAGRAPHS, article_page

WORDS = "the ferry harbour bread post island rain storm boats captain night pier".split()
NAVIGATION = [Line(f"Link {number}", 2, 6) for number in range(12)]


def line(words, name="text", *, link=False, **marks):
    text = " ".join([name] * words)
    return Line(text, words, len(text) if link else 0, **marks)


class TestSteps:
    """If the best run has too few words, more of the page is content."""

    def test_short_sections_between_links_are_all_content(self):
        sections = [
            one
            for number in range(12)
            for one in (line(2, f"name {number}"), line(9, f"says {number}"), *NAVIGATION[:2])
        ]
        found = content_lines([*NAVIGATION, *sections, line(5, "footer", chrome=True)])
        assert found == [one for one in sections if not one.link_characters]

    def test_the_links_of_a_listing_are_content_beside_prices_and_a_form(self):
        introduction = line(57, "introduction")
        links = [line(7, f"ring {number}", link=True) for number in range(15)]
        prices = [line(3, f"costs {number}") for number in range(15)]
        entries = [one for pair in zip(links, prices, strict=True) for one in pair]
        page = [line(3, "sort by", chrome=True), introduction, *entries]
        assert content_lines(page) == page[1:]

    @pytest.mark.parametrize("is_row", [True, False])
    def test_many_more_short_lines_than_text_are_content(self, is_row):
        """As of the topics of a forum, between its rules."""
        rules = [line(80, "rules"), line(80, "rules")]
        topics = [
            one
            for number in range(30)
            for one in (
                line(4, f"topic {number}", link=True),
                line(5, f"by {number}"),
                *[line(3, f"replies {number}", row=is_row), line(1, f"rating {number}")] * 2,
                line(2, f"last {number}", link=True),
            )
        ]
        assert content_lines([*topics, *rules]) == [*topics, *rules]
        assert content_lines([*topics[:60], *rules]) == rules


def table(head, rows):
    body = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in row.split())}</tr>" for row in rows
    )
    return f"<table><caption>{head}</caption>{body}</table>"


TIMES = [f"{6 + n // 4:02}:{n % 4 * 15:02} {6 + n // 4:02}:{n % 4 * 15 + 9:02}" for n in range(60)]
TIMETABLE = article_page(PARAGRAPHS[0], "</p>" + table("Departures Arrivals", TIMES) + "<p>")
SHEET = {"Price": "1,299.00 EUR", "Length": "31.5 m", "Beam": "8.2 m", "Passengers": "90"}
SHEET |= {"Engine": "2 × 450 kW", "Built": "2019"}
PRODUCT = (
    "<html><head><title>Boat 7 - Shop</title></head><body><header><h1 class=logo>Shop</h1></header>"
    "<nav><a href=/a>Boats</a> <a href=/b>Oars</a></nav><div class=product><h1>Boat 7</h1>"
    f"<p>{PARAGRAPHS[1]}</p><p>{PARAGRAPHS[2]}</p>"
    f"<dl>{''.join(f'<dt>{name}</dt><dd>{value}</dd>' for name, value in SHEET.items())}</dl></div>"
    "<footer>Imprint</footer></body></html>"
)
BOTH = pytest.mark.parametrize("extractor", ["readability", "segments"])


class TestPages:
    @BOTH
    def test_the_text_of_a_timetable_has_its_times(self, extractor):
        text = extract(TIMETABLE, extractor).text
        assert set(TIMES) <= set(text.splitlines())
        assert extract(TIMETABLE.replace(":15", ":20"), extractor).text != text

    @BOTH
    def test_the_text_of_a_product_has_name_price_and_data_sheet(self, extractor):
        found = extract(PRODUCT, extractor)
        assert found.heading == "Boat 7"
        assert {"Boat 7", *SHEET, *SHEET.values()} <= set(found.text.splitlines())
        # readability keeps navigation if it takes the whole page for the article.
        assert extractor == "readability" or "Oars" not in found.text
        assert "Imprint" not in found.text

    @BOTH
    def test_documentation_that_is_a_list_of_links_has_a_text(self, extractor):
        links = "".join(
            f"<li><a href='/f{n}'>boats.count_{n}</a>" + "<ul><li>Returns</ul>" * (n % 2)
            for n in range(40)
        )
        page = (
            f"<html><body><nav><a href='/'>Home</a></nav><div><h1>Functions</h1><ul>{links}</ul>"
            "</div><footer>Imprint</footer></body></html>"
        )
        first, *lines = extract(page, extractor).text.splitlines()
        assert first == "Functions"
        functions = [one for one in lines if one.startswith("boats.")]
        assert functions == [f"boats.count_{n}" for n in range(40)]
        assert not {"Home", "Imprint"} & set(lines)

    @BOTH
    @pytest.mark.parametrize("wrap", ["<div><div>{}</div></div>", "<table><tr><td>{}</table>"])
    def test_text_above_the_only_heading_is_content(self, extractor, wrap):
        text = "".join(f"<p>{one}</p>" for one in PARAGRAPHS)
        box = f"<h1>Contact our office</h1><p>{PARAGRAPHS[0][:60]}</p>"
        page = f"<title>Shop</title><div>{wrap.format(text)}<div>{box}</div></div>"
        assert PARAGRAPHS[1] in extract(page, extractor).text

    @BOTH
    def test_the_text_of_a_blog_index_has_posts_without_navigation(self, extractor):
        chance = random.Random(1)
        posts = [" ".join(chance.choices(WORDS, k=30)) for _ in range(8)]
        tags = "".join(f"<li><a href=/t{n}>tag {n}</a></li>" for n in range(60))
        index = "".join(
            f"<h2><a href=/{n}>Post {n}</a></h2><p>{post}</p>" for n, post in enumerate(posts)
        )
        page = (
            f"<html><body><div class=top>{tags}</div><div class=posts>{index}</div></body></html>"
        )
        text = extract(page, extractor).text
        assert all(post in text for post in posts)
        assert "tag 7" not in text


class TestAListBesideItsIntroduction:
    """Rows of a list are content beside an introduction that has more words."""

    NAMES = "Hill Dale Moor Lake Ford".split()

    def page(self, first, form, count=50, between=""):
        rows = "".join(
            form.format(n=n, name=self.NAMES[n % 5]) for n in range(first, first + count)
        )
        return (
            f"<h1>Cases</h1><p>{'</p><p>'.join(PARAGRAPHS * 3)}</p>{between}<div>{rows}</div>"
            "<footer>Imprint</footer>"
        )

    @pytest.mark.parametrize("between", ["", "<form><input name=q></form><p><a href=/a>Help</a>"])
    @pytest.mark.parametrize(
        "form",
        [
            "<div>{n} May</div><div>{name} v. Dale</div>",
            "<p>{name} v. Dale {n}</p>",
            "{name} {n}<br>",
            "<dl><dd><p>{n}<dd><p>{name} 2031</dl>",
            "<table><tr><td><p>{name} {n} 2031</table>",
        ],
    )
    def test_pages_with_other_rows_have_other_texts(self, form, between):
        one, other = (
            extract(self.page(first, form, between=between), "segments").text
            for first in (100, 200)
        )
        assert all(str(n) in one for n in range(100, 150))
        assert all(str(n) in other for n in range(200, 250))
        assert PARAGRAPHS[0] in one
        assert "Imprint" not in one

    @pytest.mark.parametrize(
        ("form", "count"), [("<div>{name} {n}</div>", 5), ("<div>Case of the hill</div>", 50)]
    )
    def test_a_few_lines_and_equal_lines_are_no_list(self, form, count):
        found = extract(self.page(100, form, count), "segments").text
        assert found == extract(self.page(100, form, 0), "segments").text


class TestDocuments:
    """A page that declares its heading to be an article, a posting or a recipe is no listing."""

    @staticmethod
    def page(links, declared, words=160, heading="Bread soup"):
        text = "".join(f"<p>{PARAGRAPHS[0]} {number}</p>" for number in range(words // 30 + 1))
        entries = "".join(
            f"<h3><a href=/{links}/{n}>{' '.join([links] * 12)} {n}</a></h3>" for n in range(30)
        )
        return f"{declared}<h1>{heading}</h1><div>{text}</div><div>{entries}</div>"

    @pytest.mark.parametrize("extractor", ["readability", "segments"])
    @pytest.mark.parametrize(
        "declared",
        [
            '<script type="application/ld+json">{"@type": "Recipe", "name": "Bread soup"}</script>',
            (
                '<script type="application/ld+json">{"@graph": [{"@type": "WebSite"}, {"@type": '
                '["NewsArticle"], "headline": "Bread soup"}]}</script>'
            ),
            (
                "<div itemscope itemtype=https://schema.org/BlogPosting>"
                "<meta itemprop=headline content='Bread soup'></div>"
            ),
            "<div vocab=https://schema.org/ typeof=Recipe><b property=name>Bread soup</b></div>",
        ],
    )
    def test_its_links_are_no_content(self, declared, extractor):
        found = extract(self.page("teaser", declared), extractor)
        assert PARAGRAPHS[0] in found.text
        assert "teaser" not in found.text
        assert found.targets == {}

    @pytest.mark.parametrize(
        ("declared", "heading"),
        [
            ("", "Soups"),
            ('{"@type": "CollectionPage", "name": "Soups"}', "Soups"),
            ('{"@type": "Product", "name": "Soups"}', "Soups"),
            ('{"@type": "Recipe", "name": "Bread soup"}', "Soups"),
            ('[{"@type": "ItemList", "itemListElement": [{"@type": "Recipe"}]}]', "Soups"),
        ],
    )
    def test_other_pages_may_be_listings(self, declared, heading):
        script = f"<script type=application/ld+json>{declared}</script>"
        found = extract(self.page("soup", script, 90, heading), "segments")
        assert "soup soup" in found.text
        assert found.targets
