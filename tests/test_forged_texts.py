"""Forgeries: texts made to have the fingerprint of an article, so that the article is dropped.

Hashes have no secret, so words can be chosen by them: each adds its hash to the sums whose signs
are the fingerprint. A few hundred words that agree with the article's fingerprint a little more
often than chance give all of its bits.
"""

import random
import string
import time

import numpy as np
import pytest

from scrapy_simhash import Detector, hamming_distance, open_index
from scrapy_simhash.confirmation import DEFAULT_MIN_RESEMBLANCE, Confirmation
from scrapy_simhash.crawl.identity import Identity
from scrapy_simhash.extraction import Extraction
from scrapy_simhash.hashes import FEATURE_HASHES
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS
from tests.crawl.pages import ARTICLES

TITLE, TEXT = ARTICLES["mill"]
ARTICLE, FORGERY = "https://gazette.example/mill", "https://forger.example/"
# Preset → words in the forgery.
WORDS = {DEFAULT_PRESET: 1500, "classic": 400, "jieba-tfidf": 50}
UNCONFIRMED = [name for name in WORDS if name != DEFAULT_PRESET]
LIMIT_S = 60


def forged(name):
    """Return a text near the fingerprint of the article, with none of its words."""
    scheme = PRESETS[name].scheme
    target = scheme.fingerprint(TEXT, TITLE)
    pool = pool_of(6)
    digests = FEATURE_HASHES[scheme.feature_hash].digests(pool, scheme.bits)
    bits = np.unpackbits(np.frombuffer(digests, dtype=np.uint8).reshape(len(pool), -1), axis=1)
    wanted = np.unpackbits(np.frombuffer(target.to_bytes(scheme.bits // 8, "big"), dtype=np.uint8))
    agrees = np.where(bits == wanted, 1.0, -1.0)
    best = np.argsort(-agrees.sum(axis=1), kind="stable")[: WORDS[name]]
    return " ".join(pool[number] for number in best)


def pool_of(length):
    chosen = random.Random(length)
    words = {"".join(chosen.choices(string.ascii_lowercase, k=length)) for _ in range(20_000)}
    return sorted(words.difference(TEXT.lower().split(), TITLE.lower().split()))


@pytest.fixture(scope="module")
def forgeries():
    started = time.process_time()
    found = {name: forged(name) for name in WORDS}
    assert time.process_time() - started < LIMIT_S
    return found


def judged(name, forgery, confirmation=None, scope="all"):
    preset = PRESETS[name]
    detector = Detector(preset.scheme)
    identity = Identity(lambda _: b"", scope)
    with open_index(
        "memory:",
        preset.scheme,
        max_distance=preset.max_distance,
        confirmation=confirmation or preset.confirmation,
    ) as index:
        pages = {
            FORGERY: Extraction(forgery, TITLE, TITLE),
            ARTICLE: Extraction(TEXT, TITLE, TITLE),
        }
        for key, page in pages.items():
            verdict = detector.judge(
                index,
                key,
                detector.fingerprint_extraction(page),
                in_scope=identity.scope_filter(key),
            )
            index.confirm(verdict.observation)
    return verdict


@pytest.mark.parametrize("name", WORDS)
def test_a_forgery_without_a_common_word_is_within_k(name, forgeries):
    scheme = PRESETS[name].scheme
    fingerprints = scheme.fingerprint(TEXT, TITLE), scheme.fingerprint(forgeries[name], TITLE)
    assert hamming_distance(*fingerprints) <= PRESETS[name].max_distance
    assert not {*TEXT.lower().split()} & {*forgeries[name].lower().split()}


def test_by_default_a_forgery_does_not_drop_the_article(forgeries):
    verdict = judged(DEFAULT_PRESET, forgeries[DEFAULT_PRESET])
    assert (verdict.kind, verdict.similar_to) == ("new", FORGERY)
    assert verdict.similarity < 0.1


@pytest.mark.parametrize("name", UNCONFIRMED)
def test_without_confirmation_a_forgery_drops_the_article(name, forgeries):
    # As docs/trust.md says. The rest of the test checks the remedies that it names.
    assert judged(name, forgeries[name]).kind == "near-duplicate"
    for scope in ("domain", "host"):
        assert judged(name, forgeries[name], scope=scope).kind == "new"
    confirmation = Confirmation(DEFAULT_MIN_RESEMBLANCE, same_name=False)
    assert judged(name, forgeries[name], confirmation).kind == "new"
