"""An index for another scheme: what a crawl of the same texts would leave."""

import random

import pytest

from scrapy_simhash import Detector, Scheme, open_index
from scrapy_simhash.errors import SchemeError, StorageError
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.texts import KeptText
from scrapy_simhash.maintenance.check import check
from scrapy_simhash.maintenance.export import entry_records, near_duplicate_records
from scrapy_simhash.maintenance.rebuild import reindex
from scrapy_simhash.scheme import PRESETS
from tests.index.backends import INSTALLED_KINDS

KIND = INSTALLED_KINDS[0]


def pages():
    rng = random.Random(7)
    words = [f"word{number}" for number in range(400)]
    for number in range(30):
        text = rng.choices(words, k=120)
        yield f"page {number}", " ".join(text)
        for copy in range(rng.choice([0, 0, 1, 3])):
            edited = list(text)
            for _ in range(rng.choice([1, 4, 12])):
                edited[rng.randrange(len(edited))] = rng.choice(words)
            yield f"page {number} copy {copy}", " ".join(edited)


def crawl(directory, preset, *, keep=lambda _: True, times=1):
    scheme, k = PRESETS[preset].scheme, PRESETS[preset].max_distance
    detector = Detector(scheme, keep_text=True)
    for _ in range(times):
        with open_index(f"{KIND}:{directory}", scheme, max_distance=k) as index:
            for key, text in pages():
                page = detector.fingerprint_text(text)
                verdict = detector.judge(index, key, page)
                index.confirm(verdict.observation)
                if keep(key):
                    index.texts.keep(key, KeptText("", page.text))
    return directory


def content(directory):
    entries = [(one["key"], one["fingerprint"]) for one in entry_records(directory)]
    log = [
        (one["key"], one["representative"], one["distance"], one["fingerprint"])
        for one in near_duplicate_records(directory)
    ]
    return entries, log


@pytest.mark.parametrize(("before", "after"), [("wide", "classic"), ("classic", "wide")])
def test_it_is_what_a_crawl_would_leave(tmp_path, before, after):
    one, other = crawl(tmp_path / "one", before), crawl(tmp_path / "other", after)
    assert len(content(one)[1]) != len(content(other)[1])
    preset = PRESETS[after]
    found = reindex(one, preset.scheme, preset.max_distance)
    assert content(one) == content(other)
    assert (found.entries, found.near_duplicates) == tuple(map(len, content(one)))
    assert (found.without_text, found.too_short) == (0, 0)
    assert check(one).problems == []
    assert Manifest.read(one).scheme == preset.scheme
    with open_index(f"{KIND}:{one}", incremental=True) as index:
        assert index.max_distance == preset.max_distance
        key, text = next(pages())
        assert index.query(preset.scheme.fingerprint(text))[0].key == key


def test_pages_without_a_text_are_an_error_or_left_out(tmp_path):
    one = crawl(tmp_path / "one", "wide", keep=lambda key: not key.endswith("7"))
    before = content(one)
    scheme = PRESETS["classic"].scheme
    with pytest.raises(StorageError, match=r"it has no text for [1-9][0-9]* entries and log lines"):
        reindex(one, scheme, 3)
    assert content(one) == before
    found = reindex(one, scheme, 3, drop_without_text=True)
    assert found.without_text > 0
    assert not any(key.endswith("7") for key, _ in content(one)[0])


def test_another_extraction_needs_the_pages(tmp_path):
    one = crawl(tmp_path / "one", "wide")
    with pytest.raises(SchemeError, match="crawl the pages again"):
        reindex(one, Scheme(bits=64, extractor="text"), 3)
