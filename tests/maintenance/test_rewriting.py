"""expire, rebuild, merge and remove: what a linear scan would say."""

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scrapy_simhash import Scheme
from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.errors import IndexLocked, IndexMismatch, StorageError
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index import TablePlan, open_index, records
from scrapy_simhash.index.base import Entry, PageToObserve
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.rules import CrawlRules, Rules
from scrapy_simhash.index.tables.crowds import COPIES, OTHERS
from scrapy_simhash.maintenance.check import check
from scrapy_simhash.maintenance.export import entry_records
from scrapy_simhash.maintenance.importing import PlacedRecord, import_entries
from scrapy_simhash.maintenance.merge import merge
from scrapy_simhash.maintenance.rebuild import rebuild
from scrapy_simhash.maintenance.remove import expire, remove
from scrapy_simhash.maintenance.rewriting import rewriting
from tests.index.backends import (
    BITS,
    INSTALLED_KINDS,
    PLAN,
    SCHEME,
    K,
    MemoryBackend,
    checked_entries,
    files,
    make_backend,
    rows,
    small_tables,
)
from tests.index.raw import change_rows
from tests.samples import name_bytes

# Near each other, so that much is a near-duplicate of something.
FINGERPRINTS = st.integers(0, 15).map(lambda low: low | low << 8) | st.integers(0, (1 << BITS) - 1)
KEYS = [f"page {number}" for number in range(12)]
# A crawl that meets each page once.
CRAWLS = st.permutations(KEYS).flatmap(
    lambda keys: st.lists(FINGERPRINTS, max_size=len(keys)).map(
        lambda fingerprints: list(zip(keys, fingerprints, strict=False))
    )
)
EXAMPLES = settings(max_examples=25, deadline=None)


def crawl(backend, pages):
    with backend.open() as index:
        for key, fingerprint in pages:
            index.confirm(index.observe(key, fingerprint))


def made(directory, *crawls, kind=INSTALLED_KINDS[0]):
    backend = make_backend(kind, directory)
    with small_tables():
        for pages in crawls:
            crawl(backend, pages)
        if not crawls:
            backend.open().close()
    return backend


def content(backend):
    """Entries, oldest first, and the log, without numbers and times."""
    with backend.open(incremental=True) as index:
        store = index.store
        entries = list(store.entries())
        entries = sorted(entries, key=lambda entry: entry.number)
        log = [
            (line.key, line.representative, line.distance, line.fingerprint)
            for line in index.near_duplicates()
        ]
    return [(entry.key, entry.fingerprint) for entry in entries], log


def rewrite(directory):
    with rewriting(directory) as (source, store):
        for entry in source.entries():
            store.write(entry._replace(ordinal=-1), None, ())
        for line in source.near_duplicates():
            store.write_lines([line])


def answers(backend):
    """What some queries find, spread over all that there may be."""
    with backend.open(incremental=True) as index:
        return [
            [(match.key, match.distance) for match in index.query(fingerprint)]
            for fingerprint in range(0, 1 << BITS, 97)
        ]


@pytest.mark.thorough
@pytest.mark.parametrize("generations", [1, 2])
@EXAMPLES
@given(first=CRAWLS, second=CRAWLS)
def test_merged_it_is_as_if_the_second_crawl_had_come_after_the_first(generations, first, second):
    oracle = MemoryBackend()
    crawl(oracle, first)
    crawl(oracle, second)
    with TemporaryDirectory() as temporary:
        one, other = Path(temporary, "one"), Path(temporary, "other")
        index = made(one, first)
        made(other, second)
        for _ in range(generations - 1):
            rewrite(one)
            rewrite(other)
        before = rows(other)
        kept = merge(one, other)
        assert content(index) == content(oracle)
        assert answers(index) == answers(oracle)
        assert kept.entries == len(content(index)[0])
        assert kept.near_duplicates == len(content(index)[1])
        assert rows(other) == before
        checked_entries(one, PLAN)
        # A third crawl finds what it would have found.
        crawl(oracle, first)
        crawl(index, first)
        assert content(index) == content(oracle)


@pytest.mark.thorough
@EXAMPLES
@given(crawls=st.lists(CRAWLS, max_size=3), blocks=st.integers(K + 1, 6))
def test_rebuilt_with_other_tables_it_answers_the_same(crawls, blocks):
    with TemporaryDirectory() as temporary:
        directory = Path(temporary, "index")
        index = made(directory, *crawls)
        before = content(index), answers(index)
        plan = TablePlan(BITS, blocks)
        rebuild(directory, plan)
        index.plan = plan
        assert (content(index), answers(index)) == before
        checked_entries(directory, plan)


