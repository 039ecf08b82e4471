import dataclasses
import json
import warnings
from functools import lru_cache
from pathlib import Path

import pytest
import simhash as simhash_package
from hypothesis import example, given
from hypothesis import strategies as st
from jieba import posseg

from scrapy_simhash.errors import EmptyText, UnsupportedText
from scrapy_simhash.fingerprint import to_hex
from scrapy_simhash.index import choose_plan
from scrapy_simhash.scheme import PRESETS, Scheme
from scrapy_simhash.tokens.tokenization import jieba_tokenizer
from tests.crawl.harness import python
from tests.samples import CHINESE, ENGLISH, GREEK, TAGGED

each = pytest.mark.parametrize("name", PRESETS)
any_text = st.text(st.characters(), max_size=60)  # lone surrogates are among them
words = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"], exclude_characters=" /"),
    min_size=1,
    max_size=6,
)


GOLDEN = {
    ("wide", "English"): "b147df9b1d858642362f549a76c823e28f2d7b62ce8b597821969e205a53c045",
    ("wide", "Chinese"): "2a136ef171054c7b4f50b76a216ebcbab79d9c9e10ab8ea065e3f767212f99fa",
    ("classic", "English"): "c16a3a14f49c9281",
    ("classic", "Chinese"): "7c59b285532e3d17",
    ("levels", "English"): "81da3244e00c1180",
    ("levels", "Chinese"): "7d19b025512e3c07",
    ("lyq", "tagged"): "000de42d",
    ("string-hash-64", "English"): "dfe573c146fefc46",
    ("string-hash-64", "Chinese"): "b164700bd1400004",
    ("ascii-mt19937", "English"): "9205e7ad",
    ("jieba-tfidf", "English"): "f67f6566df67a2fb",
    ("jieba-tfidf", "Chinese"): "221648c3c14406ad",
    ("leonsim", "English"): "8f3ddf443f23e4fc",
    ("leonsim", "Chinese"): "1016da8dc60919c5",
}
TEXTS = {"English": ENGLISH, "Chinese": CHINESE, "tagged": TAGGED}


@lru_cache(maxsize=1)
def jiebas_extractor():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its table open
        from jieba.analyse import TFIDF

        extractor = TFIDF()
    extractor.tokenizer = jieba_tokenizer()
    return extractor


def keywords(text):
    text = "|".join(jieba_tokenizer().cut(text))
    return dict(jiebas_extractor().extract_tags(text, topK=50, withWeight=True))


class TestGolden:
    @pytest.mark.parametrize(("name", "text"), GOLDEN)
    def test_golden_fingerprints(self, name, text):
        scheme = Scheme.preset(name)
        assert to_hex(scheme.fingerprint(TEXTS[text]), scheme.bits) == GOLDEN[name, text]

    def test_every_preset_has_a_golden_fingerprint(self):
        assert {name for name, _ in GOLDEN} == set(PRESETS)

    def test_another_process_without_rjieba_gets_the_same_and_prints_nothing(self):
        child = python("-W", "ignore", "-c", OTHER_PROCESS, PYTHONHASHSEED="20260101")
        assert json.loads(child.stdout) == [*GOLDEN.values()]
        assert child.stderr == ""


OTHER_PROCESS = """
import json, sys
sys.modules["rjieba"] = None
from scrapy_simhash.scheme import Scheme
from tests.test_presets import GOLDEN, TEXTS, to_hex
schemes = [(Scheme.preset(name), TEXTS[text]) for name, text in GOLDEN]
print(json.dumps([to_hex(scheme.fingerprint(text), scheme.bits) for scheme, text in schemes]))
"""


class TestLyq:
    SCHEME = Scheme.preset("lyq")

    @pytest.mark.parametrize("text", [CHINESE, f"{CHINESE}\n{CHINESE}", f"{ENGLISH} 20 km/h"])
    def test_a_text_without_tags_is_tagged_by_jieba(self, text):
        tagged = " ".join(
            f"{pair.word}/{pair.flag}" for pair in posseg.cut(text) if pair.word.strip()
        )
        assert self.SCHEME.tokens(text) == self.SCHEME.tokens(tagged)


class TestLeonsim:
    SCHEME = Scheme.preset("leonsim")

    @given(any_text)
    @example("")
    @example("😀👍🏽")
    @example("…!?")
    @example(ENGLISH)
    @example(CHINESE)
    @example(GREEK)
    @example("İSTANBUL ǅ ß ﬁ")
    @example("snake_case 3.14 ٣٤")
    @example("ab")
    @example("ha" * 120)
    def test_fingerprints_equal_those_of_the_package_simhash(self, text):
        assert self.SCHEME.fingerprint(text) == simhash_package.Simhash(text).value


class TestJiebaTfidf:
    SCHEME = Scheme.preset("jieba-tfidf")

    @given(
        st.lists(
            st.sampled_from("渡轮 码头 面包 报纸 邮件 的 岛上 清晨 the URL Ab x ， 12".split())
        )
    )
    def test_features_are_the_keywords_of_jieba(self, pieces):
        text = "".join(pieces)
        expected = keywords(text)
        assert self.SCHEME.features(self.SCHEME.tokens(text)) == expected
        if not expected:
            with pytest.raises(EmptyText):
                self.SCHEME.fingerprint(text)


class TestAnyText:
    @each
    @given(text=any_text)
    @example(text="")
    @example(text="\0\x1f\ufeff\ud800 /")
    @example(text="//// / /n n/")
    def test_any_text_gives_a_fingerprint_or_a_documented_error(self, name, text):
        scheme = Scheme.preset(name)
        try:
            fingerprint = scheme.fingerprint(text)
        except EmptyText:
            assert scheme.empty == "error"
            return
        except UnsupportedText:
            assert not text.isascii()
            return
        assert scheme.check_fingerprint(fingerprint) == fingerprint
        assert scheme.fingerprint(text) == fingerprint


def binary(fingerprint, bits):
    return f"{fingerprint:0{bits}b}"


OURS = json.loads((Path(__file__).parent / "golden" / "articles.json").read_text("utf-8"))


@pytest.mark.parametrize("case", OURS["lyq"])
def test_lyq_equals_the_java(case):
    scheme = dataclasses.replace(Scheme.preset("lyq"), bits=case["bits"])
    assert binary(scheme.fingerprint(case["text"]), case["bits"]) == case["fingerprint"]


@pytest.mark.parametrize("case", OURS["string-hash-64"])
def test_string_hash_64_equals_the_java(case):
    fingerprint = Scheme.preset("string-hash-64").fingerprint_tokens(case["words"])
    assert binary(fingerprint, 64) == case["fingerprint"]
    assert choose_plan(64, 3).prefixes(fingerprint) == case["blocks"]


@pytest.mark.parametrize("name", ["ascii-mt19937", "leonsim"])
def test_others_equal_their_programs(name):
    scheme = Scheme.preset(name)
    for case in OURS[name]:
        assert to_hex(scheme.fingerprint(case["text"]), scheme.bits) == case["fingerprint"], case


@pytest.mark.parametrize("case", OURS["jieba-tfidf"])
def test_jieba_tfidf_equals_the_python(case):
    assert binary(Scheme.preset("jieba-tfidf").fingerprint(case["text"]), 64) == case["fingerprint"]
