"""WARC files of the demo site: the verdicts are those of the crawl of the site."""

import io
import json
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.crawl.harness import python

from .samples import http_response, read_lines, run, warc_record

PROJECT = Path(__file__).parents[2] / "example_project"
DEADLINE_S = 240
DEPTH = 6  # the calendar has no end
TOLD = ("kind", "representative", "distance", "fingerprint", "similar_to", "similarity")


@pytest.fixture(scope="module")
def server():
    sys.path.insert(0, str(PROJECT))
    from example.demosite import DemoServer

    with DemoServer() as running:
        yield running


@pytest.fixture(scope="module")
def items(server, tmp_path_factory):
    """The items of a crawl, with their tags."""
    folder = tmp_path_factory.mktemp("crawl")
    settings = {
        "SIMHASH_ACTION": "tag",
        "SIMHASH_CLUSTER_LIMIT": "0",
        "SIMHASH_DIR": str(folder / "simhash"),
        "SIMHASH_ITEM_TAGS": json.dumps({name: name for name in TOLD}),
        "CONCURRENT_REQUESTS": "1",
        "DOWNLOAD_DELAY": "0",
        "DEPTH_LIMIT": str(DEPTH),
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": "False",
    }
    command = ["-m", "scrapy", "crawl", "site", "-a", f"url={server.url}"]
    for name, value in settings.items():
        command += ["-s", f"{name}={value}"]
    python(*command, "-O", folder / "items.jsonl", cwd=PROJECT)
    return read_lines(folder / "items.jsonl")


def records_of(urls, folder):
    with (folder / "site.warc").open("wb") as file:
        for url in urls:
            with urlopen(url, timeout=DEADLINE_S) as page:
                file.write(warc_record("response", http_response(page.read()), url))
    return "site.warc"


@pytest.mark.parametrize("workers", [1, 2])
def test_the_verdicts_of_the_crawl(server, items, tmp_path, workers):
    name = records_of([item["url"] for item in items], tmp_path)
    summary = run(tmp_path, name, out="out.warc.gz", workers=workers)
    by_crawl = {
        item["url"]: tuple(item.get(name) for name in TOLD) for item in items if "kind" in item
    }
    found = {
        told["key"]: tuple(told[name] for name in TOLD)
        for told in read_lines(tmp_path / "verdicts")
        if told["kind"] != "skipped"
    }
    assert [told[:2] for told in found.values()] == [by_crawl[url][:2] for url in found]
    # A crawl finds pages by tables, which may miss a distant one; `dedupe` compares the records of
    # a batch one by one.
    differing = [url for url in by_crawl if found[url] != by_crawl[url]]
    assert len(differing) <= 2
    assert all(by_crawl[url][4] is None and found[url][0] == "new" for url in differing)
    kinds = [told[0] for told in found.values()]
    assert kinds.count("near-duplicate") > 20
    assert kinds.count("new") > 20
    # warcio can read the output, which lacks the dropped responses.
    content = io.BytesIO((tmp_path / "out.warc.gz").read_bytes())
    types = [record.rec_type for record in ArchiveIterator(content, check_digests="raise")]
    assert types.count("response") + types.count("resource") == summary.kept
    assert summary.kept == summary.records - kinds.count("near-duplicate")
    assert summary.similar == [told[4] is not None for told in found.values()].count(True)
