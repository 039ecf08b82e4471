"""open_index and reset_index: what they make, share, refuse and delete."""

import importlib.util
import json
import logging
import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.errors import (
    IndexClosed,
    IndexForeign,
    IndexLocked,
    IndexMismatch,
    PlanError,
    SchemeError,
    StorageError,
)
from scrapy_simhash.index import TablePlan, choose_plan, database_kind, reset_index
from scrapy_simhash.scheme import PRESETS

from .backends import INSTALLED_KINDS, PACKAGES, PLAN, SCHEME, K, files


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "index"


@pytest.fixture
def url(directory, kind):
    return f"{kind}:{directory}"


@pytest.fixture
def other_kind(kind):
    (other,) = set(PACKAGES) - {kind}
    if other not in INSTALLED_KINDS:
        pytest.skip(f"no index in {other}: the package {PACKAGES[other]} is not installed")
    return other


@pytest.fixture
def made(url, directory):
    with open_index(url, SCHEME, max_distance=K, plan=PLAN) as index:
        index.confirm(index.observe("a", 7))
    return directory


def test_without_more_an_index_is_of_the_default_preset(url):
    with open_index(url) as index:
        assert index.scheme == Scheme.preset("wide")
        assert index.max_distance == PRESETS["wide"].max_distance
        assert index.plan == choose_plan(256, PRESETS["wide"].max_distance)
        assert index.rules.incremental is False


def test_tables_are_chosen_for_as_many_pages_as_are_expected(url, directory):
    few, many = choose_plan(64, 3, 10_000), choose_plan(64, 3, 10**12)
    assert few != many
    with open_index(url, Scheme(bits=64), max_distance=3, expected_pages=10**12) as index:
        assert index.plan == many
    # The number has no meaning for an index that there is.
    with open_index(url, Scheme(bits=64), max_distance=3, expected_pages=10_000) as index:
        assert index.plan == many
    reset_index(url)
    with open_index(url, Scheme(bits=64), max_distance=3, expected_pages=10_000) as index:
        assert index.plan == few


def test_a_scheme_of_no_preset_needs_a_distance(url, directory):
    with pytest.raises(SchemeError, match="max_distance"):
        open_index(url, SCHEME)
    assert not directory.exists()


@pytest.mark.parametrize(
    "other",
    [
        *("", "redis://localhost", "Memory:", "lmdb:/a/path", "LevelDB:/a/path"),
        *("leveldb:", "leveldb:a\0b", "rocksdb:", "rocksdb:a\0b", "/a/\0path"),
    ],
)
@pytest.mark.parametrize("use", [open_index, reset_index])
def test_other_urls_are_refused(other, use):
    with pytest.raises(SchemeError, match="leveldb:/path/to/directory, rocksdb:/path/to/directory"):
        use(other)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no list of open files")
def test_a_closed_index_leaves_no_file_open(url, directory):
    """Also while something refers to it, as a crawler does that waits for the garbage collector."""
    closed = []
    for number in range(3):
        with open_index(url, Scheme.preset("wide")) as index:
            index.confirm(index.observe(str(number), number << 128))
            assert index.query(number << 128)
            closed.append(index)
    links = (os.path.realpath(link) for link in Path("/proc/self/fd").iterdir())
    assert [link for link in links if link.startswith(str(directory))] == []


@pytest.mark.parametrize(("missing", "kind"), [((), "leveldb"), (("plyvel",), "rocksdb")])
def test_a_new_index_is_in_a_database_that_is_installed(directory, monkeypatch, missing, kind):
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in missing else object()
    )
    open_index(directory).close()
    assert json.loads((directory / "manifest.json").read_text())["database"] == kind


