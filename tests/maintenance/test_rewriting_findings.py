"""What an index must not lose, or get wrong, when it is looked after."""

import shutil

import pytest

from scrapy_simhash.errors import StorageError
from scrapy_simhash.index import open_index
from scrapy_simhash.index.base import NearDuplicate, PageToObserve
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.texts import KeptText, Texts
from scrapy_simhash.maintenance.export import PlacedRecord, entry_records, import_entries
from scrapy_simhash.maintenance.merge import merge
from scrapy_simhash.maintenance.rebuild import rebuild, reindex
from scrapy_simhash.maintenance.remove import expire, remove
from scrapy_simhash.maintenance.rewriting import rewriting
from scrapy_simhash.scheme import PRESETS
from tests.index.backends import INSTALLED_KINDS, make_backend

from .test_rewriting import content, made, rewrite

KIND = INSTALLED_KINDS[0]
HOSTS = [("http://one.example/a", 0x00FF), ("http://two.example/b", 0x00FE)]


def same_host(key):
    return lambda other: other.split("/")[2] == key.split("/")[2]


def test_a_merge_keeps_to_the_scope(tmp_path):
    one, _ = made(tmp_path / "one", HOSTS[:1]), made(tmp_path / "two", HOSTS[1:])
    merge(one.directory, tmp_path / "two", scope="host")
    assert content(one)[0] == HOSTS
    merge(one.directory, tmp_path / "two")
    assert content(one)[0] == HOSTS[1:]


def test_what_is_predicted_keeps_to_the_scope(tmp_path):
    index = made(tmp_path / "one", HOSTS[:1])
    key, fingerprint = HOSTS[1]
    with index.open() as opened:
        assert opened.foresee(PageToObserve(key, fingerprint)).kind == "near-duplicate"
        page = PageToObserve(key, fingerprint, in_scope=same_host(key))
        assert (opened.foresee(page).kind, len(opened)) == ("new", 1)


def wide(tmp_path, *keys):
    """An index of pages with one text, met one after the other."""
    scheme = PRESETS["wide"].scheme
    text = " ".join(f"word{number}" for number in range(60))
    with open_index(f"{KIND}:{tmp_path / 'index'}", scheme, max_distance=36) as index:
        for key in keys:
            among = same_host(key)
            index.confirm(index.observe(key, scheme.fingerprint(text), in_scope=among))
            index.texts.keep(key, KeptText("", text))
    return tmp_path / "index"


def test_another_scheme_keeps_to_the_scope(tmp_path):
    index = wide(tmp_path, *(key for key, _ in HOSTS))
    classic = PRESETS["classic"]
    assert reindex(index, classic.scheme, 3, scope="host").entries == 2
    again = wide(tmp_path / "again", *(key for key, _ in HOSTS))
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
    index = wide(tmp_path, *(key for key, _ in HOSTS))
    remove(index, [HOSTS[0][0]])
    with open_index(index) as opened:
        assert list(opened.texts.keys()) == [HOSTS[1][0]]


@pytest.mark.parametrize(
    "use", [rebuild, lambda path: expire(path, 0), lambda path: list(entry_records(path))]
)
def test_a_database_that_is_missing_is_no_empty_index(tmp_path, use):
    index = made(tmp_path / "index", HOSTS)
    rewrite(index.directory)
    shutil.rmtree(index.directory / f"{KIND}-1")
    for wrong in (use, lambda _: index.open()):
        with pytest.raises(StorageError, match="is missing: restore it"):
            wrong(index.directory)
    assert [path.name for path in index.directory.iterdir()] == ["manifest.json"]


def test_an_import_that_ends_early_leaves_no_index(tmp_path):
    manifest = Manifest.read(made(tmp_path / "made").directory)
    new = tmp_path / "new"
    records_ = [PlacedRecord("?", {"key": "a", "fingerprint": "00ff"})]

    def interrupted():
        yield from records_
        assert not new.exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_entries(new, manifest, interrupted())
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    new.mkdir()
    assert import_entries(new, manifest, records_) == 1
    assert content(make_backend(KIND, new))[0] == [("a", 0x00FF)]
    with pytest.raises(StorageError, match="not empty"):
        import_entries(new, manifest, records_)
