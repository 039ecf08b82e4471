"""Objects are found in JSON of any layout."""

import io
import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.documents.lines import Unreadable, ascii_lines, json_parts, parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=5,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=9), VALUES, max_size=4), max_size=5)
BROKEN = b'{"b": oops, "c": [1, {"d": 2}]}'


def parts(content, encoding="utf-8", max_bytes=10_000):
    lines, found = ascii_lines(io.BufferedReader(io.BytesIO(content)), encoding)
    return [(part.data, part.reason) for part in json_parts(lines, found, max_bytes)]


def array(objects, indent):
    if indent == "scrapy":
        return "[\n" + ",\n".join(map(json.dumps, objects)) + "\n]"
    return json.dumps(objects, indent=indent, ensure_ascii=False)


# It takes long to make them.
fewer = settings(max_examples=settings.default.max_examples // 2)


@fewer
@given(OBJECTS, st.sampled_from([None, 0, 2, "\t", "scrapy"]), st.sampled_from(["", "-sig", "16"]))
def test_arrays(objects, indent, encoding):
    codec = {"": "utf-8", "-sig": "utf-8-sig", "16": "utf-16"}[encoding]
    content = array(objects, indent).encode(codec, "replace")
    found = parts(content)
    expected = json.loads(content.decode(codec))
    assert [parse_json(data, "utf-8") for data, _ in found] == expected
    assert all(reason is None for _, reason in found)


@given(st.lists(st.sampled_from([b"{}", b"[", b"]", b",", b"\n", b'{"a":', b'"x"', b"oops", b"}"])))
def test_any_content_ends(pieces):
    for data, reason in parts(b"".join(pieces)):
        if reason is None:
            with suppress(Unreadable):
                parse_json(data, "utf-8")


@pytest.mark.parametrize("indent", [None, 2])
def test_a_broken_object_ends_before_the_next(indent):
    good = json.dumps({"a": [1, {"b": 2}]}, indent=indent).encode()
    broken = BROKEN if indent is None else good.replace(b"1", b"oops", 1)
    items = [good, broken, good, broken]
    if indent is None:
        content = b"[\n" + b",\n".join(items) + b"\n]\n"
    else:
        content = b"[\n" + b",\n".join(b"  " + i.replace(b"\n", b"\n  ") for i in items) + b"\n]\n"
        items = [item.replace(b"\n", b"\n  ") for item in items]
    assert parts(content) == [(item, None) for item in items]
    for item in (items[1], items[3]):
        with pytest.raises(Unreadable, match="not_json"):
            parse_json(item, "utf-8")


@pytest.mark.parametrize("before", ["", "[\n  ", "[\n  {},\n  "])
def test_strings_may_contain_control_characters(before):
    item = '{"a": "x\ty\0z",\n "b": 1}'
    content = f"{before}{item},\n{before[-2:]}{item}".encode()
    *_, (one, _), (other, _) = parts(content)
    assert parse_json(one, "utf-8") == parse_json(other, "utf-8") == {"a": "x\ty\0z", "b": 1}


def test_objects_that_cannot_be_used():
    content = b'[{"a": "' + b"x" * 99 + b'"}, {"b": "\xff"}, 5, {"c": [' + b"[" * 99_999
    found = parts(content, max_bytes=50)
    assert [reason for _, reason in found] == ["too_large", None, None, "too_large"]
    for data, reason in (found[1], found[2]):
        with pytest.raises(Unreadable):
            parse_json(data, "utf-8")
        assert reason is None


@fewer
@given(OBJECTS, st.sampled_from(["\n", " ", "", "\x1e", "\n\n", ",\n"]))
def test_objects_without_an_array(objects, between):
    content = between.join(map(json.dumps, objects)).encode()
    assert [parse_json(data, "utf-8") for data, _ in parts(content)] == objects