@pytest.mark.parametrize(
    ("absent", "present"), [("leveldb", "rocksdb"), ("rocksdb", "leveldb")], ids=str
)
def test_a_missing_package_is_named_and_nothing_is_made(directory, monkeypatch, absent, present):
    monkeypatch.setitem(sys.modules, PACKAGES[absent], None)
    monkeypatch.delitem(sys.modules, f"scrapy_simhash.index.{absent}", raising=False)
    with pytest.raises(SchemeError) as caught:
        open_index(f"{absent}:{directory}", SCHEME, max_distance=K, plan=PLAN)
    assert f"needs the package {PACKAGES[absent]}, " in str(caught.value)
    assert f"or use {present}" in str(caught.value)
    assert isinstance(caught.value.__cause__, ImportError)
    assert not directory.exists()


@pytest.mark.parametrize(
    ("distance", "plan"), [(-1, PLAN), (16, PLAN), (8, None), (K, TablePlan(24, 4))]
)
def test_plans_that_cannot_serve_are_refused_before_anything_is_made(
    url, directory, distance, plan
):
    with pytest.raises(PlanError):
        open_index(url, SCHEME, max_distance=distance, plan=plan).close()
    assert not directory.exists()


@pytest.mark.parametrize(("distance", "share"), [(K + 1, "86 %"), (K + 2, "65 %"), (15, "0 %")])
def test_given_tables_may_find_less_than_95_percent_with_a_warning(url, caplog, distance, share):
    assert PLAN.expected_recall(distance) < 0.95
    with caplog.at_level(logging.WARNING):
        with open_index(url, SCHEME, max_distance=distance, plan=PLAN) as index:
            assert (index.plan, index.max_distance) == (PLAN, distance)
            index.confirm(index.observe("a", 0))
            # Found where they share a block, and not where all blocks differ.
            assert len(index.query(0b1111)) == 1
            assert index.query(0b0001_0001_0001_0001) == []
        (record,) = caplog.records
        assert record.levelno == logging.WARNING
        assert f"{PLAN} find {share} of the pairs at distance {distance}" in record.getMessage()
        caplog.clear()
        # Whoever opens it again asks for nothing new.
        with open_index(url) as index:
            assert index.max_distance == distance
        with open_index(url, max_distance=K + 1) as index:
            assert index.max_distance == K + 1
        assert caplog.records == []


@pytest.mark.parametrize("distance", [K + 1, K + 4, -1, 16])
def test_a_distance_that_the_stored_tables_cannot_serve_is_refused(url, made, distance):
    with pytest.raises(PlanError, match=str(distance)):
        open_index(url, max_distance=distance)
    with open_index(url) as index:  # nothing is left open, and an open one refuses it, too
        with pytest.raises(PlanError, match=str(distance)):
            open_index(url, max_distance=distance)
        assert len(index) == 1


@pytest.mark.parametrize("opened", [True, False])
def test_an_opening_that_fails_at_the_end_leaves_nothing_open(url, made, opened):
    holder = open_index(url) if opened else None
    with pytest.raises(TypeError) as caught:
        open_index(url, crawl_start="x")
    if holder is not None:
        assert len(holder) == 1
        holder.close()
    with open_index(url) as index:  # while the traceback refers to the store
        assert len(index) == 1
    assert caught.value is not None


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize(
    "asked",
    [
        {"scheme": Scheme(bits=16, weighting="tf"), "max_distance": K},
        {"scheme": Scheme(bits=64), "max_distance": K},
        {"plan": TablePlan(16, 5)},
        {"plan": TablePlan(16, 6, 3)},
        {},  # another kind of database
    ],
)
def test_what_an_index_was_not_made_for_is_a_mismatch_that_names_both(
    request, url, made, asked, opened
):
    kind = url.partition(":")[0]
    other = kind if asked else request.getfixturevalue("other_kind")
    both = f"it was made with the database {kind}, not {other}", str(made)
    if asked:
        pairs = {"plan": repr(PLAN), "scheme": SCHEME.id}
        [(name, value)] = [one for one in asked.items() if one[0] in pairs]
        wanted = value.id if name == "scheme" else repr(value)
        both = pairs[name], wanted, str(made), "SIMHASH_RESET"
    holder = open_index(url) if opened else None
    before = {name: data for name, data in files(made).items() if "LOG" not in name}
    with pytest.raises(IndexMismatch) as caught:
        open_index(f"{other}:{made}", **asked)
    assert all(part in str(caught.value) for part in both)
    after = files(made)
    assert after["manifest.json"] == before["manifest.json"]
    assert asked or {name: after[name] for name in before} == before
    if holder is not None:
        holder.close()
    with open_index(url) as index:
        assert len(index) == 1


