"""The table of the core's settings. Slices (`scrapy_simhash.slices`) bring rows of their own.

`python -m scrapy_simhash.crawl.settings_table` prints it for docs/reference.md.
"""

from __future__ import annotations

from functools import cache

from scrapy_simhash.detector import DEFAULT_MIN_TOKENS
from scrapy_simhash.index.cost import DEFAULT_EXPECTED_PAGES
from scrapy_simhash.index.redis import DEFAULT_LEASE_S
from scrapy_simhash.scheme import DEFAULT_PRESET
from scrapy_simhash.setting import (
    BOOLEAN,
    BYTES_LIMIT,
    SHARE,
    Kind,
    Setting,
    choice,
    markdown,
    whole,
)
from scrapy_simhash.slices import slices
from scrapy_simhash.workers.pages import DEFAULT_TIMEOUT_MS

# Functions of their own read these.
NAMES = Kind("a list of names")
SELECTORS = Kind("a list of CSS selectors and XPaths")
OTHER = Kind("as its meaning says")

CORE = (
    Setting(
        "SIMHASH_ENABLED",
        BOOLEAN,
        default=False,
        meaning="Switches the plugin on. While it is off, nothing is imported or opened.",
        group="front",
    ),
    Setting(
        "SIMHASH_ACTION",
        choice("drop", "tag"),
        default="drop",
        meaning=('What to do with near-duplicate pages: `"drop"` or `"tag"`.'),
        group="front",
    ),
    Setting(
        "SIMHASH_FOLLOW",
        BOOLEAN,
        default=None,
        meaning=(
            "Whether to follow the links on near-duplicate pages. If not set: yes in tag mode, no "
            "in drop mode, but for [pages that lead on](trust.md#pages-that-lead-on). `True` in "
            "drop mode runs the callback, follows the links and drops the items. Links on "
            "`unchanged` pages (`SIMHASH_INCREMENTAL`) are followed in this way unless it is "
            "`False`; those on pages of `start()` always."
        ),
        group="front",
    ),
    Setting(
        "SIMHASH_IGNORE_ARGUMENTS",
        NAMES,
        default=[],
        meaning=(
            "Names of `cb_kwargs`, and of keys of your own in `meta` and `headers`, on which items "
            "do not depend, such as the number of the listing page. A copy is dropped only if its "
            "callback would get [the same arguments]"
            "(trust.md#what-a-copy-must-have-in-common) otherwise."
        ),
    ),
    Setting(
        "SIMHASH_INCREMENTAL",
        BOOLEAN,
        default=False,
        meaning=(
            "Content of earlier crawls counts as seen. Items of unchanged pages are dropped; "
            "their links are followed (see `SIMHASH_FOLLOW`)."
        ),
        group="front",
    ),
    Setting(
        "SIMHASH_EXTRACTOR",
        OTHER,
        default=None,
        meaning=(
            'How to extract the text of a page: `"readability"` (falls back to `segments` if it '
            'finds too little; the default of every preset), `"segments"` (the same quality at a '
            'third of the CPU time), `"readability-only"`, `"text"` (all visible text), '
            '`"trafilatura"` or `"resiliparse"` (each needs the [extra](#extras) of the same '
            "name), or the import path of a function from HTML to text."
        ),
        group="front",
    ),
    Setting(
        "SIMHASH_CONTENT_SELECT",
        SELECTORS,
        default=[],
        meaning=(
            "Selectors of the content: CSS, or XPath that begins with `/` or `(`. If they match "
            "nothing on a page, the extractor finds its text."
        ),
        group="front",
    ),
    Setting(
        "SIMHASH_CONTENT_REMOVE",
        SELECTORS,
        default=[],
        meaning=(
            "Selectors of elements that are not content, such as comments or a list of popular "
            "articles."
        ),
        group="front",
    ),
    Setting(
        "SIMHASH_DISTINCT_BY",
        SELECTORS,
        default=[],
        meaning=(
            "What tells pages or items apart whatever their texts, such as an article number or a "
            "price: selectors on pages (`.sku`, `.price::text`, "
            '`//meta[@itemprop="sku"]/@content`), and fields of items (a single word: `sku`), '
            "which need `SIMHASH_ITEM_FIELDS`. Pages with unequal values are no copies of each "
            "other, also if only one has a value, or was crawled with this setting."
        ),
        group="front",
    ),
    Setting(
        "SIMHASH_ITEM_FIELDS",
        NAMES,
        default=[],
        meaning=(
            "Judge items by the text of these fields, in an index of items. The `title`, `name` "
            "or `headline` of the item is its name, also if it is not among them. A dict, such as "
            '`{"title": 3, "body": 1}`, gives weights to the fields.'
        ),
        group="front",
    ),
    Setting(
        "SIMHASH_KEEP_TEXT",
        BYTES_LIMIT,
        default=False,
        meaning=(
            "Store the main texts, up to 1 GiB compressed, or up to a number of bytes: the text "
            "of each page (up to 200,000 characters, compressed) beside the index. Then reports "
            "show pages side by side, and `scrapy simhash index rebuild --preset` can change the "
            "scheme."
        ),
    ),
    Setting(
        "SIMHASH_REPORT",
        OTHER,
        default=None,
        meaning=(
            "File to which the [report](report.md) of the crawl is written when the spider "
            'closes, such as `"report.html"`. `%(name)s` is replaced by the name of the spider, '
            "`%(time)s` by the time in UTC."
        ),
        group="front",
    ),
    Setting(
        "SIMHASH_PAGES",
        BOOLEAN,
        default=True,
        meaning=(
            "Judge pages. With `False`, all pages pass, and only items are judged, by "
            "`SIMHASH_ITEM_FIELDS`; there is only an index of items."
        ),
    ),
    Setting(
        "SIMHASH_CLUSTER_LIMIT",
        whole(0, 1 << 32),
        default=100,
        meaning=(
            "Upper limit for the dropped near-duplicates of one page. Further ones are tagged, "
            "and a warning is logged: a large cluster is more often a ban page or a broken "
            "extraction than real copies. `0` means no limit."
        ),
    ),
    Setting(
        "SIMHASH_SCOPE",
        choice("all", "domain", "host"),
        default="all",
        meaning=(
            'Where the representative of a page may be: `"all"` (anywhere), `"domain"` (on the '
            'same registered domain) or `"host"` (on the same host). With the latter two, a '
            "hostile site cannot [suppress the pages of another](trust.md#hostile-pages)."
        ),
        group="front",
    ),
    Setting(
        "SIMHASH_PREFER_CANONICAL",
        BOOLEAN,
        default=False,
        meaning=(
            "If the representative names a near-duplicate as its canonical page "
            "(`rel=canonical`), the near-duplicate passes and becomes the representative."
        ),
    ),
    Setting(
        "SIMHASH_RESET",
        BOOLEAN,
        default=False,
        meaning="Delete the index at the start. The log says so.",
    ),
    Setting(
        "SIMHASH_PRESET",
        OTHER,
        default=DEFAULT_PRESET,
        meaning=(
            'How texts become fingerprints: `"wide"` (256 bits), `"classic"` (64 bits) or '
            "[another preset](presets.md). For [your own](presets.md#schemes-of-your-own), a dict "
            "with a preset and the parameters that differ, the path of a TOML file with the same, "
            "or the import path of a `Scheme`."
        ),
    ),
    Setting(
        "SIMHASH_MAX_DISTANCE",
        whole(0, 1023),
        default=None,
        meaning=(
            "k: near-duplicates differ in at most this number of bits. If not set, the preset "
            "decides: 52 for `wide`, 3 for `classic`."
        ),
    ),
    Setting(
        "SIMHASH_MIN_RESEMBLANCE",
        SHARE,
        default=None,
        meaning=(
            "Near-duplicates have at least this estimated resemblance, from 0 to 1. If not set: "
            "0.6 for `wide`, 0 for other presets."
        ),
        group="front",
    ),
    Setting(
        "SIMHASH_SAME_TITLE",
        BOOLEAN,
        default=None,
        meaning=(
            "Whether the titles or headings of near-duplicates on one site must agree. If not "
            "set: `True` for `wide`, `False` for other presets."
        ),
    ),
    Setting(
        "SIMHASH_WORKERS",
        whole(0, 256),
        default=None,
        meaning=(
            "Number of processes that extract and fingerprint pages. If not set: one, and up to "
            "one for each core while pages wait and a core is idle. `0` uses threads, without a "
            "time limit."
        ),
    ),
    Setting(
        "SIMHASH_TIMEOUT_MS",
        whole(1, 3_600_000),
        default=DEFAULT_TIMEOUT_MS,
        meaning=(
            "Time limit of a worker for one page or item. After it, the page or item is skipped, "
            "and passes."
        ),
    ),
    Setting(
        "SIMHASH_DIR",
        OTHER,
        default="simhash",
        meaning=(
            "Directory of the indexes. A relative path is inside the project's data directory "
            "(`.scrapy`). Each spider has its own index there."
        ),
    ),
    Setting(
        "SIMHASH_SHARED",
        BOOLEAN,
        default=False,
        meaning=(
            "All spiders with the same `SIMHASH_DIR` share one index. They run at the same time "
            "in one process, or one after the other with `SIMHASH_INCREMENTAL`."
        ),
    ),
    Setting(
        "SIMHASH_INDEX",
        choice("leveldb", "rocksdb", "redis"),
        default=None,
        meaning=(
            '`"leveldb"`, `"rocksdb"`, or `"redis"` for an index that [several processes '
            "share](several-machines.md). If not set, an existing index is used as it is; a new "
            "one is in LevelDB, or in RocksDB if plyvel is not installed."
        ),
    ),
    Setting(
        "SIMHASH_REDIS_URL",
        OTHER,
        default=None,
        meaning=(
            'URL of the server, such as `"redis://user:password@host:6379/0"`. If not set, the '
            "settings of scrapy-redis count: `REDIS_URL`, or `REDIS_HOST`, `REDIS_PORT` and "
            "`REDIS_DB`. The client gets `REDIS_PARAMS`."
        ),
    ),
    Setting(
        "SIMHASH_REDIS_KEY",
        OTHER,
        default="%(spider)s:simhash",
        meaning=(
            "Name of the index. All of its keys on the server begin with it. `%(spider)s` is "
            "replaced by the name of the spider, or by `shared` with `SIMHASH_SHARED`. The name "
            "of the index of items ends in `-items`."
        ),
    ),
    Setting(
        "SIMHASH_REDIS_CRAWL",
        OTHER,
        default=None,
        meaning=(
            "Name that the processes of one crawl share, so that content that one of them has "
            "seen counts for all. If not set, each process is its own crawl."
        ),
    ),
    Setting(
        "SIMHASH_REDIS_CLUSTER",
        BOOLEAN,
        default=False,
        meaning="The server belongs to a Redis cluster.",
    ),
    Setting(
        "SIMHASH_REDIS_LEASE_S",
        whole(1, 86_400),
        default=int(DEFAULT_LEASE_S),
        meaning=(
            "Seconds for which a page stays pending after the last sign of life of the process "
            "that handles it."
        ),
    ),
    Setting(
        "SIMHASH_EXPECTED_PAGES",
        whole(1, 1 << 32),
        default=DEFAULT_EXPECTED_PAGES,
        meaning=(
            "Number of pages for which the tables of a new index are chosen. See [which "
            "tables](fingerprint-index.md)."
        ),
    ),
    Setting(
        "SIMHASH_MIN_TOKENS",
        whole(1, 1_000_000),
        default=DEFAULT_MIN_TOKENS,
        meaning="Texts with fewer words are skipped, because their fingerprints are not stable.",
    ),
    Setting(
        "SIMHASH_MAX_BYTES",
        whole(1, 1 << 40),
        default=8_000_000,
        meaning="Larger pages are skipped.",
    ),
    Setting(
        "SIMHASH_ITEM_TAGS",
        OTHER,
        default=None,
        meaning=(
            'Field of the verdict → item field, such as `{"kind": "simhash_kind"}`. If not set: '
            "in tag mode [six fields](#item-tags), in drop mode none, so that no item gets a "
            "field that your pipelines do not expect. `{}` tags no items. Item classes with "
            "declared fields must declare these."
        ),
    ),
    Setting(
        "SIMHASH_ITEM_ACTION",
        choice("drop", "tag"),
        default=None,
        meaning=(
            '`"drop"` or `"tag"` for items that are near-duplicates by `SIMHASH_ITEM_FIELDS`. If '
            "not set, as `SIMHASH_ACTION`."
        ),
    ),
    Setting(
        "SIMHASH_DEBUG",
        BOOLEAN,
        default=False,
        meaning="Log all near-duplicates and similar pages, not only the first near-duplicate.",
    ),
)


@cache
def all_settings() -> dict[str, Setting]:
    """Return the settings of the core and of all slices, by name."""
    of_slices = (one for slice_ in slices() for one in slice_.settings)
    return {one.name: one for one in (*CORE, *of_slices)}


if __name__ == "__main__":
    for group in ("front", "advanced"):
        print(markdown(one for one in CORE if one.group == group), end="\n\n")  # noqa: T201
