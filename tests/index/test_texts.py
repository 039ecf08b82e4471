"""Texts beside an index: kept, bounded, and there where the index goes."""

import json
import shutil
import zlib
from contextlib import closing

import pytest

from scrapy_simhash.errors import IndexCorrupt
from scrapy_simhash.index import open_index
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.texts import KeptText, Texts, opened_texts, texts_path
from scrapy_simhash.maintenance.merge import merge

from .backends import INSTALLED_KINDS, PLAN, SCHEME, K

ONE = KeptText("A title", "The ferry leaves at nine. 渡轮九点离开。\n\udcff\x00")


@pytest.fixture(params=["memory", *INSTALLED_KINDS])
def texts(request, tmp_path):
    path = None if request.param == "memory" else texts_path(tmp_path, request.param)
    with closing(Texts(str(tmp_path), path, request.param)) as opened:
        yield opened


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


@pytest.mark.parametrize("kind", INSTALLED_KINDS)
def test_what_was_kept_is_there_when_it_is_opened_again(tmp_path, kind):
    with opened_texts(tmp_path, kind) as texts:
        assert texts is None
    assert list(tmp_path.iterdir()) == []
    with closing(Texts(str(tmp_path), texts_path(tmp_path, kind), kind)) as texts:
        texts.keep("a", ONE)
    with opened_texts(tmp_path, kind) as texts:
        assert texts.get("a") == ONE
        texts.max_bytes = 100  # what is there counts
        assert not texts.keep("b", KeptText("", "x" * 50 + "yz"))


@pytest.mark.parametrize("value", [b"", b"rubbish", zlib.compress(b"[1]"), zlib.compress(b"\xff")])
def test_a_damaged_text_is_said(tmp_path, value):
    kind = INSTALLED_KINDS[0]
    with closing(Texts(str(tmp_path), texts_path(tmp_path, kind), kind)) as texts:
        texts._opened().write([(b"Xa", value)])
        with pytest.raises(IndexCorrupt, match=r"the text of 'a'.*loses only stored texts"):
            texts.get("a")


@pytest.mark.parametrize("kind", INSTALLED_KINDS)
def test_damaged_files_of_texts_are_not_to_be_repaired(tmp_path, kind):
    path = texts_path(tmp_path, kind)
    with closing(Texts(str(tmp_path), path, kind)) as texts:
        texts.keep("a", ONE)
    (path / "CURRENT").unlink()
    with (
        closing(Texts(str(tmp_path), path, kind)) as texts,
        pytest.raises(IndexCorrupt, match="from a backup, or delete it"),
    ):
        texts.get("a")


@pytest.fixture
def made(tmp_path):
    """Two indexes with the texts of their pages."""
    for name, keys in (("one", ["a", "b"]), ("other", ["b", "c"])):
        url = f"{INSTALLED_KINDS[0]}:{tmp_path / name}"
        with open_index(url, SCHEME, max_distance=K, plan=PLAN) as index:
            for key in keys:
                index.confirm(index.observe(key, ord(key) * 0x0101 & 0xFFFF))
                index.texts.keep(key, KeptText(name, key))
    return tmp_path


def kept(directory, kind=INSTALLED_KINDS[0]):
    with opened_texts(directory, kind) as texts:
        return {} if texts is None else {key: texts.get(key).title for key in texts.keys()}  # noqa: SIM118


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
    assert states == [{"a": "one", "b": "one", "c": "other"}] * 2