def test_handles_of_one_directory_share_it_by_whatever_path_until_the_last_is_closed(
    tmp_path, made, monkeypatch, kind
):
    link = tmp_path / "link"
    link.symlink_to(made)
    monkeypatch.chdir(tmp_path)
    paths = [made, link, "index", f"{tmp_path}/x/../index"]
    urls = [f"{kind}:{path}" for path in paths]
    handles = [open_index(url) for url in urls]
    handles[0].observe("pending", 0xFFFF)
    assert all(len(handle.query(0xFFFF)) == 1 for handle in handles)
    for url in urls:
        with pytest.raises(IndexLocked, match="not deleted"):
            reset_index(url)
    while handles:
        closed = handles.pop()
        closed.close()
        closed.close()
        with pytest.raises(IndexClosed):
            len(closed)
        assert [len(handle) for handle in handles] == [1] * len(handles)
    database_kind(kind)("", made / kind).close()  # nobody has it open


@pytest.mark.parametrize("name", ["索引", "with space", "per%cent", "a:b"])
def test_directories_may_have_any_name_and_parents_are_made(tmp_path, name, kind):
    url = f"{kind}:{tmp_path / 'deep' / name}"
    with open_index(url) as index:
        index.confirm(index.observe("a", 1))
    with open_index(url) as index:
        assert len(index) == 1
    assert reset_index(url)


# What is there → its files, and whether there is a database in the directory or in the place of ours.
FOREIGN = {
    "files": ({"diary.txt": "mine"}, None),
    "a database": ({}, "."),
    "a database in the place of ours": ({}, "{kind}"),
    "a browser extension": (
        {"manifest.json": '{"manifest_version": 3, "name": "mine"}'},
        "{kind}",
    ),
}


@pytest.mark.parametrize("use", [open_index, reset_index])
@pytest.mark.parametrize("what", FOREIGN)
def test_a_directory_of_somebody_else_is_foreign_and_left_as_it_is(url, directory, kind, what, use):
    directory.mkdir()
    texts, place = FOREIGN[what]
    for name, content in texts.items():
        (directory / name).write_text(content)
    if place:
        with closing(database_kind(kind)("", directory / place.format(kind=kind))) as database:
            database.write([(b"theirs", b"value")])
    before = files(directory)
    with pytest.raises(IndexForeign, match="choose another directory") as caught:
        use(url)
    assert caught.value.location == str(directory)
    assert files(directory) == before


@pytest.mark.parametrize("use", [open_index, reset_index])
def test_a_path_below_a_file_cannot_be_used(tmp_path, use, kind):
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "index"):
        with pytest.raises(StorageError, match="check the path") as caught:
            use(f"{kind}:{path}")
        assert type(caught.value) is StorageError
        assert caught.value.location == str(path)
    assert files(tmp_path) == {"file": b"mine"}


def test_reset_deletes_an_index_and_tells_whether_there_was_one(url, made):
    assert reset_index(url) is True
    assert files(made) == {}
    assert reset_index(url) is False
    with open_index(url, Scheme(bits=64), max_distance=3) as index:  # of any scheme
        assert len(index) == 0


def test_reset_leaves_files_among_those_of_the_database(url, made, kind):
    (made / kind / "notes.txt").write_text("mine")
    before = files(made)
    with pytest.raises(IndexForeign, match="nothing was deleted") as caught:
        reset_index(url)
    assert "notes.txt" in str(caught.value)
    assert files(made) == before
    (made / kind / "notes.txt").unlink()
    assert reset_index(url) is True
    assert files(made) == {}
