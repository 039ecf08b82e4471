"""Error pages, recognized by the answer of a site to a URL that cannot exist."""

import random
import re
import time
from urllib.parse import urlsplit

import pytest

from scrapy_simhash import Detector, Scheme
from scrapy_simhash.extras.error_pages.answers import ErrorAnswers, impossible_url

SITE = "https://site.example"
ASKED = f"{SITE}/news/qwertzuiopasdf.html"
WORDS = "harbour window carpet river engine lantern bridge orchard ticket mountain signal".split()
MENU = "News Weather Sport Shop Contact Subscribe Imprint"
detector = Detector(Scheme())


def text(seed, count=60):
    return " ".join(random.Random(str(seed)).choices(WORDS, k=count))


def page(title, *paragraphs, heading=""):
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    heading = f"<h1>{heading}</h1>" if heading else ""
    html = (
        f"<html><head><title>{title}</title></head><body><main>{heading}{body}</main></body></html>"
    )
    return detector.fingerprint_page(html)


def answers(answer, *, seen=0):
    """Return the answers of a site, after `seen` pages with titles of their own."""
    made = ErrorAnswers(12)
    made.add(ASKED, answer)
    for number in range(seen):
        title = f"Story of the {WORDS[number]}"
        assert match(made, f"/news/{number}", page(title, text(title))) is None
    return made


def match(known, path, found):
    return known.match(SITE + path, found, SITE + path)


SORRY = "Хуудас олдсонгүй, хаягаа шалгана уу."


@pytest.mark.parametrize("more", ["", text("help")])
def test_the_text_of_the_answer_under_another_url_is_an_error_page(more):
    known = answers(page("Олдсонгүй", SORRY, more))
    assert match(known, "/shop/17", page("Олдсонгүй", SORRY, more)) == ASKED
    assert match(known, "/shop/18", page("Олдсонгүй", text("real", 5), more)) is None
    assert match(known, "/shop/19", page("Дэлгүүр", SORRY, more)) is None


@pytest.mark.parametrize("words", [0, 60])
def test_parts_of_the_url_in_a_text_are_ignored(words):
    def sorry(path):
        name = path.rpartition("/")[2]
        return page(f"{path} олдсонгүй", f"{SITE}{path} ({name}) {SORRY}", text("help", words))

    known = answers(sorry("/news/qwertzuiopasdf.html"), seen=3)
    for path in ("/shop/page", "/news/the-long-lost-story.html", "/олдсонгүй/1"):
        assert match(known, path, sorry(path)) == ASKED


def test_a_shared_opening_counts_only_if_pages_have_titles_of_their_own():
    def sorry(seed):
        return page("Олдсонгүй", SORRY, text(seed))

    assert match(answers(sorry(0)), "/gone", sorry(1)) is None
    assert match(answers(sorry(0), seen=3), "/gone", sorry(1)) == ASKED


def test_an_opening_that_all_pages_share_does_not_count():
    known = ErrorAnswers(12)
    known.add(ASKED, page("Олдсонгүй", MENU, text("links")))
    for number in range(5):
        assert match(known, f"/{number}", page(WORDS[number], MENU, text(number))) is None
    assert match(known, "/gone", page("Олдсонгүй", MENU, text("other links"))) is None


def test_a_shared_opening_does_not_count_if_all_pages_have_one_title():
    known = answers(page("Site", f"{MENU} {text(0)}"))
    for number in range(9):
        assert match(known, f"/{number}", page("Site", f"{MENU} {text(number + 1)}")) is None
    two_languages = answers(page("Site", f"{MENU} {text(0)}"))
    for number in range(9):
        assert match(two_languages, f"/ru/{number}", page("Сайт", text(number))) is None
    assert match(two_languages, "/en/1", page("Site", f"{MENU} {text(3)}")) is None


def test_a_different_heading_in_one_template_is_no_error_page():
    template = text("template", 200)
    known = answers(page("Site", template, heading="Not here"))
    assert match(known, "/1", page("Site", template, heading="Lantern")) is None
    assert match(known, "/2", page("Site", template, heading="Not here")) == ASKED


def test_a_shared_opening_under_a_different_heading_is_no_error_page():
    def about(heading):
        return page("Site", "All that you need to know about us.", text(heading), heading=heading)

    known = answers(about("Not here"), seen=3)
    assert match(known, "/gone", about("Not here")) == ASKED
    assert match(known, "/terms", about("Terms")) is None


def test_the_home_page_and_folders_are_no_error_pages():
    listing = page("News", text("listing"))
    known = answers(listing, seen=3)
    for path in ("/", "", "/news", "/news/", "/news/?page=2"):
        assert match(known, path, listing) is None
    # Other pages of the listing begin like it.
    assert match(known, "/news/page/2", page("News", text("listing")[:40], text("more"))) is None
    assert match(known, "/shop/", listing) == ASKED


def test_a_folder_that_a_redirect_leads_to_is_no_error_page():
    known = ErrorAnswers(12)
    known.add_redirect(ASKED, f"{SITE}/news/")
    listing = page("News", text("listing"))
    assert known.match(f"{SITE}/news/", listing, f"{SITE}/news/gone") == ASKED
    assert known.match(f"{SITE}/news/", listing, f"{SITE}/news/") is None
    assert known.match(f"{SITE}/news/", listing, f"{SITE}/news") is None
    # A folder that was removed leads to the error page, as all missing pages do.
    known.add_redirect(ASKED, f"{SITE}/gone")
    assert known.match(f"{SITE}/gone", page("Gone", text("gone")), f"{SITE}/news/") == ASKED


@pytest.mark.parametrize("page_of", [lambda: page("", ""), lambda: page("Олдсонгүй", "")])
def test_pages_without_text_never_match(page_of):
    known = answers(page_of(), seen=3)
    assert match(known, "/gone", page_of()) is None


def test_long_titles_and_urls_are_compared_fast():
    huge = "/".join(["segment"] * 100_000)
    found = page("x" * 1_000_000, text(1))
    known = answers(found)
    before = time.thread_time()
    match(known, f"/{huge}", found)
    assert time.thread_time() - before < 5


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        (f"{SITE}/", r"/[a-z]{14}"),
        (SITE, r"/[a-z]{14}"),
        (f"{SITE}/news/", r"/news/[a-z]{14}"),
        (f"{SITE}/news/a-story.html?x=1#y", r"/news/[a-z]{14}\.html"),
        (f"{SITE}/item-17/reviews", r"/item-\d{9}/[a-z]{14}"),
        (f"{SITE}/shop/17.html", r"/shop/\d{9}\.html"),
    ],
)
def test_impossible_url(url, pattern):
    made = impossible_url(url, random.Random(1))
    assert re.fullmatch(pattern, urlsplit(made).path)
    assert made.startswith(SITE)
    assert made != impossible_url(url, random.Random(2))
