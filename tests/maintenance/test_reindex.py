"""An index for another scheme: what a crawl of the same texts would leave."""

import random

import pytest

from scrapy_simhash import Detector, Scheme, open_index
from scrapy_simhash.errors import SchemeError, StorageError
from scrapy_simhash.index.base import NearDuplicate
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.texts import KeptText, Texts
from scrapy_simhash.maintenance.check import check
from scrapy_simhash.maintenance.export import entry_records, near_duplicate_records
from scrapy_simhash.maintenance.merge import merge
from scrapy_simhash.maintenance.rebuild import reindex
from scrapy_simhash.maintenance.remove import remove
from scrapy_simhash.maintenance.rewriting import rewriting
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


KEYS = "http://one.example/a", "http://two.example/b"


def wide(tmp_path, *keys):
    """An index of pages with one text, met one after the other."""
    scheme = PRESETS["wide"].scheme
    text = " ".join(f"word{number}" for number in range(60))
    with open_index(f"{KIND}:{tmp_path / 'index'}", scheme, max_distance=36) as index:
        for key in keys:
            index.confirm(index.observe(key, scheme.fingerprint(text), in_scope=lambda _: False))
            index.texts.keep(key, KeptText("", text))
    return tmp_path / "index"


def test_another_scheme_keeps_to_the_scope(tmp_path):
    index = wide(tmp_path, *KEYS)
    classic = PRESETS["classic"]
    assert reindex(index, classic.scheme, 3, scope="host").entries == 2
    again = wide(tmp_path / "again", *KEYS)
    assert reindex(again, classic.scheme, 3).entries == 1


def test_another_scheme_keeps_when_pages_were_last_met(tmp_path):
    index = wide(tmp_path, "http://one.example/a")
    with rewriting(index) as (source, store):
        [entry] = source.entries()
        late = entry._replace(ordinal=-1, last_sequence=77, first_seen_s=10, last_seen_s=5000)
        store.write(late, None, ())
        line = NearDuplicate(entry.key, "gone", 1, 0, 90, 9000)
        store.write_lines([line])
    reindex(index, PRESETS["classic"].scheme, 3)
    [record] = entry_records(index)
    assert (record["first_seen_s"], record["last_seen_s"]) == (10, 9000)
    with open_index(f"{KIND}:{index}", crawl_start=80) as opened:
        assert opened.entry("http://one.example/a").last_sequence == 90


def test_texts_go_along_however_many_there_are(tmp_path, monkeypatch):
    one = wide(tmp_path / "one", "http://other.example/")
    other = wide(tmp_path / "other", *(f"http://h{number}.example/" for number in range(5)))
    monkeypatch.setattr(Texts.__init__, "__defaults__", (100,))
    merge(one, other)
    with open_index(one) as index:
        assert len(list(index.texts.keys())) == 6


def test_the_texts_of_removed_pages_are_deleted(tmp_path):
    index = wide(tmp_path, *KEYS)
    remove(index, [KEYS[0]])
    with open_index(index) as opened:
        assert list(opened.texts.keys()) == [KEYS[1]]
