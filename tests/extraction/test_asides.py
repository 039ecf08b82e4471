"""What stands beside the content: comments, reviews, lists of other pages, forms."""

import pytest

from scrapy_simhash.extraction import extract
from tests.extraction.test_lines import texts
from tests.samples import PARAGRAPHS

ARTICLE = "<h1>Ferries</h1>" + "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
LONG = "We crossed twice last summer, and both times the captain waved from the bridge to us. "


def aside_in(html):
    """Return True if the page's only "voice" is in an aside, and the text after it is not."""
    page = f"{ARTICLE}{html}<p>the last line</p>"
    assert "the last line" in texts(page, aside=False)
    return "voice" in texts(page, aside=True)


class TestNames:
    @pytest.mark.parametrize(
        "opened",
        [
            "<div id=comments>",
            "<ol class='commentlist'>",
            "<section class='post-comments__section'>",
            "<div class=kommentare>",
            "<div id=KommentarBereich>",
            "<ul class='lista-comentarios'>",
            "<div class=commentaires>",
            "<div class=commenti>",
            "<section class=komentarze-lista>",
            "<div class=jcomments>",
            "<article class='comment depth-1'>",
            "<div itemprop=comment>",
            "<div itemprop='review' itemscope>",
            "<div class=customer-reviews>",
            "<div itemprop=aggregateRating>",
            "<div id=disqus_thread>",
            "<div id=respond>",
            "<section aria-label='Kommentare'>",
            "<div itemscope itemtype=http://schema.org/UserComments>",
            "<div class=related-posts>",
            "<div class=isRelated>",
            "<ul class='recommended'>",
            "<div class=share>",
            "<div class='social-links'>",
            "<section class=newsletter-signup>",
        ],
    )
    def test_classes_ids_and_microdata_make_asides(self, opened):
        tag = opened.strip("<>").partition(" ")[0]
        assert aside_in(f"{opened}<div>voice</div></{tag}>")

    @pytest.mark.parametrize(
        "opened",
        [
            "<div class='post comments-open'>",
            "<div class=no-comments>",
            "<div class=commentary>",
            "<div class=commentator-notes>",
            "<div class=document>",
            "<div class=recommence>",
            "<div class=unrelated>",
            "<div class=correlated>",
            "<div class=market-shares>",
            "<div class=antisocial>",
            "<div class=reviewed>",
            "<div data-x=comments>",
            "<div itemscope itemtype=https://schema.org/Review>",
            "<p class=comment>",
        ],
    )
    def test_other_names_do_not(self, opened):
        tag = opened.strip("<>").partition(" ")[0]
        assert not aside_in(f"{opened}voice</{tag}>")

    def test_without_an_h1_the_first_heading_is_that_of_the_content(self):
        page = "<div class=has-social-comments><h2>Ferries</h2><p>one</p></div>"
        assert texts(page, aside=True) == ""
        page = "<h3>Ferries</h3><div class=comments><h3>Comments</h3><p>voice</p></div>"
        assert texts(page, aside=True) == "Comments|voice"

    def test_a_long_text_with_few_links_is_no_list(self):
        assert not aside_in(f"<div class=social>voice {LONG * 5}<a href=x>more</a></div>")
        entry = f"<li><a href=x>voice</a> {LONG}</li>"
        assert aside_in(f"<ul class=related>{entry * 9}</ul>")

    def test_main_is_in_no_aside_and_no_chrome(self):
        for opened in ("<div class=comments>", "<header><button>", "<nav>", "<div role=banner>"):
            page = f"{opened}menu<main>one</main>two"
            assert "one" in texts(page, aside=False, chrome=False, link_characters=0)


class TestForms:
    @pytest.mark.parametrize(
        "field", ["<textarea></textarea>", "<input type=email>", "<input type=password>"]
    )
    def test_a_form_to_write_something_is_an_aside(self, field):
        assert aside_in(f"<form><h3>voice</h3><p>Your name</p>{field}</form>")

    @pytest.mark.parametrize(
        "form",
        [
            "<form><p>voice</p><input type=search></form>",
            "<form><article>voice</article><textarea></textarea></form>",
            "<form><p>voice</p><table><tr><td>x</table><input type=email></form>",
        ],
    )
    def test_other_forms_may_be_the_page(self, form):
        assert not aside_in(form)


