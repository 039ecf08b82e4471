"""The fields for the text, the page and the key are found by their names."""

import pytest

from scrapy_simhash.dedupe.fields import HTML_FIELDS, TEXT_FIELDS, find_fields
from scrapy_simhash.dedupe.options import Fields
from scrapy_simhash.errors import SimhashError

PAGE = "<!DOCTYPE html><html><p>x</p></html>"


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"url": "u", "text": "t"}, Fields(text=("text",), key="url")),
        ({"id": 1, "body": "t", "html": PAGE}, Fields(text=("body",), key="id")),
        ({"body": PAGE}, Fields(html="body")),
        ({"html": "<p>x</p>"}, Fields(html="html")),
        ({"Text": "t"}, Fields(text=("Text",))),
        ({"content": ["a", "b"]}, Fields(text=("content",))),
        ({"text": "", "article": "t"}, Fields(text=("article",))),
        ({"text": None, "content": " ", "raw_html": "h"}, Fields(html="raw_html")),
        ({"": "0", "content": "t"}, Fields(text=("content",))),
    ],
)
def test_usual_names(record, found):
    assert find_fields(Fields(), [], [record], "f") == found


def test_the_first_record_that_has_one_says():
    records = [{"url": 1}, {"url": 2, "content": ""}, {"content": "t"}]
    assert find_fields(Fields(), [], records, "f") == Fields(text=("content",), key="url")


def test_what_is_asked_for_is_taken():
    asked = Fields(text=("a", "b"), key="id")
    assert find_fields(asked, ["id", "a", "b", "text"], [], "f") == asked
    assert find_fields(Fields(html="b"), ["b", "text"], [], "f") == Fields(html="b")


def test_names_that_are_not_there():
    with pytest.raises(SimhashError, match="f: no field 'x'; there are 'a', 'b'"):
        find_fields(Fields(text=("x",)), ["a", "b"], [], "f")
    with pytest.raises(SimhashError, match="no field 'id'"):
        find_fields(Fields(key="id"), ["a", "b"], [], "f")
    names = [f"n{number}" for number in range(20)]
    with pytest.raises(SimhashError, match=r"which field is the text.*'n11' and 8 more: name it"):
        find_fields(Fields(), names, [], "f")
    with pytest.raises(SimhashError, match="--html-field"):
        find_fields(Fields(), [], [{"text": 5}], "f")


def test_without_records_nothing_is_known():
    assert find_fields(Fields(key="id"), [], [], "f") == Fields(key="id")


def test_no_name_is_both():
    assert not set(TEXT_FIELDS) & set(HTML_FIELDS)
