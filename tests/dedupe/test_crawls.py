"""WARC files of the demo site: the verdicts are those of the crawl of the site."""

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.crawl.harness import child_environment

from .samples import read_lines, run

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "example_project"
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
def crawled(server, tmp_path_factory):
    """A folder with the WARC file of a crawl, and its items with their tags."""
    folder = tmp_path_factory.mktemp("crawl")
    settings = {
        "SIMHASH_ACTION": "tag",
        "SIMHASH_CLUSTER_LIMIT": "0",
        "SIMHASH_DIR": str(folder / "simhash"),
        "SIMHASH_ITEM_TAGS": json.dumps({name: name for name in TOLD}),
        "DOWNLOADER_MIDDLEWARES": '{"tests.dedupe.warc_middleware.WarcMiddleware": 1}',
        "WARC_FILE": str(folder / "crawl.warc.gz"),
        "CONCURRENT_REQUESTS": "1",
        "DOWNLOAD_DELAY": "0",
        "DEPTH_LIMIT": str(DEPTH),
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": "False",
    }
    command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"url={server.url}"]
    for name, value in settings.items():
        command += ["-s", f"{name}={value}"]
    done = subprocess.run(
        [*command, "-O", str(folder / "items.jsonl")],
        cwd=PROJECT,
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr
    return folder


def verdicts_of(folder):
    """Return URL → verdict for the pages that were judged."""
    return {
        told["key"]: tuple(told[name] for name in TOLD)
        for told in read_lines(folder / "verdicts")
        if told["kind"] != "skipped"
    }


@pytest.mark.parametrize("workers", [1, 2])
def test_the_verdicts_of_the_crawl(crawled, tmp_path, workers):
    (tmp_path / "crawl.warc.gz").hardlink_to(crawled / "crawl.warc.gz")
    summary = run(tmp_path, "crawl.warc.gz", out="out.warc.gz", workers=workers)
    items = read_lines(crawled / "items.jsonl")
    by_crawl = {
        item["url"]: tuple(item.get(name) for name in TOLD) for item in items if "kind" in item
    }
    found = verdicts_of(tmp_path)
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
    with (tmp_path / "out.warc.gz").open("rb") as stream:
        kept = [
            record.rec_headers.get_header("WARC-Target-URI")
            for record in ArchiveIterator(stream, check_digests="raise")
            if record.rec_type == "response"
        ]
    assert len(kept) == summary.kept == summary.records - kinds.count("near-duplicate")
    assert summary.similar == [told[4] is not None for told in found.values()].count(True)


@pytest.mark.skipif(shutil.which("wget") is None, reason="there is no wget")
def test_a_warc_file_of_wget(server, crawled, tmp_path):
    """wget gets the pages of the crawl, in its order; its verdicts are the same."""
    pages = [item["url"] for item in read_lines(crawled / "items.jsonl")]
    (tmp_path / "urls").write_text("\n".join(pages))
    subprocess.run(
        ["wget", "--quiet", "--warc-file=site", "--input-file=urls", "--output-document=/dev/null"],
        cwd=tmp_path,
        timeout=DEADLINE_S,
    )
    run(tmp_path, "site.warc.gz", out="out.warc.gz")
    told = {url: verdict[:4] for url, verdict in verdicts_of(tmp_path).items()}
    (tmp_path / "crawl.warc.gz").hardlink_to(crawled / "crawl.warc.gz")
    run(tmp_path, "crawl.warc.gz", out="other.warc.gz", overwrite=True)
    assert told == {url: verdict[:4] for url, verdict in verdicts_of(tmp_path).items()}
    assert len(told) > 40
    content = (tmp_path / "out.warc.gz").read_bytes()
    types = [record.rec_type for record in ArchiveIterator(io.BytesIO(content))]
    assert {"warcinfo", "request", "response"} <= set(types)
