"""Texts of an index: kept, bounded, and there where the index goes."""

import json
import shutil
import zlib

import pytest

from scrapy_simhash.errors import IndexCorrupt
from scrapy_simhash.index import open_index
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.texts import KeptText
from scrapy_simhash.maintenance.check import check, repair
from scrapy_simhash.maintenance.merge import merge

from .backends import INSTALLED_KINDS, PLAN, SCHEME, K, checked_entries, make_backend
from .raw import change_rows, crashed

ONE = KeptText("A title", "The ferry leaves at nine. 渡轮九点离开。\n\udcff\x00")


@pytest.fixture(params=["memory", *INSTALLED_KINDS])
def backend(request, tmp_path):
    return make_backend(request.param, tmp_path / "index")


@pytest.fixture
def texts(backend):
    with backend.open() as index:
        yield index.texts


def test_a_text_is_kept_as_it_is(texts):
    assert texts.get("a") is None
    assert texts.compressed("a") is None
    assert texts.keep("a", ONE)
    assert texts.get("a") == ONE
    assert texts.keep("\udcff", KeptText("", ""))
    assert sorted(texts.keys()) == ["a", "\udcff"]
    content = zlib.decompress(texts.compressed("a")).decode("utf-8", "surrogatepass")
    assert json.loads(content) == {"title": ONE.title, "text": ONE.text}


def test_it_is_bounded(texts):
    texts.max_bytes = 300
    kept = [key for key in map(str, range(50)) if texts.keep(key, KeptText("", f"text {key}"))]
    assert 0 < len(kept) < 50
    assert sorted(texts.keys()) == sorted(kept)
    assert texts.keep(kept[0], KeptText("", f"text {kept[0]}"))  # it is there
    for key in kept[1:]:
        texts.forget([key])
    assert texts.keep("new", KeptText("", "fits again"))


def test_what_was_kept_is_there_when_it_is_opened_again(backend):
    with backend.open() as index:
        index.texts.keep("a", ONE)
    with backend.open() as index:
        assert index.texts.get("a") == ONE
        index.texts.max_bytes = 100  # what is there counts
        assert not index.texts.keep("b", KeptText("", "x" * 50 + "yz"))


def test_a_killed_process_loses_no_text(tmp_path):
    with make_backend(INSTALLED_KINDS[0], tmp_path / "index").open() as index:
        index.texts.keep("a", ONE)
        left = crashed(index, tmp_path / "left")
    checked_entries(left, PLAN)
    assert check(left).problems == []
    assert kept(left) == {"a": ONE.title}


@pytest.mark.parametrize("value", [b"", b"rubbish", zlib.compress(b"[1]"), zlib.compress(b"\xff")])
def test_a_damaged_text_is_said_and_repaired(tmp_path, value):
    backend = make_backend(INSTALLED_KINDS[0], tmp_path)
    with backend.open() as index:
        index.texts.keep("b", ONE)
    change_rows(tmp_path, {b"Xa": value})
    with backend.open() as index, pytest.raises(IndexCorrupt, match=r"the text of 'a'.*repair"):
        index.texts.get("a")
    assert [problem.partition(":")[0] for problem in check(tmp_path).problems] == ["the row b'Xa'"]
    assert repair(tmp_path).dropped == 1
    assert check(tmp_path).problems == []
    assert kept(tmp_path) == {"b": ONE.title}


@pytest.fixture
def made(tmp_path):
    for name, keys in (("one", ["a", "b"]), ("other", ["b", "c"])):
        url = f"{INSTALLED_KINDS[0]}:{tmp_path / name}"
        with open_index(url, SCHEME, max_distance=K, plan=PLAN) as index:
            for key in keys:
                index.confirm(index.observe(key, ord(key) * 0x0101 & 0xFFFF))
                index.texts.keep(key, KeptText(name, key))
    return tmp_path


def kept(directory):
    with open_index(directory) as index:
        return {key: index.texts.get(key).title for key in index.texts.keys()}  # noqa: SIM118


def test_all_who_look_at_an_index_share_its_texts(made):
    url = f"{INSTALLED_KINDS[0]}:{made / 'one'}"
    with open_index(url) as one, open_index(url) as other:
        one.texts.keep("z", ONE)
        assert other.texts.get("z") == ONE
    assert kept(made / "one") == {"a": "one", "b": "one", "z": ONE.title}


def test_a_merge_that_is_killed_leaves_no_page_without_its_text(made, monkeypatch):
    replace, one, other = Manifest.replace, made / "one", made / "other"
    states = []

    def replaced(manifest, directory):
        shutil.copytree(directory, made / "before")
        replace(manifest, directory)
        shutil.copytree(directory, made / "after")

    monkeypatch.setattr(Manifest, "replace", replaced)
    merge(one, other)
    monkeypatch.undo()
    # What a kill would leave just before, and just after, the new index is in place.
    for state in (made / "before", made / "after"):
        states.append(kept(state))
        merge(state, other)
        assert kept(state) == kept(one)
    assert states == [{"a": "one", "b": "one"}, {"a": "one", "b": "other", "c": "other"}]
