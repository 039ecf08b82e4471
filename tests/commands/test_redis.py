"""Commands on an index in Redis: the same answers as on a directory, and from one to the other."""

import json
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from scrapy_simhash.errors import IndexMissing
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.maintenance.check import check
from scrapy_simhash.maintenance.export import entry_records, near_duplicate_records
from scrapy_simhash.maintenance.remove import delete
from tests.index.redis_servers import needs_redis

pytestmark = needs_redis


@pytest.fixture
def ran_json(run):
    """Run a command for its JSON; it may also say something on standard error."""

    def run_it(*arguments, code=0):
        ran = run(*arguments, "--json")
        assert ran.code == code, ran.err
        return json.loads(ran.out)

    return run_it


@pytest.fixture
def address(redis_server):
    """A name that no index has before or after a test."""
    address = RedisAddress(redis_server.url, "site:simhash")
    yield address
    with suppress(IndexMissing):
        delete(address)


@pytest.fixture
def options(where):
    return ("--index", where)


@pytest.fixture
def where(address):
    return f"{address.url}#{address.name}"


@pytest.fixture
def filled(ran_json, index, address, options):
    """The demo's index, merged into a new one in Redis."""
    merged = ran_json("index", "merge", str(index), *options)
    assert merged["entries"] == len(list(entry_records(index)))
    return address


def without(found, *names):
    return {name: value for name, value in found.items() if name not in names}


def test_the_same_answers_as_of_a_directory(ran_json, run, index, filled, options):
    here = ran_json("index", "stats", "--index", index)
    there = ran_json("index", "stats", *options)
    assert (there["index"], there["database"]) == (str(filled), "redis")
    of_storage = ("index", "database", "plan", "file_bytes")
    assert without(there, *of_storage) == without(here, *of_storage)
    assert f"file_bytes       {there['file_bytes']:,}\n" in run("index", "stats", *options).out
    for more in ((), ("--similar",)):
        clusters = ("index", "clusters", *more)
        assert ran_json(*clusters, *options) == ran_json(*clusters, "--index", index), more
    line = next(iter(near_duplicate_records(index)))
    for key in (line["key"], line["representative"]):
        stored = ("index", "query", "--stored", key)
        assert ran_json(*stored, *options) == ran_json(*stored, "--index", index)
    assert ran_json("index", "check", *options)["problems"] == []
    ran_json("index", "merge", "--index", "back", options[1])
    for place in (filled, Path("back")):
        assert list(entry_records(place)) == list(entry_records(index))
        assert list(near_duplicate_records(place)) == list(near_duplicate_records(index))


def test_merging_in_redis_is_merging_in_a_directory(ran_json, run, index, filled, options):
    """An index is merged into itself, as the index of a later crawl; pages are unchanged."""
    second = index.parent / "second"
    shutil.copytree(index, second)
    key = next(iter(entry_records(index)))["key"]
    ran_json("index", "remove", key, "--index", second)
    ran_json("index", "remove", key, *options)
    here = ran_json("index", "merge", index, "--index", second)
    there = ran_json("index", "merge", index, *options)
    assert without(there, "index", "merged") == without(here, "index", "merged")
    assert list(entry_records(filled)) == list(entry_records(second))
    assert list(near_duplicate_records(filled)) == list(near_duplicate_records(second))
    assert check(filled).problems == []


def test_imports_are_all_or_nothing(ran_json, run, index, address, where):
    lines = run("index", "export", "--index", index).out.splitlines()
    Path("pages.jsonl").write_text("\n".join(lines))
    count = ran_json("index", "import", "pages.jsonl", where)["entries"]
    assert check(address).entries == count == len(lines)
    with address.open() as opened:
        assert opened.store.next_sequence > count
    ran = run("index", "import", "pages.jsonl", where)
    assert (ran.code, "there is an index of that name" in ran.err) == (1, True)
    by_options = run("index", "check", "--redis", address.url, "--redis-key", address.name)
    assert (by_options.code, by_options.out) == (0, run("index", "check", "--index", where).out)
    delete(address)
    Path("twice.jsonl").write_text("\n".join([*lines, lines[3]]))
    ran = run("index", "import", "twice.jsonl", where)
    assert ran.code == 1
    assert "came before; nothing was imported" in ran.err
    with pytest.raises(IndexMissing):
        delete(address)


def test_remove(ran_json, run, index, filled, options):
    keys = [record["key"] for record in entry_records(filled)]
    found = ran_json("index", "remove", keys[0], "https://a.example/unknown", *options, code=1)
    assert (found["removed"], found["missing"]) == ([keys[0]], ["https://a.example/unknown"])
    found = ran_json("index", "remove", "--unseen-since", "52w", *options)
    assert (found["removed_entries"], found["entries"]) == (0, len(keys) - 1)
    found = ran_json("index", "remove", "--unseen-since", "2200-01-01", *options)
    assert (found["removed_entries"], found["entries"]) == (len(keys) - 1, 0)
    assert (found["removed_near_duplicates"] > 0, found["near_duplicates"]) == (True, 0)
    assert check(filled).problems == []
    assert run("index", "remove", "--all", *options).code == 0
    ran = run("index", "stats", *options)
    assert (ran.code, "there is no index of that name" in ran.err) == (1, True)


def test_an_index_in_a_directory_is_removed_whole(run, index):
    assert run("index", "remove", "--index", index).code == 2
    assert run("index", "remove", "--all", "https://a.example/", "--index", index).code == 2
    ran = run("index", "remove", "--all", "--index", index)
    assert (ran.code, ran.out) == (0, f"index    {index}\ndeleted  yes\n")
    assert list(index.iterdir()) == []


def test_crawls_stop_what_they_would_break(run, index, filled, options):
    with filled.open() as crawl:
        page = crawl.observe("https://a.example/pending", 5)
        for arguments in (("merge", index), ("remove", "--all")):
            ran = run("index", *arguments, *options)
            assert (ran.code, "1 pending pages" in ran.err) == (1, True), arguments
        assert run("index", "remove", "--unseen-since", "1s", *options).code == 0
        crawl.confirm(page)
        assert crawl.entry(page.key) is not None


@pytest.mark.parametrize("command", ["check --repair", "rebuild"])
def test_what_needs_a_directory_says_so(run, options, command):
    ran = run("index", *command.split(), *options)
    assert ran.code == 1
    assert f"{command} works on an index in a directory, not on one in Redis" in ran.err


def test_settings_name_the_index(run, filled, folder, redis_server, monkeypatch):
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = shop_settings\n")
    (folder / "shop_settings.py").write_text(
        f"SIMHASH_INDEX = 'redis'\nREDIS_URL = {redis_server.url!r}\nSIMHASH_RESET = True\n"
        "SIMHASH_KEEP_TEXT = True\n"
    )
    monkeypatch.syspath_prepend(folder)
    ran = run("index", "stats", "--spider", "site")
    assert (ran.code, ran.err) == (0, "")
    assert str(filled) in ran.out
    ran = run("index", "stats")
    assert (ran.code, "give --spider or --index" in ran.err) == (1, True)
    assert run("index", "stats", "-s", "SIMHASH_REDIS_KEY=site:simhash").code == 0
    (folder / "empty").mkdir()
    ran = run("index", "stats", "--index", "empty")
    assert (ran.code, "there is no index" in ran.err) == (1, True)
