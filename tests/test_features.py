import pytest

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.features import IDF_WEIGHTINGS, IdfTable, idf_table, weighted_features


class TestIdf:
    @pytest.mark.parametrize(
        "content",
        [
            *(b"", b"\n\n", b"ferry\n", b"ferry 1\nbread\n", b"ferry four\n", b"ferry 1,5\n", None),
            *(b"ferry\t1.5\n", b"f\xe9rry 1\n", b"ferry nan\n", b"ferry inf\n", b"ferry -1\n"),
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
