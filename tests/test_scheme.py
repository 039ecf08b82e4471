import dataclasses
import itertools
import json
import math
import pickle
from contextlib import suppress

import pytest
from hypothesis import given

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.scheme import Scheme
from tests.schemes import schemes


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            *itertools.product(["bits"], [0, -8, 4, 7, 9, 63, 520, 64.0, "64", None, True]),
            *itertools.product(["shingle_length"], [0, -1, 17, 1.0, "2", None, True]),
            *itertools.product(["version"], [0, 4, 1.0, "1", None, True]),
            *itertools.product(["top"], [-1, 1_000_001, 1.0, "2", None, True]),
            *itertools.product(
                ["extractor", "tokenizer", "weighting", "feature_hash", "tie", "empty"],
                ["", "magic", None, 1, ["text"]],
            ),
            *itertools.product(
                ["extractor"],
                ["Readability", ".dotted", "a.", "a..b", "a.b c", "a.1b", "a.b\n", "a:b"],
            ),
            *itertools.product(
                ["select", "remove", "parts", "stop_words"],
                ["title", None, 5, [""], ["title", None], [b"title"], {"title": 1}],
            ),
            *itertools.product(
                ["field_weights"],
                [
                    *("title", None, 5, ["title"], ["a1"], {"title": 1.0}, {"a1": 1.0}),
                    *([("title",)], [("title", 1.0, 2.0)], [("title", 1.0), ("title", 2.0)]),
                    *([(name, 1.0)] for name in ("", None, 1)),
                    *([("title", w)] for w in (None, -1.0, math.nan, math.inf, 10**400)),
                ],
            ),
            *itertools.product(["pairs"], [1, 0, "yes", None]),
            ("idf", "jieba"),
            ("idf", None),
        ],
    )
    def test_invalid_values_are_refused_with_the_name_of_the_parameter(self, name, value):
        with pytest.raises(SchemeError, match=rf"^{name}="):
            Scheme(**{name: value})

    @pytest.mark.parametrize("name", ["select", "remove"])
    @pytest.mark.parametrize(
        "selector",
        [
            *(
                *("p >", "p[", "p::text", "p:no-such-thing", "//p[", "(//p", " //p"),
                *("count(//p)", "\0"),
            ),
            *("//p\0", "p\ud800", "//p['\ud800']", "//x:p", "x|p"),
        ],
    )
    def test_invalid_selectors_are_refused(self, name, selector):
        with pytest.raises(SchemeError, match="selector"):
            Scheme(**{name: ["p", selector]})


class TestId:
    def test_the_ids_of_the_presets_never_change(self):
        start = "readability:jieba"
        assert {name: Scheme.preset(name).id for name in ("wide", "classic")} == {
            "wide": f"simhash256:{start}:1+2-gram:uniform:xxh3-mix:tie-zero:v3",
            "classic": f"simhash64:{start}:1-gram:log-tf:xxh3:tie-zero:v3",
        }

    @given(schemes(), schemes())
    def test_only_equal_schemes_have_equal_ids(self, one, other):
        assert (one.id == other.id) == (one == other)
        for field in dataclasses.fields(Scheme):
            with suppress(SchemeError):  # it does not fit the rest
                changed = dataclasses.replace(one, **{field.name: getattr(other, field.name)})
                assert (changed.id == one.id) == (changed == one)
        assert one.id.isprintable()
        assert not any(character.isspace() for character in one.id)

    @pytest.mark.parametrize(
        ("values", "rest"),
        [
            ({"select": ["main", "h1"]}, "select-7e7dfd32f6897f13"),
            ({"remove": ["main", "h1"]}, "remove-7e7dfd32f6897f13"),
            ({"parts": ["title", "first-sentences"]}, "parts-60f0f29e76199408"),
            ({"stop_words": ["the", "渡轮"]}, "stop-words-1b680b3c277f4467"),
            ({"field_weights": [("title", 2), ("body", 0.5)]}, "field-weights-665ef69b72307350"),
            ({"top": 7, "empty": "ties"}, "top-7:empty-ties"),
            ({"weighting": "tf-idf", "idf": "jieba"}, "idf-cf55ef857b99098f"),
        ],
        ids=lambda value: "",
    )
    def test_ids_never_change(self, values, rest):
        weighting = values.get("weighting", "log-tf")
        start = f"simhash256:readability:jieba:1-gram:{weighting}:xxh3:tie-zero:v3"
        assert Scheme(**values).id == f"{start}:{rest}"

    def test_the_id_depends_on_the_content_of_the_idf_table(self, tmp_path):
        ids = []
        for name, content in (("a", "rain 2\n"), ("b", "rain 2\n"), ("c", "rain 3\n")):
            path = tmp_path / name
            path.write_text(content)
            ids.append(Scheme(weighting="tf-idf", idf=str(path)).id)
        assert ids[0] == ids[1] != ids[2]
        assert str(tmp_path) not in ids[0]


class TestDict:
    @given(schemes())
    def test_json_restores_a_scheme(self, scheme):
        back = Scheme(**json.loads(json.dumps(dataclasses.asdict(scheme))))
        assert back == scheme
        assert back.id == scheme.id
        assert pickle.loads(pickle.dumps(scheme)) == scheme
