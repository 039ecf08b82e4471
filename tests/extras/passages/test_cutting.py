"""Texts are cut where they have boundaries, and nothing of them is lost."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.extras.passages.cutting import spans_of
from scrapy_simhash.extras.passages.index import open_passages
from tests.test_hostile_texts import CHARACTERS, UNITS, cpu_s

TEXTS = st.text(st.sampled_from('ab c。，.,!?\n"”’ -\u2028\ud800茶'), max_size=600)


def passages(text):
    return [text[start:end] for start, end in spans_of(text)]


@given(text=TEXTS)
def test_outside_the_passages_is_white_space_alone(text):
    spans = spans_of(text)
    assert spans == sorted(spans)
    covered = set()
    for start, end in spans:
        assert text[start:end].strip() == text[start:end] != ""
        covered.update(range(start, end))
    assert all(at in covered or character.isspace() for at, character in enumerate(text))
    assert len(covered) == sum(end - start for start, end in spans)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One here. Two there! Three?", ["One here.", "Two there!", "Three?"]),
        ("It cost 3.5 euros. Yes.", ["It cost 3.5 euros.", "Yes."]),
        ("他说：“茶熟了。”然后走了。", ["他说：“茶熟了。”", "然后走了。"]),
        ('"Come in." He came.', ['"Come in."', "He came."]),
        ("No end\nNext line", ["No end", "Next line"]),
        ("a line that\ngoes on", ["a line that", "goes on"]),
        ("a heading\n\nand a paragraph", ["a heading", "and a paragraph"]),
        ("Une fin.\nune autre", ["Une fin.", "une autre"]),
        ("Is it?”No", ["Is it?”", "No"]),
        ("何がありますか?パッケージです。", ["何がありますか?", "パッケージです。"]),
        ("他用的是 system.然后", ["他用的是 system.", "然后"]),
        ("第一行\n第二行", ["第一行", "第二行"]),
        ("Wait... What", ["Wait...", "What"]),
        ("", []),
        (" \n\t ", []),
        ("x", ["x"]),
    ],
)
def test_sentences(text, expected):
    assert passages(text) == expected


def test_a_long_sentence_is_cut_at_its_commas():
    clause = "the boats came back late in the evening with very few fish"
    text = ", ".join([clause] * 6) + "."
    parts = passages(text)
    assert len(parts) > 2
    # 60, less the space that a part begins with.
    assert all(59 <= len(part) <= 160 for part in parts[:-1])
    assert all(part.endswith((",", ".")) for part in parts)


def test_a_copy_is_cut_as_its_original_whatever_stands_before_it():
    copied = (
        "The keeper opened the sluice at dawn, and the water fell a hand's breadth an hour. "
        "Nobody in the village remembered so dry a spring; the oldest well had turned to mud. "
        "By noon three carts stood at the pump, and the queue reached the chapel."
    )
    original = set(passages(copied))
    inside = passages(f"Something else entirely, of another length! {copied} And more.")
    shared = original & set(inside)
    assert shared == original


@pytest.mark.thorough
def test_texts_are_cut_in_linear_time():
    for unit in UNITS:
        assert cpu_s(spans_of, unit * (CHARACTERS // len(unit))) < 8, unit


@pytest.mark.thorough
def test_many_similar_sentences_are_checked_in_time(tmp_path):
    def text():
        return " ".join(
            f"The quick brown fox jumps over a lazy dog near the bank, for the {number}th time."
            for number in random.sample(range(10**9), 2000)
        )

    with open_passages(tmp_path / "passages") as index:
        index.add("one", text())
        assert cpu_s(index.check, "other", text()) < 10
