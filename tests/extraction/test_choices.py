"""Choices that the forms of a page offer, and what they say of two pages."""

import pytest

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.detector import Detector
from scrapy_simhash.extraction import extract
from scrapy_simhash.scheme import Scheme
from tests.samples import PARAGRAPHS

FORMS = [
    "<form><select name=a>{options}</select></form>",
    "<form><select name=a><optgroup label=A>{options}</optgroup></select></form>",
    "{forms}",
    "<form>{boxes}</form>",
    "<form><ul>{labels}</ul><input type=submit value=Answer></form>",
    "<form>{inputs}</form>",
    "<form action=/find><input name=q><button>Search</button></form>{forms}",
]


def page(form, names, intro=PARAGRAPHS[0]):
    every = {
        "options": "<option>{0}</option>",
        "forms": "<form action=/go><input type=hidden name=a value={0}><button>{0}</button></form>",
        "boxes": "<label><input type=checkbox value={0}>{0}</label>",
        "labels": "<li><input type=radio id={0}><label for={0}>{0}</label>",
        "inputs": "<input type=submit name=a value={0}>",
    }
    content = {one: "".join(map(markup.format, names)) for one, markup in every.items()}
    return f"<title>Quiz</title><h1>Quiz</h1><p>{intro}</p>{form.format_map(content)}"


def compared(one, other):
    detector = Detector(Scheme())
    pages = (detector.fingerprint_page(html).evidence for html in (one, other))
    return Confirmation().compare(*pages).against


@pytest.mark.parametrize("form", FORMS)
def test_pages_with_other_choices_are_no_copies(form):
    one, other = page(form, ("Oslo", "Bergen", "Bodø")), page(form, ("Rome", "Milan", "Turin"))
    assert compared(one, other) == "identity"
    assert compared(one, page(form, ("Rome", "Bodø", "Oslo"))) == ""
    assert compared(one, page(form, ())) == ""


def test_translated_options_are_the_same():
    words = "<option value={}>{}</option>" * 3
    one, other = (
        page(f"<form><select>{words.format(*options)}</select></form>", ())
        for options in (
            ("newest", "Newest", "oldest", "Oldest", "best", "Best"),
            ("newest", "Neueste", "oldest", "Älteste", "best", "Beste"),
        )
    )
    assert compared(one, other) == ""
    # A number may only say which option it is.
    assert (
        compared(
            *(
                one.replace("newest", "1").replace("oldest", "2").replace("best", "3")
                for one in (one, other)
            )
        )
        == "identity"
    )


@pytest.mark.parametrize(
    "html",
    [
        "<nav><form><select><option>a<option>b<option>c</select></form></nav>",
        "<form><input name=a value=1><input name=b value=2><input name=c value=3></form>",
        "</div><form><label>Yes</label><label>No</label><label>Who knows</label></form>",  # a poll
        "<form><label>Name</label><label>City</label><button>Send</button></form>",
        "<div class=cookie-banner><button>Yes</button><button>No</button><button>More</button></div>",
        "<div class=share><button>Like</button><button>Share</button><button>Print</button></div>",
    ],
)
def test_what_is_no_choice(html):
    found = extract(f"<div><h1>Quiz</h1><p>{PARAGRAPHS[0]}</p>{html}").identities
    assert [value for kind, value in found if kind == "choice"] == []


def test_a_long_text_says_more_than_its_forms():
    long = " ".join(PARAGRAPHS * 2)
    pages = (page(FORMS[0], names, long) for names in ("abc", "xyz"))
    assert compared(*pages) == ""