@EXAMPLES
@given(
    pages=CRAWLS,
    seen_s=st.lists(st.integers(100, 120), min_size=12, max_size=12),
    before_s=st.integers(99, 121),
)
def test_what_was_not_seen_for_a_time_expires(pages, seen_s, before_s):
    with TemporaryDirectory() as temporary:
        directory = Path(temporary, "index")
        index = made(directory, pages)
        with rewriting(directory) as (source, store):
            seen_of = dict(zip(KEYS, seen_s, strict=True))
            for entry in source.entries():
                seen = entry._replace(ordinal=-1, first_seen_s=90, last_seen_s=seen_of[entry.key])
                store.write(seen, None, ())
            for line in source.near_duplicates():
                store.write_lines([replace(line, seen_at_s=seen_of[line.key])])
        entries, lines = content(index)
        kept = expire(directory, before_s)
        left = [pair for pair in entries if seen_of[pair[0]] >= before_s]
        left_lines = [line for line in lines if seen_of[line[0]] >= before_s]
        assert content(index) == (left, left_lines)
        assert (kept.entries, kept.removed_entries) == (len(left), len(entries) - len(left))
        assert kept.near_duplicates == len(left_lines)
        assert kept.removed_near_duplicates == len(lines) - len(left_lines)
        checked_entries(directory, PLAN)


@EXAMPLES
@given(pages=CRAWLS, keys=st.sets(st.sampled_from([*KEYS, "another"])))
def test_what_is_removed_is_never_found_again(pages, keys):
    with TemporaryDirectory() as temporary:
        directory = Path(temporary, "index")
        index = made(directory, pages)
        entries, log = content(index)
        removed = remove(directory, sorted(keys))
        assert sorted(removed) == sorted(key for key, _ in entries if key in keys)
        left = [pair for pair in entries if pair[0] not in keys]
        assert content(index) == (left, log)
        checked_entries(directory, PLAN)
        with index.open(incremental=True) as opened:
            for fingerprint in range(0, 1 << BITS, 997):
                found = {match.key for match in opened.query(fingerprint)}
                assert found == {
                    key for key, other in left if hamming_distance(fingerprint, other) <= K
                }


PAGES = [("a", 0x0000), ("b", 0x00FF), ("copy", 0x0001), ("c", 0xFF00)]


@pytest.fixture
def index(kind, tmp_path):
    return made(tmp_path / "index", PAGES, kind=kind)


def test_numbers_are_never_given_twice(index):
    with index.open() as opened:
        before = opened.observe("later", 0x0F0F).sequence
    # Nothing is left that would say so.
    expire(index.directory, 1 << 32)
    assert content(index) == ([], [])
    with index.open() as opened:
        assert opened.observe("later", 0x0F0F).sequence >= before


def test_merged_times_are_of_the_first_and_the_last_sight(tmp_path):
    """Of pages that both have: unchanged, changed, and seen earlier by the later crawl."""
    names = "key", "fingerprint", "first_seen_s", "last_seen_s"
    for name, entries in {
        "one": [("same", "0000", 10, 20), ("changed", "00ff", 11, 21), ("odd", "ff00", 50, 60)],
        "other": [("same", "0001", 30, 40), ("changed", "0f0f", 31, 41), ("odd", "ff00", 5, 6)],
    }.items():
        made(tmp_path / name)
        with rewriting(tmp_path / name) as (_, store):
            for number, (key, digits, *times) in enumerate(entries, 1):
                entry = Entry(number, key, int(digits, 16), number, *times)
                store.write(entry, None, ())
    merge(tmp_path / "one", tmp_path / "other")
    # By age.
    assert [tuple(map(record.get, names)) for record in entry_records(tmp_path / "one")] == [
        *(("same", "0001", 10, 40), ("odd", "ff00", 5, 60), ("changed", "0f0f", 11, 41))
    ]


def test_indexes_of_different_schemes_are_not_merged(index, tmp_path):
    other, scheme = tmp_path / "other", Scheme(bits=BITS, tie="one")
    open_index(f"{index.name}:{other}", scheme, max_distance=K, plan=PLAN).close()
    before = files(index.directory)
    with pytest.raises(IndexMismatch, match="cannot be compared") as caught:
        merge(index.directory, other)
    assert SCHEME.id in str(caught.value)
    assert files(index.directory) == before


def test_an_index_is_not_merged_with_itself(index, tmp_path):
    (tmp_path / "link").symlink_to(index.directory)
    for other in (index.directory, tmp_path / "link"):
        with pytest.raises(StorageError, match="itself"):
            merge(index.directory, other)


OPERATIONS = {
    "expire": lambda directory: expire(directory, 0),
    "rebuild": rebuild,
    "merge": lambda directory: merge(directory, directory.with_name("other")),
    "merged": lambda directory: merge(directory.with_name("other"), directory),
    "remove": lambda directory: remove(directory, ["a"]),
    "check": check,
    "export": lambda directory: list(entry_records(directory)),
}


