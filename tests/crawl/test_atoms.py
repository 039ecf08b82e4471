"""What items say, as atoms. test_copies.py shows what follows from it."""

import pytest

from scrapy_simhash.crawl.atoms import atoms_of, names_another, read


def atoms(item):
    return {(atom.kind, atom.text) for atom in atoms_of(read(item))}


def test_texts_behind_many_whole_numbers_are_read():
    assert ("word", "ferry") in atoms({"counts": [*range(1000)], "name": "Ferry"})


def test_long_urls_have_names():
    signature = "s" * 600
    assert ("file", "boats/mill.jpg") in atoms({"image": f"/boats/mill.jpg?sig={signature}"})
    assert ("name", "/11") in atoms({"link": f"/doc/11?sig={signature}"})


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("28 Nov 2026", {"Nov", "28 Nov 2026"}),
        ("4.5 (123)", {"4.5"}),
        ("No. 5", {"No", "No. 5"}),
        ("5", set()),
        ("at 10:31", {"at"}),
        ("10:31", set()),
        ("12.345", set()),
    ],
)
def test_codes_are_parts_of_texts_without_words_and_the_whole_text(text, codes):
    assert {one for kind, one in atoms({"text": text}) if kind == "code"} == codes


def test_an_item_that_cannot_be_written_has_no_atoms():
    assert not atoms({"number": 10**5000})


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("/mill/3", "/mill/4", True),
        ("/mill/3/rooms", "/mill/4/rooms", True),
        ("/mills/tide.html", "/mills/wind.html", True),
        ("/print/mills/tide", "/mills/wind", True),
        ("/mill?id=3&l=en", "/mill?l=en&id=4", True),
        ("/mill/3", "/mill/3", False),
        ("/mill/3", "/print/mill/3", False),
        ("/mill/3", "/mill/3/print", False),
        ("/sale/mill/3", "/new/mill/3", False),
        ("/mill/3?print=1", "/mill/3", False),
        ("/mill/3?sort=name", "/mill/3?sort=price", False),
        ("/mill/3?sessionid=a7", "/mill/3;sessionid=b8", False),
        ("/mill/3?s=3c6a9eea11d2aa07bb", "/mill/3?s=4c6a9eea11d2aa07bc", False),
        ("/news/2011/tide", "/news/index?id=11", False),
        ("", "/mill", False),
    ],
)
def test_urls_name_another_thing_by_the_last_part_or_a_number(one, other, expected):
    one, other = f"https://x.test{one}", f"https://y.test{other}"
    assert names_another(one, other) == names_another(other, one) == expected
