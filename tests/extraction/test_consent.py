"""Which elements are cookie banners and consent dialogs, and which only have such names."""

import pytest

from scrapy_simhash.extraction import Page, prepared
from scrapy_simhash.extraction.consent import consent_elements
from scrapy_simhash.extraction.selectors import Selectors
from tests.extraction.test_lines import texts

BUTTON = "<button>Accept</button>"
PAGE = "<h1>Boats</h1><p>one</p>{}<p>three</p>"


def found(html):
    elements = Page(prepared(PAGE.format(html)), Selectors()).elements
    return [element.text_content() for element in consent_elements(elements)]


@pytest.mark.parametrize(
    "opened",
    [
        "<div class='cookie-banner'>",
        "<div class='x CookieConsent y'>",
        "<div class='cookieconsent'>",
        "<div id='cookie-law-info-bar'>",
        "<section id='gdpr'>",
        "<div id='js-cookie-consent-modal'>",
        "<aside class='consent'>",
        "<form id='gdpr_popup'>",
        "<div id='onetrust-banner-sdk' role=region aria-label='Cookie banner'>",
        "<div class='cookies' style='bottom: 0; Position: Fixed'>",
        "<div role='dialog'>",
        "<section role='alertdialog'>",
        "<dialog open>",
    ],
)
@pytest.mark.parametrize(
    "control",
    [
        BUTTON,
        "<input type=submit value=Accept>",
        "<a href='#'>Accept</a>",
        "<a>Accept</a>",
        "<a href='javascript:accept()'>Accept</a>",
        "<a role=button href=/accept>Accept</a>",
    ],
)
def test_banners(opened, control):
    tag = opened.strip("<>").partition(" ")[0]
    long = "We store what we like. " * 40
    html = f"{opened}<div><h2>Privacy</h2><p>{long}</p>{control}</div></{tag}>"
    assert len(found(html)) == 1
    assert texts(PAGE.format(html), chrome=False) == "Boats|one|three"


@pytest.mark.parametrize("name", ["cookies", "eat-cookies", "site-consents-block"])
def test_under_any_name_a_short_text_about_it_with_a_button_is_a_banner(name):
    assert found(f"<div class={name}>This site sets cookies. {BUTTON}</div>")
    assert not found(f"<div class={name}>This site sets cookies.</div>"), "no button"
    assert not found(f"<div class={name}>This site bakes bread. {BUTTON}</div>"), "no topic"
    assert not found(f"<div class={name}><h3>Oat cookies</h3>of 2 cups {BUTTON}</div>"), "heading"
    long = "Fold the oats into the dough of the cookies. " * 10
    assert not found(f"<div class={name}>{long} {BUTTON}</div>"), "too long"


@pytest.mark.parametrize(
    "opened",
    [
        "<div id=oat-cookies>",
        "<div class='recipe cookies'>",
        "<div class=cookie-bars>",
        "<section class=informed-consent>",
        "<section aria-label='Cookies for a banner day'>",
        "<section class=gdpr-article>",
        "<div class=cookie-policy>",
        "<div class='no-cookies category-cookies'>",
        "<form id=consent-to-surgery>",
        "<div class=fortuneCookie>",
    ],
)
def test_content_with_such_names(opened):
    tag = opened.strip("<>").partition(" ")[0]
    steps = "".join(f"<p>Step {number}: {'stir and wait ' * 9}</p>" for number in range(5))
    assert found(f"{opened}<h2>Method</h2>{steps}{BUTTON}<a href=/print>Print</a></{tag}>") == []


@pytest.mark.parametrize("opened", ["<div class=cookie-banner>", "<section id=gdpr-consent>"])
def test_a_policy_with_the_heading_of_the_page_is_none(opened):
    tag = opened.strip("<>").partition(" ")[0]
    html = f"{opened}<div><h1>Cookies</h1></div><p>We eat them.</p>{BUTTON}</{tag}>"
    assert texts(html, chrome=False) == "Cookies|We eat them.|Accept"
    assert consent_elements(Page(prepared(html), Selectors()).elements) == []


@pytest.mark.parametrize("element", ["<p class=cookie>two</p>", "<div data-x=cookie>two</div>"])
def test_other_elements_and_attributes_name_none(element):
    assert found(element + BUTTON) == []
