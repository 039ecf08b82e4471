"""The manifest: what a person reads in it, and what is refused."""

import json

import pytest

from scrapy_simhash import Scheme
from scrapy_simhash.errors import IndexCorrupt, IndexForeign, IndexMismatch
from scrapy_simhash.index import TablePlan
from scrapy_simhash.index.manifest import FILE_NAME, Manifest

from .backends import files

MANIFEST = Manifest(Scheme(bits=64), TablePlan(64, 6, 3), 3, "leveldb")
MISSING = object()


def changed(keys, value):
    """The text of a manifest whose value at a path of keys is another one."""
    content = json.loads(MANIFEST.to_json())
    *parents, last = keys.split()
    place = content
    for key in parents:
        place = place[key]
    place[last] = value
    if value is MISSING:
        del place[last]
    return json.dumps(content)


def test_a_person_can_read_it(tmp_path):
    MANIFEST.write(tmp_path)
    assert list(files(tmp_path)) == [FILE_NAME]
    assert Manifest.read(tmp_path) == MANIFEST
    content = json.loads((tmp_path / FILE_NAME).read_text(encoding="utf-8"))
    assert (content["format"], content["format_version"]) == ("scrapy-simhash index", 9)
    assert (content["database"], content["scheme_id"]) == ("leveldb", MANIFEST.scheme.id)
    plan = {"bits": 64, "blocks": 6, "chosen": 3, "prefix_bits": 0, "probes": 0}
    assert content["plan"] == plan
    assert content["confirmation"] == {"min_resemblance": 0.0, "same_name": False}
    assert content["max_distance"] == 3


PARTS = "format_version database scheme plan max_distance generation confirmation".split()
IMPOSSIBLE = [
    *(("scheme", value) for value in (None, [])),
    *(("scheme bits", value) for value in (63, "64")),
    *(("scheme weighting", ["tf"]), ("scheme unheard_of", 1), ("plan", 4), ("plan extra", 1)),
    *(("plan blocks", value) for value in (65, "6", 6.0)),
    *(("plan bits", 128), ("plan probes", -1), ("plan prefix_bits", False)),
    *(("plan chosen", value) for value in (33, None)),
    *(("database", value) for value in ("memory", "lmdb", None, ["leveldb"], "../elsewhere")),
    *(("max_distance", value) for value in ("three", None, float("inf"), -1, 64)),
    *(("generation", value) for value in (-1, "1")),
    *(
        ("confirmation", value)
        for value in (
            {"min_resemblance": 2, "same_name": True},
            {"min_resemblance": 0.5, "same_name": 1},
            7,
        )
    ),
]


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        *(
            (text, IndexForeign, "does not have the format 'scrapy-simhash index'")
            for text in (
                '{"manifest_version": 3, "name": "an extension of a browser", "version": "1.0"}',
                '{"short_name": "app", "icons": []}',
                '{"format": "another", "format_version": 1}',
                '["/index.js", "/style.css"]',
            )
        ),
        *(
            (
                changed("format_version", version),
                IndexMismatch,
                f"version {version!r}, this release reads 9: use the(?!.*rebuild).*SIMHASH_RESET",
            )
            for version in (1, 5, 99, 0, -1, "2", 1.5, None, True)
        ),
        *(
            (text, IndexCorrupt, "its manifest.*SIMHASH_RESET")
            for text in ("", "{", "\0\xff", "null", "\0" * 500, '{"format": "scra', "[" * 100_000)
        ),
        *((changed(part, MISSING), IndexCorrupt, part) for part in PARTS),
        *((changed(*one), IndexCorrupt, "its manifest") for one in IMPOSSIBLE),
    ],
    ids=lambda value: value[:90] if isinstance(value, str) else "",
)
def test_what_is_no_manifest_of_an_index_is_refused_and_left_as_it_is(tmp_path, text, error, said):
    (tmp_path / FILE_NAME).write_bytes(text.encode("latin-1"))
    before = files(tmp_path)
    with pytest.raises(error, match=said):
        Manifest.read(tmp_path)
    assert files(tmp_path) == before