@pytest.mark.parametrize("extractor", ["readability", "segments"])
class TestTexts:
    COMMENT = f"<li class=comment><b>Ada</b><p>{LONG * 2}</p></li>"

    def test_comments_change_no_text(self, extractor):
        other = f"{ARTICLE}<ol class=comments>{self.COMMENT * 40}</ol>"
        assert extract(other, extractor).text == extract(ARTICLE, extractor).text

    def test_comments_are_the_text_of_a_page_without_another(self, extractor):
        page = f"<h1>Ferries</h1><p>Who knows?</p><ol class=comments>{self.COMMENT * 9}</ol>"
        assert LONG.strip() in extract(page, extractor).text

    @pytest.mark.parametrize(
        "page",
        [
            "<main><h1>A to Z</h1><p>All boats.</p><section><nav>{}</nav></section></main>",
            "<main><h1>A to Z</h1><p>All boats.</p><div role=navigation>{}</div></main>",
            "<div><h1>A to Z</h1><p>All boats.</p><nav>{}</nav></div>",
            "<div><h1>A to Z</h1><p>All boats.</p><ul role=menu>{}</ul></div>",
            "<main><h1>A to Z</h1><p>All boats.</p><aside><ul>{}</ul></aside></main>",
        ],
    )
    def test_what_stands_beside_the_heading_is_the_text_of_a_page_without_another(
        self, extractor, page
    ):
        links = "".join(f"<li><a href=/boat/{n}>Boat {n}</a></li>" for n in range(40))
        menu = "<nav><a href=/>Front page</a></nav>"
        extraction = extract(menu + page.format(links), extractor)
        assert "Boat 39" in extraction.text
        assert "39" in extraction.targets
        assert "Front page" not in extraction.text
        article = f"<p>{'</p><p>'.join(PARAGRAPHS)}</p>"
        longer = extract(page.format(links).replace("<p>", article), "segments")
        assert "Boat 39" not in longer.text

    def test_a_menu_beside_the_heading_hides_no_short_text(self, extractor):
        links = "".join(f"<li><a href=/boat/{n}>Boat {n}</a></li>" for n in range(60))
        head = f"<div class=head><h1>News</h1><nav>{links}</nav></div>"
        page = f"<div class=page>{head}<div class=text><p>{LONG}</p></div></div>"
        assert LONG.strip() in extract(page, extractor).text

    def test_a_heading_in_a_list_is_none_of_the_page(self, extractor):
        links = "".join(f"<li><a href=/boat/{n}>Boat {n}</a></li>" for n in range(40))
        page = f"<main>{ARTICLE}<aside><h1>Today: boats</h1><ul>{links}</ul></aside></main>"
        assert list(extract(page, extractor).names.headings) == ["Ferries"]

    def test_a_related_list_in_the_article_changes_no_text(self, extractor):
        entry = f"<li><a href=x>Boats</a><p>{LONG}</p></li>"
        middle = f"<div class=related-posts><h3>More</h3><ul>{entry * 5}</ul></div>"
        parts = ARTICLE.partition(f"<p>{PARAGRAPHS[1]}")
        assert extract(f"{parts[0]}{middle}{parts[1]}{parts[2]}", extractor).text == (
            extract(ARTICLE, extractor).text
        )


@pytest.mark.parametrize("extractor", ["readability", "segments", "text"])
@pytest.mark.parametrize(
    "ruby",
    [
        "<ruby>渡<rp>(</rp><rt>わた</rt><rp>)</rp></ruby>し",
        "<ruby>渡<rt>わた</ruby>し",
        "<ruby><rb>渡<rt>わた</ruby>し",
        "<ruby><rb>渡</rb><rtc><rt>わた</rt></rtc></ruby>し",
    ],
)
def test_furigana_are_no_text(extractor, ruby):
    page = f"<h1>{ruby}</h1><p>{ruby}船に乗る。" + "港は静かだ。" * 40
    plain = page.replace(ruby, "渡し")
    assert extract(page, extractor).text == extract(plain, extractor).text
