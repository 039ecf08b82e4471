"""The values that users may give as a preset."""

import json

import pytest

from scrapy_simhash.choice import choose_preset
from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.errors import SchemeError
from scrapy_simhash.scheme import Preset, Scheme

OWN = Scheme(bits=64, parts=("title", "longest-sentences"))
NARROW = Scheme(bits=32)
WITH_K = Preset(scheme=NARROW, max_distance=2, source="a test")
NO_PRESET = "a text"
CHANGES = {"preset": "classic", "stop_words": ["ferry"], "top": 20, "max_distance": 4}
TOML = """
preset = "classic"
stop_words = ["ferry"]
top = 20
max_distance = 4
"""


def test_mapping_json_and_toml_file_change_a_preset(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(TOML, encoding="utf-8")
    for value in (CHANGES, json.dumps(CHANGES), str(path)):
        _, found = choose_preset(value)
        assert found.scheme == Scheme(bits=64, stop_words=["ferry"], top=20)
        assert found.max_distance == 4
        assert found.confirmation == UNCONFIRMED


def test_tf_idf_uses_the_table_of_jieba_by_default(tmp_path):
    _, found = choose_preset({"preset": "classic", "weighting": "tf-idf", "top": 20})
    assert found.scheme.idf == "jieba"
    _, found = choose_preset({"preset": "levels", "weighting": "tf"})
    assert found.scheme.idf == ""
    table = tmp_path / "idf.txt"
    table.write_text("ferry 4.0\nbread 0.5\n", encoding="utf-8")
    _, found = choose_preset({"preset": "levels", "idf": str(table)})
    assert found.scheme.features(["ferry", "bread"]) == {"ferry": 5, "bread": 1}


def test_an_import_path_leads_to_a_scheme_or_a_preset():
    name, found = choose_preset("tests.test_choice.OWN")
    assert name == "tests.test_choice.OWN"
    assert (found.scheme, found.max_distance) == (OWN, 3)
    assert choose_preset("tests.test_choice.WITH_K")[1] is WITH_K


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("wider", "there is no preset 'wider': did you mean 'wide'?"),
        ("zzz", "there is no preset 'zzz'; there are wide, classic"),
        (256, "256 is no preset"),
        ({"preset": "clasic"}, "did you mean 'classic'?"),
        ({"preset": ["wide"]}, "no preset"),
        ({"stopwords": ["a"]}, "did you mean 'stop_words'?"),
        ({"version": 1}, "no parameter 'version'"),
        ({7: 1}, "no parameter 7"),
        ({"bits": 63}, "bits=63"),
        ({"bits": 128}, "max_distance=None: a whole number from 0 to 127 is needed"),
        ({"max_distance": True}, "max_distance=True"),
        ({"max_distance": 256}, "max_distance=256"),
        ({"weighting": "idf"}, "weighting='idf': one of"),
        ({"preset": "classic", "weighting": "tf-idf", "idf": "/no/such"}, "IDF table /no/such"),
        ("{", "'{' is no JSON object"),
        ("/no/such.toml", "cannot be read as TOML"),
        ("tests.test_choice.NONE", "AttributeError"),
        ("tests.no_such_module.OWN", "ModuleNotFoundError"),
        ("tests.test_choice.NO_PRESET", "neither a Scheme nor a Preset, but str"),
        ("tests.test_choice.NARROW", "32 bits; for a Scheme, a Preset gives it"),
    ],
    ids=str,
)
def test_invalid_choices_are_refused_with_the_reason(value, says):
    with pytest.raises(SchemeError) as caught:
        choose_preset(value)[1].scheme.fingerprint("The ferry leaves at nine.")
    assert says in str(caught.value)
    assert ("for a Scheme" in str(caught.value)) == (value == "tests.test_choice.NARROW")
