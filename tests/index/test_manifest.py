"""The manifest: written whole, read back, and refused where it makes no sense."""

from __future__ import annotations

import json

import pytest

from scrapy_simhash import Scheme
from scrapy_simhash.errors import IndexCorrupt, IndexForeign, IndexMismatch
from scrapy_simhash.index import TablePlan
from scrapy_simhash.index.manifest import FILE_NAME, Manifest

from .backends import files

MANIFEST = Manifest(Scheme(bits=64), TablePlan(64, 6, 3), 3, "leveldb")


@pytest.fixture
def written(tmp_path):
    """The directory of a manifest, and a way to edit it as JSON."""
    MANIFEST.write(tmp_path)
    path = tmp_path / FILE_NAME

    def edit(*keys, value=None, remove=False):
        content = json.loads(path.read_text(encoding="utf-8"))
        place = content
        for key in keys[:-1]:
            place = place[key]
        if remove:
            del place[keys[-1]]
        else:
            place[keys[-1]] = value
        path.write_text(json.dumps(content), encoding="utf-8")
        return tmp_path

    return edit


def test_a_person_can_read_it(tmp_path):
    MANIFEST.write(tmp_path)
    content = json.loads((tmp_path / FILE_NAME).read_text(encoding="utf-8"))
    assert content["format"] == "scrapy-simhash index"
    assert content["format_version"] == 7
    assert content["database"] == "leveldb"
    assert content["scheme_id"] == MANIFEST.scheme.id
    assert content["plan"] == {
        "bits": 64,
        "blocks": 6,
        "chosen": 3,
        "prefix_bits": 0,
        "probes": 0,
    }
    assert content["confirmation"] == {"min_resemblance": 0.0, "same_name": False}
    assert content["max_distance"] == 3


@pytest.mark.parametrize(
    "text",
    [
        '{"manifest_version": 3, "name": "an extension of a browser", "version": "1.0"}',
        '{"short_name": "app", "icons": []}',
        '{"format": "another", "format_version": 1}',
        '["/index.js", "/style.css"]',
    ],
)
def test_a_manifest_of_something_else_is_foreign(tmp_path, text):
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(IndexForeign, match="not that of an index"):
        Manifest.read(tmp_path)


@pytest.mark.parametrize("version", [1, 5, 99, 0, -1, "2", 1.5, None, True])
def test_a_format_version_that_is_not_known_is_a_mismatch_that_names_both(written, version):
    directory = written("format_version", value=version)
    before = files(directory)
    with pytest.raises(IndexMismatch) as caught:
        Manifest.read(directory)
    text = str(caught.value)
    assert f"format version {version!r}, this release reads 7: use the release" in text
    assert "SIMHASH_RESET" in text
    assert "rebuild" not in text
    assert files(directory) == before


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe\x00", b"null", b"\x00" * 500, b'{"format": "scrapy-sim', b"[" * 100_000],
)
def test_a_manifest_that_is_not_readable_is_corrupt(tmp_path, content):
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(IndexCorrupt, match="its manifest") as caught:
        Manifest.read(tmp_path)
    assert "SIMHASH_RESET" in str(caught.value)
    assert files(tmp_path) == {FILE_NAME: content}


@pytest.mark.parametrize(
    "key",
    "format_version database scheme plan max_distance generation confirmation".split(),
)
def test_a_manifest_without_a_part_is_corrupt(written, key):
    with pytest.raises(IndexCorrupt, match=key):
        Manifest.read(written(key, remove=True))


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("scheme",), None),
        (("scheme",), []),
        (("scheme", "bits"), 63),
        (("scheme", "bits"), "64"),
        (("scheme", "weighting"), ["tf"]),
        (("scheme", "unheard_of"), 1),
        (("plan",), 4),
        (("plan", "blocks"), 65),
        (("plan", "blocks"), "6"),
        (("plan", "blocks"), 6.0),
        (("plan", "extra"), 1),
        (("plan", "bits"), 128),
        (("plan", "probes"), -1),
        (("plan", "chosen"), 33),
        (("plan", "chosen"), None),
        (("plan", "prefix_bits"), False),
        (("database",), "memory"),
        (("database",), "lmdb"),
        (("database",), None),
        (("database",), ["leveldb"]),
        (("database",), "../elsewhere"),
        (("max_distance",), "three"),
        (("max_distance",), None),
        (("max_distance",), float("inf")),
        (("max_distance",), -1),
        (("max_distance",), 64),
        (("generation",), -1),
        (("generation",), "1"),
        (("confirmation",), {"min_resemblance": 2, "same_name": True}),
        (("confirmation",), {"min_resemblance": 0.5, "same_name": 1}),
        (("confirmation",), 7),
    ],
)
def test_a_manifest_with_impossible_values_is_corrupt(written, keys, value):
    directory = written(*keys, value=value)
    before = files(directory)
    with pytest.raises(IndexCorrupt, match="its manifest"):
        Manifest.read(directory)
    assert files(directory) == before
