from __future__ import annotations

import dataclasses
import itertools
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.errors import EmptyText, SchemeError
from scrapy_simhash.extraction import EXTRACTORS
from scrapy_simhash.features import WEIGHTINGS, weighted_features
from scrapy_simhash.fingerprint import FEATURE_HASHES, simhash
from scrapy_simhash.index import TablePlan
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS, Scheme, preset
from scrapy_simhash.tokenization import TOKENIZERS
from tests.samples import ENGLISH, FEATURES, PARAGRAPHS, TOKENS

schemes = st.builds(
    Scheme,
    bits=st.integers(1, 64).map(lambda size: 8 * size),
    extractor=st.sampled_from(sorted(EXTRACTORS)),
    tokenizer=st.sampled_from(sorted(TOKENIZERS)),
    shingle_length=st.integers(1, 16),
    weighting=st.sampled_from(sorted(WEIGHTINGS)),
    feature_hash=st.sampled_from(sorted(FEATURE_HASHES)),
    tie=st.sampled_from(["zero", "one"]),
)


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            *itertools.product(["bits"], [0, -8, 4, 7, 9, 63, 520, 64.0, "64", None, True]),
            *itertools.product(["shingle_length"], [0, -1, 17, 1.0, "2", None, True]),
            *itertools.product(["version"], [0, 2, 1.0, "1", None, True]),
            *itertools.product(
                ["extractor", "tokenizer", "weighting", "feature_hash", "tie"],
                ["", "magic", None, 1, ["text"]],
            ),
            ("extractor", "Readability"),
        ],
    )
    def test_values_outside_their_range_are_refused_by_name(self, name, value):
        with pytest.raises(SchemeError, match=rf"^{name}="):
            Scheme(**{name: value})

    @pytest.mark.parametrize("bits", [8, 512])
    @pytest.mark.parametrize("shingle_length", [1, 16])
    def test_the_ends_of_the_ranges_are_inside(self, bits, shingle_length):
        scheme = Scheme(bits=bits, shingle_length=shingle_length)
        assert 0 <= scheme.fingerprint_tokens(TOKENS) < 1 << bits

    def test_schemes_are_frozen_and_hashable(self):
        scheme = Scheme()
        for field in dataclasses.fields(Scheme):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(scheme, field.name, getattr(scheme, field.name))
        assert len({scheme, Scheme(), Scheme(bits=64)}) == 2

    def test_parameters_are_named(self):
        with pytest.raises(TypeError):
            Scheme(64)


