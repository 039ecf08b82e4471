"""open_index and reset_index: what they make, share, refuse and delete."""

from __future__ import annotations

import json
import logging

import plyvel
import pytest

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.errors import (
    IndexClosed,
    IndexCorrupt,
    IndexForeign,
    IndexLocked,
    IndexMismatch,
    PlanError,
    SchemeError,
    StorageError,
)
from scrapy_simhash.index import TablePlan, reset_index

from .backends import PLAN, SCHEME, K, files


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "index"


@pytest.fixture
def url(directory):
    return f"leveldb:{directory}"


@pytest.fixture
def made(url, directory):
    """An index with one page, closed."""
    with open_index(url, SCHEME, max_distance=K, plan=PLAN) as index:
        index.confirm(index.observe("a", 7))
    return directory


def edit_manifest(directory, change):
    path = directory / "manifest.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("place", ["memory:", "leveldb:{}"])
def test_without_more_an_index_is_of_the_default_preset(place, directory):
    with open_index(place.format(directory)) as index:
        assert index.scheme == Scheme.preset("wide")
        assert index.max_distance == 36
        if place == "memory:":  # it scans, and misses nothing
            assert index.plan.guaranteed_distance >= 36
        else:
            assert index.plan == choose_plan(256, 36)
        assert index.incremental is False


def test_a_preset_s_scheme_brings_its_distance_and_the_fewest_tables():
    with open_index("memory:", Scheme.preset("classic")) as index:
        assert (index.max_distance, index.plan) == (3, TablePlan(64, 4))


def test_a_scheme_of_no_preset_needs_a_distance(url, directory):
    with pytest.raises(SchemeError, match="max_distance"):
        open_index(url, SCHEME)
    assert not directory.exists()


@pytest.mark.parametrize(
    "url", ["", "leveldb:", "leveldb", "redis://localhost", "/a/path", "Memory:", "leveldb:a\0b"]
)
@pytest.mark.parametrize("use", [open_index, reset_index])
def test_other_urls_are_refused(url, use):
    with pytest.raises(SchemeError, match="leveldb:"):
        use(url)


@pytest.mark.parametrize(
    ("distance", "plan"),
    [
        (K + 4, PLAN),
        (-1, PLAN),
        (16, PLAN),
        (8, None),
        (K, TablePlan(24, 4)),
    ],
)
def test_plans_that_cannot_serve_are_refused_before_anything_is_made(
    url, directory, distance, plan
):
    bits = 64 if plan and plan.bits == 64 else 16
    with pytest.raises(PlanError):
        open_index(url, Scheme(bits=bits), max_distance=distance, plan=plan).close()
    assert not directory.exists()


def test_memory_indexes_are_each_their_own():
    with open_index("memory:") as one, open_index("memory:") as other:
        one.observe("a", 1)
        assert other.query(1) == []


def test_an_index_is_opened_again_with_what_it_was_made_with(url, made):
    with open_index(url) as index:
        assert (index.scheme, index.plan, index.max_distance) == (SCHEME, PLAN, K)
        assert index.location == str(made)
        assert len(index) == 1


def test_another_distance_may_be_asked_of_the_same_tables(url, made):
    with open_index(url, max_distance=1) as index:
        assert index.max_distance == 1
        assert [len(index.query(fingerprint)) for fingerprint in (7, 6, 4)] == [1, 1, 0]
    with open_index(url) as index:
        assert index.max_distance == K


@pytest.mark.parametrize("distance", [K + 4, -1, 16])
def test_a_distance_that_the_stored_tables_cannot_serve_is_refused(url, made, distance):
    with pytest.raises(PlanError, match=str(distance)):
        open_index(url, max_distance=distance)
    with open_index(url) as index:  # nothing is left open, and an open one refuses it, too
        with pytest.raises(PlanError, match=str(distance)):
            open_index(url, max_distance=distance)
        assert len(index) == 1


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize(
    "asked",
    [
        {"scheme": Scheme(bits=16, weighting="tf"), "max_distance": K},
        {"scheme": Scheme(bits=64), "max_distance": K},
        {"plan": TablePlan(16, 5)},
    ],
)
def test_another_scheme_or_plan_is_a_mismatch_that_names_both(url, made, asked, opened):
    holder = open_index(url) if opened else None
    before = (made / "manifest.json").read_bytes()
    with pytest.raises(IndexMismatch) as caught:
        open_index(url, **asked)
    plans = repr(PLAN), repr(asked.get("plan"))
    both = plans if "plan" in asked else (SCHEME.id, asked["scheme"].id)
    assert all(name in str(caught.value) for name in (*both, str(made), "SIMHASH_RESET"))
    assert (made / "manifest.json").read_bytes() == before
    if holder is not None:
        holder.close()
    with open_index(url) as index:
        assert len(index) == 1


