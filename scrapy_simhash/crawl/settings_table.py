"""The table of the core's settings. Slices (`scrapy_simhash.slices`) bring rows of their own.

`python -m scrapy_simhash.crawl.settings_table` prints it for docs/reference.md.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from scrapy_simhash.choice import choose_preset
from scrapy_simhash.detector import DEFAULT_MAX_BYTES, DEFAULT_MIN_TOKENS
from scrapy_simhash.extraction import find_extractor
from scrapy_simhash.extraction.selectors import compiled_selector, compiled_values
from scrapy_simhash.index import database_kind
from scrapy_simhash.index.plan import DEFAULT_EXPECTED_PAGES
from scrapy_simhash.index.redis import DEFAULT_LEASE_S
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS, Scheme
from scrapy_simhash.setting import (
    BOOLEAN,
    BYTES_LIMIT,
    PATH,
    SHARE,
    Kind,
    Setting,
    checked,
    choice,
    mapping,
    markdown,
    whole,
)
from scrapy_simhash.slices import slices
from scrapy_simhash.verdict import TAGGED_FIELDS
from scrapy_simhash.workers.pages import DEFAULT_TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Callable


def _parse_names(value: Any) -> tuple[str, ...]:
    names = tuple(value.split(",") if isinstance(value, str) else value)
    return checked(names, all(isinstance(name, str) and name for name in names))


def _parse_fields(value: Any) -> tuple[str, ...] | dict[str, float]:
    """Return names, or a dict from names to weights."""
    if isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if not hasattr(value, "items"):
        return _parse_names(value)
    return dict(Scheme(field_weights=tuple(value.items())).field_weights)


def _selectors(compiled: Callable[[str], object]) -> Callable[[Any], tuple[str, ...]]:
    def parse(value: Any) -> tuple[str, ...]:
        if isinstance(value, str):  # from the command line; commas are part of CSS
            value = json.loads(value) if value.startswith("[") else [value]
        if not isinstance(value, (list, tuple)):
            raise TypeError
        for selector in _parse_names(value):
            compiled(selector)
        return tuple(value)

    return parse


def _parse_distinct(value: Any) -> tuple[str, ...]:
    """Return fields of items, which are single words, and selectors."""
    words = value.split(",") if isinstance(value, str) else [""]
    fields = tuple(word.strip() for word in words)
    is_list_of_fields = all(map(str.isidentifier, fields))
    return fields if is_list_of_fields else _selectors(compiled_values)(value)


def _parse_extractor(value: Any) -> str:
    find_extractor(Scheme(extractor=value).extractor)
    return str(value)


def _parse_file(value: Any) -> str:
    PATH.parse(PATH.parse(value) % {"name": "", "time": ""})
    return str(value)


def _parse_index(value: Any) -> str:
    if choice("leveldb", "rocksdb", "redis").parse(value) != "redis":
        database_kind(value)
    return str(value)


_SELECTORS = "a list of CSS selectors and XPaths (with -s, as JSON)"
SELECTORS = Kind(_SELECTORS, _selectors(compiled_selector))
TEXT = Kind(
    "a name that is not empty", lambda value: checked(value, isinstance(value, str) and value)
)

FRONT = (  # those that most users need
    Setting(
        "SIMHASH_ENABLED",
        BOOLEAN,
        "Switches the plugin on. While it is off, nothing is imported or opened.",
        default=False,
    ),
    Setting(
        "SIMHASH_ACTION",
        choice("drop", "tag"),
        'What to do with near-duplicate pages: `"drop"` or `"tag"`.',
        default="drop",
    ),
    Setting(
        "SIMHASH_FOLLOW",
        BOOLEAN,
        "Whether to follow the links on near-duplicate pages. If not set: yes in tag mode; in drop "
        "mode, [some that their pages have not given]"
        "(trust.md#what-the-callback-of-a-copy-may-give). `True` in drop mode runs the callback, "
        "follows all links and drops the items. Links on "
        "`unchanged` pages (`SIMHASH_INCREMENTAL`) are followed in this way unless it is "
        "`False`; those on pages of `start()` always.",
    ),
    Setting(
        "SIMHASH_INCREMENTAL",
        BOOLEAN,
        "Content of earlier crawls counts as seen. Items of unchanged pages are dropped; "
        "their links are followed (see `SIMHASH_FOLLOW`).",
        default=False,
    ),
    Setting(
        "SIMHASH_EXTRACTOR",
        Kind("the name of an extractor, such as 'readability'", _parse_extractor),
        'How to extract the text of a page: `"readability"` (falls back to `segments` if it '
        'finds too little; the default of every preset), `"segments"` (the same quality in '
        'about 0.6 of the CPU time), `"readability-only"`, `"text"` (all visible text), '
        '`"trafilatura"` or `"resiliparse"` (each needs the [extra](#extras) of the same '
        "name), or the import path of a function from HTML to text.",
    ),
    Setting(
        "SIMHASH_CONTENT_SELECT",
        SELECTORS,
        "Selectors of the content: CSS, or XPath that begins with `/` or `(`. If they match "
        "nothing on a page, the extractor finds its text.",
        default=[],
    ),
    Setting(
        "SIMHASH_CONTENT_REMOVE",
        SELECTORS,
        "Selectors of elements that are not content, such as comments or a list of popular "
        "articles.",
        default=[],
    ),
    Setting(
        "SIMHASH_DISTINCT_BY",
        Kind(f"{_SELECTORS}, or of fields of items", _parse_distinct),
        "What tells pages or items apart whatever their texts, such as an article number or a "
        "price: selectors on pages (`.sku`, `.price::text`, "
        '`//meta[@itemprop="sku"]/@content`), and fields of items (a single word: `sku`), '
        "which need `SIMHASH_ITEM_FIELDS`. Pages with unequal values are no copies of each "
        "other, also if only one has a value, or was crawled with this setting.",
        default=[],
    ),
    Setting(
        "SIMHASH_ITEM_FIELDS",
        Kind("a list of field names, or a dict from field names to weights", _parse_fields),
        "Judge items by the text of these fields, in an index of items. The `title`, `name` "
        "and `headline` of the item are its names, also if they are not among them. A dict, such "
        'as `{"title": 3, "body": 1}`, gives weights to the fields.',
        default=[],
    ),
    Setting(
        "SIMHASH_REPORT",
        Kind(
            "the path of a file, such as report.html or %(name)s-%(time)s.html, in an existing "
            "directory; write %% for %",
            _parse_file,
        ),
        "File to which the [report](report.md) of the crawl is written when the spider "
        'closes, such as `"report.html"`. `%(name)s` is replaced by the name of the spider, '
        "`%(time)s` by the time in UTC.",
    ),
    Setting(
        "SIMHASH_SCOPE",
        choice("all", "domain", "host"),
        'Where the representative of a page may be: `"all"` (anywhere), `"domain"` (on the '
        'same registered domain) or `"host"` (on the same host). With the latter two, a '
        "hostile site cannot [suppress the pages of another](trust.md#hostile-pages).",
        default="all",
    ),
    Setting(
        "SIMHASH_MIN_RESEMBLANCE",
        SHARE,
        "Near-duplicates have at least this estimated resemblance, from 0 to 1. If not set: "
        "0.6 for `wide`, 0 for other presets.",
    ),
)
ADVANCED = (
    Setting(
        "SIMHASH_IGNORE_ARGUMENTS",
        Kind("a list of names", _parse_names),
        "Names of `cb_kwargs`, and of keys of your own in `meta` and `headers`, and of attributes "
        "of a subclass of `Request`, on which items do not depend, such as the number of the "
        "listing page. A copy is dropped only if its callback would get [the same arguments]"
        "(trust.md#what-a-copy-must-have-in-common) otherwise.",
        default=[],
    ),
    Setting(
        "SIMHASH_KEEP_TEXT",
        BYTES_LIMIT,
        "Store the main texts, up to 1 GiB compressed, or up to a number of bytes: the text "
        "of each page (up to 200,000 characters, compressed) in the index. Then reports "
        "show pages side by side, and `scrapy simhash index rebuild` can change the scheme.",
        default=False,
    ),
    Setting(
        "SIMHASH_PAGES",
        BOOLEAN,
        "Judge pages. With `False`, all pages pass, and only items are judged, by "
        "`SIMHASH_ITEM_FIELDS`; there is only an index of items.",
        default=True,
    ),
    Setting(
        "SIMHASH_CLUSTER_LIMIT",
        whole(0, 1 << 32),
        "Upper limit for the dropped near-duplicates of one page. Further ones are tagged, "
        "and a warning is logged: a large cluster is more often a ban page or a broken "
        "extraction than real copies. `0` means no limit.",
        default=100,
    ),
    Setting(
        "SIMHASH_PREFER_CANONICAL",
        BOOLEAN,
        "If the representative names a near-duplicate as its canonical page "
        "(`rel=canonical`), the near-duplicate passes and becomes the representative.",
        default=False,
    ),
    Setting(
        "SIMHASH_RESET",
        BOOLEAN,
        "Delete the index at the start. The log says so.",
        default=False,
    ),
    Setting(
        "SIMHASH_PRESET",
        Kind(
            f"one of {', '.join(map(repr, PRESETS))}, a dict of a preset and the parameters that "
            "differ, the path of a TOML file of the same, or the import path of a Scheme or Preset",
            choose_preset,
        ),
        'How texts become fingerprints: `"wide"` (256 bits), `"classic"` (64 bits) or '
        "[another preset](presets.md). For [your own](presets.md#schemes-of-your-own), a dict "
        "with a preset and the parameters that differ, the path of a TOML file with the same, "
        "or the import path of a `Scheme`.",
        default=DEFAULT_PRESET,
    ),
    Setting(
        "SIMHASH_MAX_DISTANCE",
        whole(0, 1023),
        "k: near-duplicates differ in at most this number of bits. If not set, the preset "
        "decides: 52 for `wide`, 3 for `classic`.",
    ),
    Setting(
        "SIMHASH_SAME_TITLE",
        BOOLEAN,
        "Whether the titles or headings of near-duplicates on one site must agree. If not "
        "set: `True` for `wide`, `False` for other presets.",
    ),
    Setting(
        "SIMHASH_WORKERS",
        whole(0, 256),
        "Number of processes that extract and fingerprint pages. If not set: one, and up to "
        "one for each core while pages wait and a core is idle. `0` uses threads, without a "
        "time limit.",
    ),
    Setting(
        "SIMHASH_TIMEOUT_MS",
        whole(1, 3_600_000),
        "Time limit of a worker for one page or item. After it, the page or item is skipped, "
        "and passes.",
        default=DEFAULT_TIMEOUT_MS,
    ),
    Setting(
        "SIMHASH_DIR",
        PATH,
        "Directory of the indexes. A relative path is inside the project's data directory "
        "(`.scrapy`). Each spider has its own index there.",
        default="simhash",
    ),
    Setting(
        "SIMHASH_SHARED",
        BOOLEAN,
        "All spiders with the same `SIMHASH_DIR` share one index. They run at the same time "
        "in one process, or one after the other with `SIMHASH_INCREMENTAL`.",
        default=False,
    ),
    Setting(
        "SIMHASH_INDEX",
        Kind("one of 'leveldb', 'rocksdb', 'redis'", _parse_index),
        '`"leveldb"`, `"rocksdb"`, or `"redis"` for an index that [several processes '
        "share](several-machines.md). If not set, an existing index is used as it is; a new "
        "one is in LevelDB, or in RocksDB if plyvel is not installed.",
    ),
    Setting(
        "SIMHASH_REDIS_URL",
        TEXT,
        'URL of the server, such as `"redis://user:password@host:6379/0"`. If not set, the '
        "`REDIS_URL` of scrapy-redis counts. The client gets `REDIS_PARAMS`.",
    ),
    Setting(
        "SIMHASH_REDIS_KEY",
        Kind(
            "a name without braces; %(spider)s stands for the name of the spider",
            lambda value: checked(value, value and not {*"{}"} & {*(value % {"spider": ""})}),
        ),
        "Name of the index. All of its keys on the server begin with it. `%(spider)s` is "
        "replaced by the name of the spider, or by `shared` with `SIMHASH_SHARED`. The name "
        "of the index of items ends in `-items`.",
        default="%(spider)s:simhash",
    ),
    Setting(
        "SIMHASH_REDIS_CRAWL",
        TEXT,
        "Name that the processes of one crawl share, so that content that one of them has "
        "seen counts for all. If not set, each process is its own crawl.",
    ),
    Setting(
        "SIMHASH_REDIS_CLUSTER",
        BOOLEAN,
        "The server belongs to a Redis cluster.",
        default=False,
    ),
    Setting(
        "SIMHASH_REDIS_LEASE_S",
        whole(1, 86_400),
        "Seconds for which a page stays pending after the last sign of life of the process "
        "that handles it.",
        default=int(DEFAULT_LEASE_S),
    ),
    Setting(
        "SIMHASH_EXPECTED_PAGES",
        whole(1, 1 << 32),
        "Number of pages for which the tables of a new index are chosen. See [which "
        "tables](fingerprint-index.md).",
        default=DEFAULT_EXPECTED_PAGES,
    ),
    Setting(
        "SIMHASH_MIN_TOKENS",
        whole(1, 1_000_000),
        "Texts with fewer words are skipped, because their fingerprints are not stable.",
        default=DEFAULT_MIN_TOKENS,
    ),
    Setting(
        "SIMHASH_MAX_BYTES",
        whole(1, 1 << 40),
        "Larger pages are skipped.",
        default=DEFAULT_MAX_BYTES,
    ),
    Setting(
        "SIMHASH_ITEM_TAGS",
        mapping(*TAGGED_FIELDS, "canonical"),
        'Field of the verdict → item field, such as `{"kind": "simhash_kind"}`. If not set: '
        "in tag mode [six fields](#item-tags), in drop mode none, so that no item gets a "
        "field that your pipelines do not expect. `{}` tags no items. Item classes with "
        "declared fields must declare these.",
    ),
    Setting(
        "SIMHASH_ITEM_ACTION",
        choice("drop", "tag"),
        '`"drop"` or `"tag"` for items that are near-duplicates by `SIMHASH_ITEM_FIELDS`. If '
        "not set, as `SIMHASH_ACTION`.",
    ),
    Setting(
        "SIMHASH_DEBUG",
        BOOLEAN,
        "Log all near-duplicates and similar pages, not only the first near-duplicate.",
        default=False,
    ),
)
CORE = (*FRONT, *ADVANCED)


@cache
def all_settings() -> dict[str, Setting]:
    """Return the settings of the core and of all slices, by name."""
    of_slices = (one for slice_ in slices() for one in slice_.settings)
    return {one.name: one for one in (*CORE, *of_slices)}


if __name__ == "__main__":
    for table in (FRONT, ADVANCED):
        print(markdown(table), end="\n\n")  # noqa: T201
