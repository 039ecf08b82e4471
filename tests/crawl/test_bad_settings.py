"""Wrong settings stop a crawl before it starts, by name, with their value and what is allowed."""

import json

import pytest
from scrapy.settings import Settings

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.crawl.settings import SimhashSettings, is_enabled
from scrapy_simhash.crawl.settings_table import CORE
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.scheme import PRESETS
from tests.crawl.harness import ADDONS, crawled, scrapy
from tests.crawl.pages import page

# Setting → bad values, and the allowed ones in the message.
BAD = {
    "SIMHASH_ENABLED": (["yes please", "", []], "True"),
    "SIMHASH_ACTION": (["delete", "DROP", 1, True, []], "'drop', 'tag'"),
    "SIMHASH_FOLLOW": (["perhaps", []], "True"),
    "SIMHASH_CLUSTER_LIMIT": ([-1, "none", 1.5, True, 1 << 33], "0"),
    "SIMHASH_IGNORE_ARGUMENTS": ([[""], [1], 7], "names"),
    "SIMHASH_PAGES": (["perhaps", "", []], "True"),
    "SIMHASH_SCOPE": (["site", "Host", "", 1, True, ["host"]], "'all', 'domain', 'host'"),
    "SIMHASH_PREFER_CANONICAL": (["rel=canonical", []], "True"),
    "SIMHASH_INCREMENTAL": (["perhaps"], "True"),
    "SIMHASH_RESET": (["maybe"], "True"),
    "SIMHASH_PRESET": (
        ["wider", 256, {"presets": "wide"}, "no.such.SCHEME", "no.toml", "{", {"bits": 7}],
        "'classic'",
    ),
    "SIMHASH_EXTRACTOR": (["regex", "no.such.function", "os.sep", 7], "readability"),
    "SIMHASH_CONTENT_SELECT": (["", ["div["], ["//["], [1], 7, "["], "CSS"),
    "SIMHASH_CONTENT_REMOVE": (["", ["div["], {"a": "b"}], "CSS"),
    "SIMHASH_DISTINCT_BY": (["", ["div["], [1], {"a": "b"}, ["no_item_fields"]], ""),
    "SIMHASH_MAX_DISTANCE": ([256, -1, "many", 3.5, True, [3]], "255"),
    "SIMHASH_MIN_RESEMBLANCE": ([1.01, -0.1, "60%", True, [0.6], float("nan")], "0 to 1"),
    "SIMHASH_SAME_TITLE": (["perhaps", []], "True"),
    "SIMHASH_DIR": (["", 3], "path"),
    "SIMHASH_INDEX": (["sqlite", "LevelDB", 5], "'leveldb', 'rocksdb', 'redis'"),
    "SIMHASH_REDIS_KEY": (["", "%(name)s", "{x}", 5], "%(spider)s"),
    "SIMHASH_REDIS_CRAWL": (["", ["monday"], True], "a name"),
    "SIMHASH_REDIS_CLUSTER": (["three"], "True"),
    "SIMHASH_REDIS_LEASE_S": ([0, -1, "1m", 1.5, 86_401], "1 to 86400"),
    "SIMHASH_EXPECTED_PAGES": ([0, -1, "millions", 1e6], "1"),
    "SIMHASH_SHARED": (["of course"], "True"),
    "SIMHASH_WORKERS": ([-1, 257, "all", 1.5, True], "0 to 256"),
    "SIMHASH_TIMEOUT_MS": ([0, -1, 3_600_001, "10s", 1e4, False], "1 to 3600000"),
    "SIMHASH_MIN_TOKENS": ([0, -5, "few", 1.5], "1"),
    "SIMHASH_MAX_BYTES": ([0, -1, "8MB", 1e6], "1"),
    "SIMHASH_ITEM_TAGS": ([{"kinds": "kind"}, {"kind": ""}, {"kind": 1}, "kind", 5], "kind"),
    "SIMHASH_ITEM_FIELDS": ([[""], [1], 7, {"a": -1}, {"a": "b"}, {"": 1}, '{"a"'], "field"),
    "SIMHASH_ITEM_ACTION": (["delete", 0], "'drop', 'tag'"),
    "SIMHASH_KEEP_TEXT": (["zlib", -1, "1GB", 1e9], "True"),
    "SIMHASH_REPORT": (
        [True, 7, "", "a\0b", "/no/such/r.html", ".", "%(spider)s.html", "100%.html", "x" * 300],
        "%(name)s",
    ),
    "SIMHASH_DEBUG": (["loud"], "True"),
}
IN_REDIS = {"SIMHASH_INDEX": "redis", "SIMHASH_REDIS_URL": "redis://127.0.0.1:1"}
CASES = [(name, value) for name, (values, _) in BAD.items() for value in values]


@pytest.fixture(scope="module")
def url(site):
    return site.put("/mill", page("mill"))


