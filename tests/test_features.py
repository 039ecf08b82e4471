import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.features import (
    IDF_WEIGHTINGS,
    IdfTable,
    idf_table,
    shingles,
    weighted_features,
)

token_lists = st.lists(st.sampled_from(["a", "b", "c", "d e"]), max_size=30)


@given(token_lists, st.integers(2, 16))
def test_shingles_are_all_runs_of_their_length_in_order(tokens, length):
    made = [tuple(shingle.split("\x1f")) for shingle in shingles(tokens, length)]
    if not tokens:
        assert made == []
    elif len(tokens) < length:
        assert made == [tuple(tokens)]
    else:
        runs = zip(*(tokens[start:] for start in range(length)), strict=False)
        assert made == list(runs)


@pytest.mark.parametrize(
    ("weighting", "weight_of"),
    [
        ("uniform", lambda _: 1.0),
        ("tf", lambda count: count),
        ("log-tf", lambda count: 1 + math.log(count)),
        ("tf-squared", lambda count: count * count),
    ],
)
@given(tokens=token_lists, length=st.integers(1, 3))
def test_weights_follow_the_counts(weighting, weight_of, tokens, length):
    features = weighted_features(tokens, shingle_length=length, weighting=weighting)
    counts = Counter(shingles(tokens, length))
    # Logarithms are rounded to 20 bits below the point.
    expected = {feature: weight_of(count) for feature, count in counts.items()}
    assert features == pytest.approx(expected, abs=2**-21)
    assert all(type(weight) is float for weight in features.values())


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "idf.txt"
    path.write_text("ferry 4.0\nthe 0.5\n\nnew york 8\nzero 0\nbread 2e0\n", encoding="utf-8")
    return path


class TestLevels:
    def levels(self, table, counts):
        tokens = list(Counter(counts).elements())
        return weighted_features(tokens, shingle_length=1, weighting="levels", idf=IdfTable(table))

    @pytest.mark.parametrize(
        ("counts", "weights"),
        [
            ({"bread": 1}, {"bread": 5}),
            ({"bread": 7, "unknown": 7}, {"bread": 5, "unknown": 5}),
            ({"ferry": 1, "the": 1}, {"ferry": 5, "the": 1}),
            ({"ferry": 1, "the": 7}, {"ferry": 5, "the": 5}),
            ({"ferry": 10, "bread": 12, "zero": 9}, {"ferry": 5, "bread": 3, "zero": 1}),
            ({"zero": 2}, {"zero": 1}),
        ],
    )
    def test_levels_are_fifths_of_the_largest_tf_idf(self, table, counts, weights):
        assert self.levels(table, counts) == weights


class TestIdf:
    def test_tf_idf_is_the_frequency_times_the_value_of_the_table(self, table):
        features = weighted_features(
            ["the", "ferry", "the", "bread", "zero"],
            shingle_length=1,
            weighting="tf-idf",
            idf=IdfTable(table),
        )
        assert features == pytest.approx({"the": 0.2, "ferry": 0.8, "bread": 0.4, "zero": 0.0})

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\n\n",
            b"ferry\n",
            b"ferry 1\nbread\n",
            b"ferry four\n",
            b"ferry 1,5\n",
            b"ferry\t1.5\n",
            b"f\xe9rry 1\n",
            b"ferry nan\n",
            b"ferry inf\n",
            b"ferry -1\n",
            None,
        ],
        ids=repr,
    )
    def test_invalid_tables_are_refused(self, tmp_path, content):
        path = tmp_path / "idf.txt"
        if content is not None:
            path.write_bytes(content)
        for read in (IdfTable, lambda path: idf_table(str(path))):
            with pytest.raises(SchemeError, match=r"IDF table .*idf\.txt"):
                read(path)

    @pytest.mark.parametrize("weighting", IDF_WEIGHTINGS)
    def test_idf_weightings_without_a_table_are_refused(self, weighting):
        with pytest.raises(SchemeError, match="need an IDF table"):
            weighted_features(["a"], shingle_length=1, weighting=weighting)


class TestTop:
    TOKENS = "b c c a d d d e a".split()

    @pytest.mark.parametrize(
        ("top", "kept"),
        [(0, "bcade"), (1, "d"), (2, "dc"), (3, "dca"), (4, "dcab"), (5, "dcabe"), (99, "dcabe")],
    )
    def test_the_heaviest_features_are_kept_equal_ones_in_text_order(self, top, kept):
        features = weighted_features(self.TOKENS, shingle_length=1, weighting="tf", top=top)
        assert "".join(features) == kept
        assert features == {feature: self.TOKENS.count(feature) for feature in kept}


def test_stop_words_are_removed_before_shingles_are_made():
    features = weighted_features(
        ["The", "ferry", "THE", "the", "bread"],
        shingle_length=2,
        weighting="tf",
        stop_words={"the"},
    )
    assert features == {"ferry\x1fbread": 1.0}


class TestPairs:
    @given(tokens=token_lists, length=st.sampled_from([1, 3]))
    def test_with_uniform_weights_each_pair_counts_once(self, tokens, length):
        features = weighted_features(tokens, shingle_length=length, pairs=True, weighting="uniform")
        pairs = shingles(tokens, 2) if len(tokens) > 1 else []
        assert features == dict.fromkeys([*shingles(tokens, length), *pairs], 1.0)
