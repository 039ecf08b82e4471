"""No index that cannot be used ends a crawl without a message, or is deleted."""

import shutil

import pytest

from scrapy_simhash import open_index
from tests.crawl.harness import Crawl, crawled, run
from tests.crawl.pages import ARTICLES, put_articles
from tests.index.backends import small_tables

plyvel = pytest.importorskip("plyvel", reason="the indexes here are in LevelDB")

# LevelDB rewrites these files whenever it opens a directory.
VOLATILE = {"LOCK", "LOG", "LOG.old"}


@pytest.fixture(scope="module")
def urls(site):
    return put_articles(site, "/mill mill", "/copy mill 1")


@pytest.fixture(scope="module")
def made(urls, module_path):
    assert crawled(module_path, urls).stat("index/size") == 1
    return module_path / "simhash"


@pytest.fixture
def index(made, tmp_path):
    return shutil.copytree(made, tmp_path / "simhash") / "spiders" / "pages"


def contents(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in VOLATILE
    }


def assert_without_plugin(result, directory, remedy):
    assert (result.error, result.finish_reason) == (None, "finished")
    [line] = result.lines("ERROR", str(directory), "runs without the plugin")
    assert remedy in line
    assert [event["verdict"] for event in result.events] == [None, None]
    assert len(result.items) == 2
    assert result.simhash_stats() == {"errors/index": 1}
    assert not result.lines("Traceback")


def test_a_second_process_is_refused_a_locked_index(urls, index, tmp_path):
    settings = {"SIMHASH_ITEM_FIELDS": ["text"], "SIMHASH_ACTION": "tag"}
    start = {"at_once": True, "start_items": [{"text": ARTICLES["ice"][1]}]}
    crawls = [Crawl(urls), Crawl(urls, {"SIMHASH_RESET": True})]
    with open_index(f"leveldb:{index}"):
        before = contents(index)
        *plain, items = run(tmp_path, *crawls, Crawl(urls, settings, arguments=start))
        for result in plain:
            assert_without_plugin(result, index, "SIMHASH_DIR")
            assert result.lines("WARNING", "scrapy simhash dedupe")
        assert len(items.items) == 3
        assert not [name for item in items.items for name in item if name.startswith("simhash")]
        assert contents(index) == before
    assert crawled(tmp_path, urls).event("/mill")["verdict"]["kind"] == "unchanged"


def test_a_corrupt_index_is_set_aside_as_it_is(urls, index, tmp_path):
    (index / "manifest.json").write_text('{"format": "scr')
    before = contents(index)
    first, second = run(tmp_path, Crawl(urls, {"SIMHASH_INCREMENTAL": True}), Crawl(urls))
    for result, kind in ((first, "new"), (second, "unchanged")):
        assert (result.finish_reason, result.seen()) == ("finished", ["/mill"])
        assert result.event("/mill")["verdict"]["kind"] == kind
    [warning] = first.lines("WARNING", "count as new")
    [aside] = (index.parent / ".set-aside" / "pages").iterdir()
    assert str(aside) in warning
    # To find out whether a sound database is open elsewhere, it is opened, which rewrites its files.
    assert contents(aside)["manifest.json"] == before["manifest.json"]
    assert first.stat("index_does_not_fit") == 1
    assert not second.lines("WARNING")


@pytest.mark.parametrize(
    ("folder", "settings"),
    [
        ("spiders", {}),
        ("spiders", {"SIMHASH_RESET": True}),
        ("spider-items", {"SIMHASH_ITEM_FIELDS": ["text"]}),
    ],
)
def test_a_directory_with_other_files_is_refused(urls, tmp_path, folder, settings):
    foreign = tmp_path / "simhash" / folder / "pages"
    foreign.mkdir(parents=True)
    (foreign / "thesis.txt").write_text("three years of work")
    result, after = run(tmp_path, Crawl(urls, settings), Crawl(urls, {"SIMHASH_RESET": True}))
    assert_without_plugin(result, foreign, "another directory")
    assert contents(foreign) == {"thesis.txt": b"three years of work"}
    # An index that the first crawl had opened beside it could not be deleted if it still had it.
    assert after.stat("index/size") == (folder == "spider-items")


def test_an_index_that_fails_during_the_crawl_lets_pages_pass(urls, index, tmp_path):
    with small_tables():  # With tables in files, opening does not read the entry.
        open_index(index).close()
    database = plyvel.DB(str(index / "leveldb"))
    [entry] = [row for row, _ in database.iterator(prefix=b"E")]
    database.put(entry, b"garbage")
    database.close()
    result = crawled(tmp_path, urls)
    assert (result.finish_reason, result.seen()) == ("finished", ["/mill", "/copy"])
    assert result.stat("errors/index") == 2
    assert result.event("/mill")["verdict"] == {"kind": "skipped", "reason": "index_error"}
    assert len(result.lines("WARNING", "index failed for")) == 1
    assert "spider_exceptions/count" not in result.stats
