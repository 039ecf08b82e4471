"""A hypothesis strategy for schemes with any valid values."""

from hypothesis import strategies as st

from scrapy_simhash.extraction import EXTRACTORS
from scrapy_simhash.features import WEIGHTINGS
from scrapy_simhash.hashes import FEATURE_HASHES
from scrapy_simhash.scheme import Scheme
from scrapy_simhash.tokens.parts import PARTS, TITLE_PART
from scrapy_simhash.tokens.tokenization import TOKENIZERS

NAMES = st.sampled_from(["title", "body", "渡轮", "a:b,c"])
SELECTORS = st.lists(st.sampled_from(["p", "//div[@id='a']", "h1 > a"]), max_size=2)


@st.composite
def schemes(draw):
    feature_hash = draw(st.sampled_from(sorted(FEATURE_HASHES)))
    shingle_length = draw(st.integers(1, 16))
    weighting = draw(st.sampled_from(sorted(WEIGHTINGS)))
    return Scheme(
        bits=draw(st.sampled_from(FEATURE_HASHES[feature_hash].widths)),
        extractor=draw(st.sampled_from([*sorted(EXTRACTORS), "my.own.extractor"])),
        select=draw(SELECTORS),
        remove=draw(SELECTORS),
        parts=draw(st.lists(st.sampled_from([TITLE_PART, *PARTS]), max_size=2)),
        tokenizer=draw(st.sampled_from(sorted(TOKENIZERS))),
        stop_words=draw(st.lists(NAMES, max_size=2)),
        shingle_length=shingle_length,
        pairs=draw(st.booleans()) and shingle_length != 2,
        weighting=weighting,
        idf="jieba" if weighting in ("levels", "tf-idf") else "",
        top=draw(st.sampled_from([0, 1, 50, 1_000_000])),
        field_weights=draw(
            st.lists(st.tuples(NAMES, st.floats(0, 9)), max_size=2, unique_by=lambda pair: pair[0])
        ),
        feature_hash=feature_hash,
        sums=draw(st.sampled_from(["exact", "in-order"])),
        tie=draw(st.sampled_from(["zero", "one"])),
        empty=draw(st.sampled_from(["error", "ties"])),
    )
