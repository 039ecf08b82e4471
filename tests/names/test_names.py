"""Names of pages, as they are stored."""

import time

from scrapy_simhash.names.names import Names, names_of_record, page_names
from tests.samples import name_bytes


def test_a_name_is_stored_as_the_hash_of_its_tokens():
    assert name_bytes("Operator < (x)").hex() == name_bytes("operator<: X").hex()
    assert name_bytes("A new ferry 7").hex() == "36e9450452f11ab70000"
    assert name_bytes("Café").hex() == name_bytes("Cafe").hex()[:16] + "4c83"
    assert name_bytes(" “” ") == b""
    title, heading = page_names(Names("Boat 7 - Shop", ["Boat 7"]))
    assert title == name_bytes("Boat 7 Shop") * 2 + name_bytes("Shop") + b"\x80"
    assert heading == name_bytes("Boat 7")
    assert page_names(Names("Boat 7")) == (name_bytes("Boat 7"), b"")
    assert page_names(Names()) == (b"", b"")


def test_a_view_beyond_the_heading_is_no_part_of_the_title():
    one, other = (
        page_names(Names(f"Boat 7 - {site}", ["Boat 7"])) for site in ("News", "News Mobile")
    )
    assert one[0][20:30] == other[0][20:30] == name_bytes("News")


def test_the_names_of_a_record_are_its_first_two():
    assert names_of_record(["", "n", "n"]) == ("n", "")
    assert names_of_record(["t", "", "h"]) == ("t", "h")
    assert names_of_record(["", ""]) == ("", "")


def test_a_name_is_searched_in_linear_time():
    started = time.process_time()
    page_names(Names("a" * 50_000), "a" * 100_000, 1)
    assert time.process_time() - started < 1