class TestId:
    def test_the_ids_of_the_presets_never_change(self):
        rest = ":readability:jieba:1-gram:log-tf:xxh3:tie-zero:v1"
        assert Scheme.preset("wide").id == "simhash256" + rest
        assert Scheme.preset("classic").id == "simhash64" + rest

    @given(schemes, schemes)
    def test_ids_are_equal_for_equal_schemes_alone(self, one, other):
        assert (one.id == other.id) == (one == other)
        assert one.id.isprintable()
        assert not any(character.isspace() for character in one.id)

    @pytest.mark.parametrize(
        "change",
        [
            {"bits": 64},
            {"extractor": "text"},
            {"tokenizer": "words"},
            {"shingle_length": 2},
            {"weighting": "tf"},
            {"tie": "one"},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_each_parameter_is_in_the_id(self, change):
        assert Scheme(**change).id != Scheme().id


class TestDict:
    @given(schemes)
    def test_a_scheme_comes_back_from_json(self, scheme):
        back = Scheme.from_dict(json.loads(json.dumps(scheme.to_dict())))
        assert back == scheme
        assert back.id == scheme.id
        assert pickle.loads(pickle.dumps(scheme)) == scheme

    def test_the_dict_holds_every_parameter(self):
        assert set(Scheme().to_dict()) == {field.name for field in dataclasses.fields(Scheme)}

    @pytest.mark.parametrize(
        ("values", "says"),
        [({"bits": 64, "colour": 1, "Bits": 2}, "Bits, colour"), ({"bits": 65}, "^bits=65")],
    )
    def test_unknown_or_impossible_values_are_refused(self, values, says):
        with pytest.raises(SchemeError, match=says):
            Scheme.from_dict(values)


class TestPresets:
    def test_they_are_these(self):
        assert {name: (p.scheme.bits, p.max_distance) for name, p in PRESETS.items()} == {
            "wide": (256, 28),
            "classic": (64, 3),
        }
        assert DEFAULT_PRESET == "wide"
        assert Scheme() == Scheme.preset("wide")

    @pytest.mark.parametrize("name", PRESETS)
    def test_each_can_be_indexed_at_its_distance(self, name):
        found = preset(name)
        assert found.scheme is Scheme.preset(name)
        plan = TablePlan.for_distance(found.scheme.bits, found.max_distance)
        assert plan.expected_recall(found.max_distance) >= 0.95

    @pytest.mark.parametrize("name", ["", "Classic", "none", None, ["classic"]])
    def test_an_unknown_name_is_refused_with_those_there_are(self, name):
        with pytest.raises(SchemeError, match=r"wide, classic"):
            Scheme.preset(name)


class TestFingerprint:
    @given(schemes)
    def test_its_parts_are_the_steps_in_order(self, scheme):
        tokens = scheme.tokens(ENGLISH)
        assert tokens == TOKENIZERS[scheme.tokenizer](ENGLISH)
        features = weighted_features(
            tokens, shingle_length=scheme.shingle_length, weighting=scheme.weighting
        )
        expected = simhash(features, scheme.bits, tie=scheme.tie)
        assert scheme.fingerprint(ENGLISH) == expected
        assert scheme.fingerprint_tokens(tokens) == expected
        assert scheme.fingerprint_features(features) == expected

    def test_a_shorter_text_than_a_shingle_has_a_fingerprint(self):
        scheme = Scheme(shingle_length=5, tokenizer="words")
        assert scheme.fingerprint("two words") == scheme.fingerprint_features({"two\x1fwords": 1})

    @pytest.mark.parametrize("text", ["", " \n", "... — !?", "\ud800"])
    def test_a_text_without_tokens_is_empty(self, text):
        with pytest.raises(EmptyText):
            Scheme().fingerprint(text)

    def test_no_tokens_and_no_weights_are_empty(self):
        with pytest.raises(EmptyText):
            Scheme().fingerprint_tokens([])
        with pytest.raises(EmptyText):
            Scheme().fingerprint_features({"ferry": 0.0})

    @pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
    def test_impossible_weights_are_refused(self, weight):
        with pytest.raises(SchemeError, match="weight"):
            Scheme().fingerprint_features({**FEATURES, "bad": weight})

    def test_near_texts_are_near_and_others_are_far(self):
        scheme = Scheme(tokenizer="words")
        fingerprint = scheme.fingerprint(ENGLISH)
        edited = scheme.fingerprint(ENGLISH.replace("Fridays", "Sundays"))
        other = scheme.fingerprint(" ".join(PARAGRAPHS))
        assert 0 < (fingerprint ^ edited).bit_count() <= 40
        assert (fingerprint ^ other).bit_count() > 80


class TestCheck:
    @pytest.mark.parametrize("bits", [8, 64, 256])
    def test_fingerprints_of_the_width_pass(self, bits):
        scheme = Scheme(bits=bits)
        assert [scheme.check_fingerprint(fp) for fp in (0, (1 << bits) - 1)] == [0, (1 << bits) - 1]

    @pytest.mark.parametrize("value", [-1, 1 << 64, 1.0, "0", None])
    def test_all_else_is_refused(self, value):
        with pytest.raises(SchemeError, match="64 bits"):
            Scheme(bits=64).check_fingerprint(value)
