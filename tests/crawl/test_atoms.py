"""What items say, as atoms. test_copies.py shows what follows from it."""

import pytest

from scrapy_simhash.crawl.atoms import atoms_of, read


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
