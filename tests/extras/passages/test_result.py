"""The sums of a report: each character counts once, and white space not at all."""

import pytest

from scrapy_simhash.extras.passages.result import CheckedPassage, Source, summed_up

TEXT = "aaaa bbbb\n\ncccc dddd"


def checked(start, end, *sources, level="high"):
    found = tuple(Source(name, 0, 4, similarity, 1, "aaaa") for name, similarity in sources)
    return CheckedPassage(
        start=start,
        end=end,
        text=TEXT[start:end],
        level=level if found else "none",
        sources=found,
        documents=len(found),
    )


def report(*passages, **more):
    return summed_up("q", TEXT, passages, **more)


def test_shares_of_passages_side_by_side():
    found = report(
        checked(0, 4, ("one", 1.0), ("two", 0.8)),
        checked(5, 9),
        checked(11, 15, ("one", 0.8), level="medium"),
        checked(16, 20),
    )
    assert (found.known_share, found.common_share) == (0.5, 0.0)
    assert found.similar_share == pytest.approx((1.0 + 0.8) / 4)
    assert [(s.document, s.share, s.passages) for s in found.sources] == [
        ("one", 0.5, 2),
        ("two", 0.25, 1),
    ]
    assert found.characters == 20
    assert [passage.similarity for passage in found.passages] == [1.0, 0.0, 0.8, 0.0]


def test_what_passages_share_counts_once():
    found = report(checked(0, 9, ("one", 1.0)), checked(5, 15, ("one", 0.5)))
    assert found.known_share == pytest.approx(12 / 16)
    assert found.similar_share == pytest.approx((8 + 4 * 0.5) / 16)
    [source] = found.sources
    assert (source.share, source.passages) == (pytest.approx(12 / 16), 2)


def test_a_share_is_not_rounded_to_nothing():
    text = "a " + "b" * 99_999
    passage = CheckedPassage(
        start=0,
        end=1,
        text="a",
        level="high",
        sources=(Source("one", 0, 1, 1.0, 0, ""),),
        documents=1,
    )
    found = summed_up("q", text, [passage])
    assert found.known_share == found.sources[0].share == 1e-5