def test_every_setting_is_tried():
    # Messages do not repeat a URL, which may hold a password: see test_redis.
    assert set(BAD) == {one.name for one in CORE} - {"SIMHASH_REDIS_URL"}


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{n}={v!r}" for n, v in CASES])
def test_a_bad_value_is_named_with_what_is_allowed(tmp_path, name, value):
    redis = IN_REDIS if name.startswith("SIMHASH_REDIS_") else {}
    given = Settings({"SIMHASH_DIR": str(tmp_path), **redis, name: value})
    with pytest.raises(SettingsError) as raised:
        is_enabled(given)
        SimhashSettings(given, "spider")
    message = str(raised.value)
    assert message.startswith(f"{name} = {value!r}: ")
    assert BAD[name][1] in message.removeprefix(f"{name} = {value!r}")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        # They do not fit together.
        ({"SIMHASH_MAX_DISTANCE": 64, "SIMHASH_PRESET": "classic"}, "63"),
        ({"SIMHASH_MAX_DISTANCE": 255}, "255"),
        ({"SIMHASH_PAGES": False}, "SIMHASH_ITEM_FIELDS"),
        # There is no such setting.
        ({"SIMHASH_ACTOIN": "tag"}, "there is no such setting: did you mean SIMHASH_ACTION?"),
        ({"SIMHASH_MAX_DISTNACE": 7}, "no such setting: did you mean SIMHASH_MAX_DISTANCE?"),
        ({"SIMHASH_XYLOPHONE": 7, "HTTPCACHE_DIR": "x"}, "there is no such setting"),
    ],
)
def test_settings_that_make_no_sense_are_named(tmp_path, settings, said):
    given = Settings({"SIMHASH_DIR": str(tmp_path), **settings})
    with pytest.raises(SettingsError) as raised:
        SimhashSettings(given, "spider")
    name, value = next(iter(settings.items()))
    assert str(raised.value).startswith(f"{name} = {value!r}: ")
    assert said in str(raised.value).partition(": ")[2]
    assert "did you mean" in said or "did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "fields", "selectors"),
    [
        ("sku, size", ("sku", "size"), ()),
        (".sku, .size", (), (".sku, .size",)),
        ('["sku", ".size"]', ("sku",), (".size",)),
    ],
)
def test_commas_of_the_command_line_separate_fields_but_not_selectors(
    tmp_path, given, fields, selectors
):
    others = {"SIMHASH_DIR": str(tmp_path), "SIMHASH_ITEM_FIELDS": "text"}
    read = SimhashSettings(Settings({"SIMHASH_DISTINCT_BY": given, **others}), "spider")
    assert (read.distinct_fields, read.distinct_selectors) == (fields, selectors)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["SIMHASH_ENABLED=1", "SIMHASH_ACTION=dorp"], "must be one of 'drop', 'tag'"),
        pytest.param(
            ["SIMHASH_ENABLE=1"], "did you mean SIMHASH_ENABLED?", marks=pytest.mark.thorough
        ),
    ],
)
def test_a_bad_setting_is_a_message_and_leaves_the_feed_as_it_is(tmp_path, arguments, said):
    (tmp_path / "spider.py").write_text(
        "import scrapy\nclass S(scrapy.Spider):\n    name = 's'\n"
        "    start_urls = ['data:text/html,x']\n"
        "    def parse(self, response): yield {'a': 1}\n"
    )
    feed = tmp_path / "feed.jsonl"
    feed.write_text("of yesterday")
    command = ["runspider", "spider.py", "-O", feed]
    for argument in (f"ADDONS={json.dumps(ADDONS)}", *arguments):
        command += ["-s", argument]
    said_by_scrapy = scrapy(*command, cwd=tmp_path, code=1)
    [line] = [line for line in said_by_scrapy.splitlines() if "SIMHASH_" in line and "=" in line]
    assert "ERROR: simhash: SIMHASH_" in line
    assert said in line
    assert "Traceback" not in said_by_scrapy
    assert feed.read_text() == "of yesterday"


@pytest.mark.parametrize(
    ("preset", "settings", "confirmation"),
    [
        ("wide", {}, PRESETS["wide"].confirmation),
        ("wide", {"SIMHASH_MIN_RESEMBLANCE": "0.75"}, Confirmation(0.75, same_name=True)),
        ("wide", {"SIMHASH_SAME_TITLE": "False"}, Confirmation(0.6, same_name=False)),
        ("classic", {}, UNCONFIRMED),
        ("classic", {"SIMHASH_MIN_RESEMBLANCE": 0.5}, Confirmation(0.5, same_name=False)),
        ("classic", {"SIMHASH_SAME_TITLE": True}, Confirmation(0.0, same_name=True)),
    ],
)
def test_each_setting_of_confirmation_is_the_presets_unless_it_is_set(
    tmp_path, preset, settings, confirmation
):
    given = {"SIMHASH_DIR": str(tmp_path), "SIMHASH_PRESET": preset, **settings}
    assert SimhashSettings(Settings(given), "spider").preset.confirmation == confirmation


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({}, "scrapy_simhash.crawl.extension.SimhashExtension"),
        (
            {"EXTENSIONS": {"scrapy_simhash.crawl.extension.SimhashExtension": 0}},
            "SimhashOutputMiddleware",
        ),
    ],
)
def test_components_alone_say_what_is_missing(url, tmp_path, settings, missing):
    middleware = {"scrapy_simhash.crawl.middleware.SimhashSpiderMiddleware": 51}
    settings = {"ADDONS": {}, "SPIDER_MIDDLEWARES": middleware} | settings
    result = crawled(tmp_path, [url], settings)
    assert result.error["type"] == "SettingsError"
    assert missing in result.error["message"]
