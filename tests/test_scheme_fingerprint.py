"""A scheme makes fingerprints from texts and records."""

import dataclasses

import pytest
from hypothesis import assume, given

from scrapy_simhash.errors import EmptyText
from scrapy_simhash.features import weighted_occurrences
from scrapy_simhash.fingerprint import simhash
from scrapy_simhash.hashes import token_hashes
from scrapy_simhash.scheme import Scheme
from scrapy_simhash.tokens.parts import select_parts
from scrapy_simhash.tokens.tokenization import TOKENIZERS
from tests.samples import PARAGRAPHS
from tests.schemes import schemes

WORDS = Scheme(tokenizer="words")
ARTICLE = "\n".join(PARAGRAPHS)
RECORD = {"title": "A new ferry", "body": ARTICLE, "author": "the harbour office"}


class TestSteps:
    @given(schemes())
    def test_all_ways_to_a_fingerprint_agree(self, scheme):
        assume(scheme.feature_hash != "mt19937")
        tokens = scheme.tokens(ARTICLE, "A title")
        tokenizer = TOKENIZERS[scheme.tokenizer]
        assert tokens == tokenizer.tokens(select_parts(ARTICLE, scheme.parts, "A title"))
        features = scheme.features(tokens)
        assume(any(features.values()))  # else every word is a stop word
        names = {"feature_hash": scheme.feature_hash, "tie": scheme.tie, "sums": scheme.sums}
        expected = simhash(features.items(), scheme.bits, **names)
        if scheme.sums == "in-order" and scheme == dataclasses.replace(
            scheme,
            weighting="tf-squared",
            shingle_length=1,
            pairs=False,
            stop_words=(),
            top=0,
            idf="",
        ):
            occurrences = weighted_occurrences(tokens)  # each is added by itself
            expected = simhash(occurrences, scheme.bits, **names)
        assert scheme.fingerprint(ARTICLE, "A title") == expected.value
        assert scheme.fingerprint_tokens(tokens) == expected.value
        assert scheme.certain_fingerprint(tokens) == expected
        assert scheme.certain_fingerprint(tokens, token_hashes(tokens)) == expected


class TestText:
    def test_only_the_parts_count(self):
        scheme = Scheme(parts=["title", "first-sentences"])
        edited = ARTICLE.replace("accordions", "trombones")
        assert scheme.fingerprint(edited, "News") == scheme.fingerprint(ARTICLE, "News")
        assert scheme.fingerprint(ARTICLE, "News") != scheme.fingerprint(ARTICLE, "Fares")
        assert scheme.fingerprint(ARTICLE.replace("launched", "sunk")) != (
            scheme.fingerprint(ARTICLE)
        )

    @pytest.mark.parametrize(
        ("words", "text", "rest"),
        [
            (["THE", "Of"], "The fares of the ferry", "fares ferry"),
            (["τους"], "τους επιβάτες ΤΟΥΣ", "επιβάτες"),
            (["Straße"], "Die Straße ist lang", "Die ist lang"),
            (["Ｃafé"], "CAFÉ im Hafen", "im Hafen"),
            (["的"], "渡轮的码头", "渡轮 码头"),
        ],
    )
    def test_stop_words_match_in_any_form(self, words, text, rest):
        scheme = Scheme(stop_words=words)
        assert scheme.fingerprint(text) == Scheme().fingerprint(rest)


class TestNothing:
    def test_no_tokens_and_no_weights_are_empty(self):
        for text in ("", " \n", "... — !?", "\ud800"):
            with pytest.raises(EmptyText):
                Scheme().fingerprint(text)
        with pytest.raises(EmptyText):
            Scheme(parts=["title"]).fingerprint(ARTICLE)
        with pytest.raises(EmptyText):
            Scheme().fingerprint_tokens([])
        with pytest.raises(EmptyText):
            simhash([("ferry", 0.0)], 64)
        with pytest.raises(EmptyText):
            Scheme(stop_words=["the"]).fingerprint("The the THE")


class TestRecord:
    SCHEME = Scheme(tokenizer="words", field_weights=[("title", 3), ("body", 1)])

    def features(self, text):
        return self.SCHEME.features(self.SCHEME.tokens(text))

    def test_each_field_adds_its_features_with_its_weight(self):
        expected = self.features(RECORD["body"])
        for feature, weight in self.features(RECORD["title"]).items():
            expected[feature] = expected.get(feature, 0.0) + 3 * weight
        assert set(self.features(RECORD["title"])) & set(self.features(RECORD["body"]))
        fingerprint = self.SCHEME.certain_record(RECORD).value
        assert fingerprint == simhash(expected.items(), self.SCHEME.bits).value
        assert fingerprint != self.SCHEME.fingerprint(f"{RECORD['title']}\n{RECORD['body']}")

    @pytest.mark.parametrize("name", ["wide", "leonsim", "jieba-tfidf", "levels"])
    @pytest.mark.parametrize("missing", [{}, {"title": None}, {"title": ""}])
    def test_missing_fields_add_nothing(self, name, missing):
        scheme = dataclasses.replace(
            Scheme.preset(name), field_weights=[("title", 100), ("body", 1)]
        )
        record = {"body": ARTICLE, **missing}
        assert scheme.certain_record(record).value == scheme.fingerprint(ARTICLE)
