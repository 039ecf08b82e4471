import dataclasses
import json

import pytest

from scrapy_simhash.verdict import Verdict

FOUND = Verdict(
    kind="near-duplicate",
    key="https://a.example/2",
    bits=64,
    fingerprint=0xAB,
    representative="https://a.example/1",
    distance=2,
    similarity=0.8751,
)
SKIPPED = Verdict(kind="skipped", key="https://a.example/3", bits=64, reason="few_tokens")
NAMES = "kind representative distance fingerprint similarity similar_to reason canonical".split()
AS_DATA = {
    "kind": "near-duplicate",
    "representative": "https://a.example/1",
    "distance": 2,
    "fingerprint": "00000000000000ab",
    "similarity": 0.88,
}


@pytest.mark.parametrize(
    ("verdict", "values"),
    [
        (FOUND, AS_DATA),
        (SKIPPED, {"kind": "skipped", "reason": "few_tokens"}),
    ],
    ids=["near-duplicate", "skipped"],
)
def test_to_dict_is_plain_data(verdict, values):
    expected = {**dict.fromkeys(NAMES), **values}
    assert verdict.to_dict() == json.loads(json.dumps(verdict.to_dict())) == expected
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.kind = "new"
