from __future__ import annotations

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


def test_fingerprint_hex_is_padded_to_the_width():
    assert FOUND.fingerprint_hex == "00000000000000ab"
    assert dataclasses.replace(FOUND, bits=256).fingerprint_hex == "ab".rjust(64, "0")
    assert dataclasses.replace(FOUND, fingerprint=0).fingerprint_hex == "0" * 16


def test_a_skipped_page_has_no_fingerprint():
    assert SKIPPED.fingerprint_hex is None


NAMES = "kind representative distance fingerprint similarity similar_to reason canonical".split()


@pytest.mark.parametrize(
    ("verdict", "values"),
    [
        (
            FOUND,
            {
                "kind": "near-duplicate",
                "representative": "https://a.example/1",
                "distance": 2,
                "fingerprint": "00000000000000ab",
                "similarity": 0.88,
            },
        ),
        (SKIPPED, {"kind": "skipped", "reason": "few_tokens"}),
    ],
    ids=["near-duplicate", "skipped"],
)
def test_to_dict_is_plain_data(verdict, values):
    expected = {**dict.fromkeys(NAMES), **values}
    assert verdict.to_dict() == json.loads(json.dumps(verdict.to_dict())) == expected


def test_verdicts_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FOUND.kind = "new"