def test_another_format_version_is_a_mismatch(url, made):
    edit_manifest(made, lambda content: content.update(format_version=99))
    before = files(made)
    with pytest.raises(IndexMismatch, match="format version 99"):
        open_index(url)
    assert files(made) == before


def test_other_versions_of_libraries_are_a_warning(url, made, caplog):
    edit_manifest(made, lambda content: content["environment"].update(jieba="0.0.1"))
    with caplog.at_level(logging.WARNING), open_index(url) as index:
        assert len(index) == 1
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "jieba: 0.0.1 → " in record.getMessage()
    assert str(made) in record.getMessage()


def test_the_same_versions_or_another_python_alone_are_none(url, made, caplog):
    edit_manifest(made, lambda content: content["environment"].update(python="3.0"))
    with caplog.at_level(logging.DEBUG):
        open_index(url).close()
    assert caplog.records == []


def test_handles_of_one_directory_share_it_by_whatever_path_until_the_last_is_closed(
    tmp_path, made, monkeypatch
):
    link = tmp_path / "link"
    link.symlink_to(made)
    monkeypatch.chdir(tmp_path)
    urls = [f"leveldb:{made}", f"leveldb:{link}", "leveldb:index", f"leveldb:{tmp_path}/x/../index"]
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
    plyvel.DB(str(made / "leveldb")).close()  # nobody has it open


def test_a_new_index_is_the_owner_s_alone(url, made):
    assert made.stat().st_mode & 0o777 == 0o700
    assert (made / "leveldb").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["索引", "with space", "per%cent", "a:b"])
def test_directories_may_have_any_name_and_parents_are_made(tmp_path, name):
    url = f"leveldb:{tmp_path / 'deep' / name}"
    with open_index(url) as index:
        index.confirm(index.observe("a", 1))
    with open_index(url) as index:
        assert len(index) == 1
    assert reset_index(url)


def other_leveldb(directory):
    database = plyvel.DB(str(directory), create_if_missing=True)
    database.put(b"theirs", b"value")
    database.close()


FOREIGN = {
    "files": lambda d: (d / "diary.txt").write_text("mine"),
    "a LevelDB": other_leveldb,
    "a LevelDB in leveldb/": lambda d: other_leveldb(d / "leveldb"),
    "a browser extension": lambda d: (
        (d / "manifest.json").write_text('{"manifest_version": 3, "name": "mine"}'),
        other_leveldb(d / "leveldb"),
    ),
}


@pytest.mark.parametrize("use", [open_index, reset_index])
@pytest.mark.parametrize("what", FOREIGN)
def test_a_directory_of_somebody_else_is_foreign_and_left_as_it_is(url, directory, what, use):
    directory.mkdir()
    FOREIGN[what](directory)
    before = files(directory)
    with pytest.raises(IndexForeign, match="choose another directory") as caught:
        use(url)
    assert caught.value.location == str(directory)
    assert files(directory) == before


@pytest.mark.parametrize("use", [open_index, reset_index])
def test_a_path_below_a_file_cannot_be_used(tmp_path, use):
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "index"):
        with pytest.raises(StorageError, match="check the path") as caught:
            use(f"leveldb:{path}")
        assert type(caught.value) is StorageError
        assert caught.value.location == str(path)
    assert files(tmp_path) == {"file": b"mine"}


def test_reset_deletes_an_index_and_tells_whether_there_was_one(url, made):
    assert reset_index(url) is True
    assert files(made) == {}
    assert reset_index(url) is False
    with open_index(url, Scheme(bits=64), max_distance=3) as index:  # of any scheme
        assert len(index) == 0


def test_reset_leaves_files_that_are_not_ours(url, made):
    (made / "notes.txt").write_text("mine")
    (made / "leveldb" / "notes.txt").write_text("mine")
    reset_index(url)
    assert files(made) == {"notes.txt": b"mine", "leveldb": None, "leveldb/notes.txt": b"mine"}


@pytest.mark.parametrize("damage", ["", "{", '{"format": "scrapy-simhash index"}'])
def test_reset_deletes_an_index_whose_manifest_is_damaged(url, made, damage):
    (made / "manifest.json").write_text(damage)
    with pytest.raises(IndexCorrupt, match="SIMHASH_RESET"):
        open_index(url)
    assert reset_index(url) is True
    assert files(made) == {}


def test_reset_deletes_an_index_of_another_format_version(url, made):
    edit_manifest(made, lambda content: content.update(format_version=99))
    assert reset_index(url) is True
    assert files(made) == {}