@pytest.fixture(params=OPERATIONS)
def operation(request, kind, tmp_path):
    made(tmp_path / "other", PAGES, kind=kind)
    return OPERATIONS[request.param]


def test_one_that_a_crawl_of_this_process_has_open_is_locked(operation, index):
    with index.open(), pytest.raises(IndexLocked):
        operation(index.directory)


@pytest.mark.parametrize(
    "row",
    [(records.entry_row_key(7), b"short"), (records.log_row_key(3), b"short"), (b"S", b"short")],
    ids=["entry", "line", "state"],
)
def test_a_damaged_index_is_said_and_stays(operation, index, row):
    change_rows(index.directory, dict([row]))
    before = rows(index.directory)
    try:
        operation(index.directory)
    except StorageError as error:
        assert f"scrapy simhash index check --repair --index {index.directory}" in str(error)  # noqa: PT017
        assert rows(index.directory) == before
        assert Manifest.read(index.directory).generation == 0
    else:  # it had nothing to do with that row
        assert rows(index.directory).get(row[0]) in {row[1], None}


def test_a_store_that_was_made_anew_meanwhile_is_opened_anew(index, monkeypatch):
    """Between the manifest and the database of an opening, an operator has been there."""
    from scrapy_simhash.index import Manifest as Read

    original, calls = Read.read.__func__, []

    def read(cls, directory):
        found = original(cls, directory)
        calls.append(directory)
        if len(calls) == 1:
            monkeypatch.setattr(Read, "read", classmethod(original))
            rewrite(directory)
            monkeypatch.setattr(Read, "read", classmethod(read))
        return found

    monkeypatch.setattr(Read, "read", classmethod(read))
    with open_index(index.url) as opened:
        assert len(opened) == 3
    monkeypatch.setattr(Read, "read", classmethod(original))
    rewrite(index.directory)  # what the first opening left is gone
    names = sorted(path.name for path in index.directory.iterdir())
    assert names == sorted([f"{index.name}-2", "manifest.json"])


@EXAMPLES
@given(crawls=st.lists(CRAWLS, max_size=3))
def test_what_was_exported_is_imported(crawls):
    with TemporaryDirectory() as temporary:
        index = made(Path(temporary, "index"), *crawls)
        new = make_backend(index.name, Path(temporary, "new"))
        exported = list(entry_records(index.directory))
        assume(exported)  # no record is refused
        placed = (PlacedRecord("?", one) for one in exported)
        count = import_entries(new.directory, Manifest.read(index.directory), placed)
        assert count == len(exported)
        assert content(new)[0] == content(index)[0]
        assert answers(new) == answers(index)
        again = list(entry_records(new.directory))
        assert again == [{**one, "near_duplicates": 0} for one in exported]


def test_pages_of_one_template_are_merged_without_comparing_all_of_them(tmp_path, monkeypatch):
    compared = []

    def neighbours(rules, page, found):
        compared.append(len(found))
        return Rules.neighbours(rules, page, found)

    monkeypatch.setattr(CrawlRules, "neighbours", neighbours)
    plan = TablePlan(BITS, 1)
    backends = [make_backend(INSTALLED_KINDS[0], tmp_path / name, plan) for name in "ab"]
    with small_tables():
        for name, backend in zip("ab", backends, strict=True):
            with backend.open(confirmation=Confirmation()) as index:
                for number in range(COPIES + OTHERS + 40):
                    label = f"Page {name} {number}"
                    page = Evidence(site=1, title=name_bytes(label), heading=name_bytes(label))
                    index.confirm(index.observe(label, 0, page))
        merge(*(backend.directory for backend in backends))
    assert max(compared) <= COPIES + OTHERS


HOSTS = [("http://one.example/a", 0x00FF), ("http://two.example/b", 0x00FE)]


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
        page = PageToObserve(key, fingerprint, in_scope=lambda other: other == key)
        assert (opened.foresee(page).kind, len(opened)) == ("new", 1)


@pytest.mark.parametrize(
    "use", [rebuild, lambda path: expire(path, 0), lambda path: list(entry_records(path))]
)
def test_a_database_that_is_missing_is_no_empty_index(tmp_path, use):
    index = made(tmp_path / "index", HOSTS)
    rewrite(index.directory)
    shutil.rmtree(index.directory / f"{index.name}-1")
    for wrong in (use, lambda _: index.open()):
        with pytest.raises(StorageError, match="is missing: restore it"):
            wrong(index.directory)
    assert [path.name for path in index.directory.iterdir()] == ["manifest.json"]
