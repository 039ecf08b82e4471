"""Is a page unchanged since an earlier crawl? A typing error leaves it so, and nothing else."""

import pytest

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.content import content_differs
from scrapy_simhash.detector import Detector
from scrapy_simhash.names.names import Names, page_names
from scrapy_simhash.scheme import Scheme

DETECTOR = Detector(Scheme.preset("wide"), min_tokens=1)
TEXT = (
    "The lamp of cast bronze hangs from a chain of forty links and costs 89 euro. It is in stock, "
    "and sent within three working days. The concert takes place on Friday, 12 March, at half past "
    "seven in the old brewery. Children under six need no ticket. "
) * 3
GREEK = "Το πλοίο φεύγει από το λιμάνι το μεσημέρι και μεταφέρει ποδήλατα και επιβάτες. " * 3
CHINESE = "渡轮中午从码头出发，可以携带自行车和狗。票价为八十九元，今天停航。" * 3


def evidence(text, title="", heading=""):
    found = DETECTOR.fingerprint_text(text).evidence
    title_bytes, heading_bytes = page_names(Names(title, [heading] if heading else []))
    return found._replace(title=title_bytes, heading=heading_bytes)


def is_unchanged(one, other, confirmation=None):
    confirmation = confirmation or Confirmation(min_resemblance=0.1)
    found = confirmation.compare_versions(one, other).is_copy
    assert confirmation.compare_versions(other, one).is_copy is found
    return found


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        (TEXT, "89 euro", "59 euro"),
        (TEXT, "in stock", "sold out"),
        (TEXT, "takes place", "is cancelled"),
        (TEXT, "12 March", "19 March"),
        (TEXT, "Friday", "Monday"),
        (TEXT, "It is in stock", "It is not in stock"),
        (TEXT, "need no ticket", "need ticket"),
        (TEXT, "89 euro.", "89 euro. The chain was recalled, see below."),
        (TEXT, "hangs from", "hangs from from"),
        (TEXT, "forty links and costs 89", "89 links and costs forty"),
        (TEXT, "Friday, 12 March", "March, 12 Friday"),
        (CHINESE, "渡轮中午从码头", "码头中午从渡轮"),
        (TEXT, "ticket", "passport"),
        (TEXT.replace("in stock", "available"), "available", "unavailable"),
        (TEXT.replace("in stock", "incomplete"), "incomplete", "complete"),
        (TEXT.replace("brewery", "hall of Kowalski"), "Kowalski", "Kowalska"),
        (TEXT.replace("Friday", "Zürichstraße"), "Zürichstraße", "Zurichstraße"),
        (GREEK, "μεσημέρι", "απόγευμα"),
        (CHINESE, "停航", "开航"),
        (CHINESE, "八十九", "七十九"),
    ],
)
def test_what_a_reader_would_care_about_is_a_change(text, before, after):
    assert before in text
    assert not is_unchanged(evidence(text), evidence(text.replace(before, after, 1)))


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        (TEXT, "concert", "conert"),
        (TEXT, "concert", "concret"),
        (TEXT, "brewery", "brewary"),
        (TEXT, "Children", "CHILDREN"),
        (TEXT, "bronze hangs", "bronze,  hangs"),
        (GREEK, "ποδήλατα", "ποδίλατα"),
        *(
            (f"{TEXT} Fräulein Kowalski sings.", "Fräulein Kowalski", same)
            for same in ("Fra\u0308ulein Kowalski", "Fräu\u00adlein Kowal\u200bski")
        ),
    ],
)
def test_a_typing_error_is_none(text, before, after):
    assert before in text
    assert is_unchanged(evidence(text), evidence(text.replace(before, after, 1)))


def test_another_name_is_a_change_unless_names_do_not_count():
    page = evidence(TEXT, "Concert - Hall", "Concert")
    assert is_unchanged(page, evidence(TEXT, "Concert - Hall", "Concert"))
    for title, heading in (
        ("Concert - Hall", "Concert (cancelled)"),
        ("Cancelled: Concert - Hall", "Concert"),
        ("Concert - Hall", ""),
    ):
        other = evidence(TEXT, title, heading)
        assert not is_unchanged(page, other)
        assert is_unchanged(page, other, Confirmation(same_name=False))


def test_what_a_page_declares_of_its_main_thing_may_change():
    def content_of(price):
        data = f'{{"@type": "Product", "offers": {{"price": {price}}}}}'
        html = f"<script type=application/ld+json>{data}</script><h1>Lamp</h1><p>{TEXT}"
        return DETECTOR.fingerprint_page(html).evidence.content

    assert not content_differs(content_of(89), content_of(89))
    assert content_differs(content_of(89), content_of(59))
