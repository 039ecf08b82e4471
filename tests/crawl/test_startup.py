"""Importing the package and starting a crawl load only what they use.

The budget is 50 ms for the import and 300 ms for a crawl's start. A test of times would depend on
the machine; modules that are not loaded take no time.
"""

import json
import sys

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.scheme import DEFAULT_PRESET
from tests.crawl.harness import python

START = """
import json, os, sys
before = set(sys.modules)
import scrapy_simhash
imported = set(sys.modules) - before
import scrapy
from scrapy.crawler import AsyncCrawlerProcess

class Pages(scrapy.Spider):
    name = "pages"
    async def start(self):
        self.crawler.stats.set_value("modules", sorted(sys.modules))
        return
        yield

def start(enabled):
    settings = {"ADDONS": {"scrapy_simhash.Addon": 500}, "SIMHASH_ENABLED": enabled,
                "SIMHASH_DIR": sys.argv[1], "TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "WARNING"}
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(Pages)
    process.crawl(crawler)
    process.start()
    stats = crawler.stats.get_stats()
    print(json.dumps({"imported": sorted(imported), "started": stats["modules"],
                      "reason": stats["finish_reason"], "size": stats.get("simhash/index/size")}))

if os.fork():
    _, status = os.wait()
    assert not status
    start(True)
else:
    start(False)
"""
UNUSED = {
    # Workers segment, extract and compare texts; the other packages belong to settings that are off.
    *("jieba", "rjieba", "readability", "trafilatura", "resiliparse", "rapidfuzz", "jinja2"),
    *("redis", "pyarrow", "warcio", "tqdm", "concurrent.futures.process"),
    # Only a new index needs it, to simulate which tables find enough.
    "numpy.random",
}
UNUSED_PACKAGES = ("extras", "dedupe", "clustering", "calibration", "commands", "report")


def test_a_start_with_an_existing_index_loads_only_what_it_uses(tmp_path):
    directory = tmp_path / "spiders" / "pages"
    with open_index(directory, Scheme.preset(DEFAULT_PRESET)):
        pass
    ran = python("-W", "ignore", "-c", START, tmp_path, cwd=tmp_path)
    off, told = map(json.loads, ran.stdout.splitlines())
    assert [(one["reason"], one["size"]) for one in (off, told)] == [
        ("finished", None),
        ("finished", 0),
    ]
    assert not {"scrapy_simhash.crawl.judging", "plyvel", "numpy", *UNUSED} & {*off["started"]}
    tops = {name.partition(".")[0] for name in told["imported"]}
    assert tops - sys.stdlib_module_names == {"scrapy_simhash"}
    assert [name for name in told["imported"] if name.startswith("scrapy_simhash.")] == []
    assert "scrapy_simhash.crawl.judging" in told["started"]
    unused = (*UNUSED, *(f"scrapy_simhash.{package}" for package in UNUSED_PACKAGES))
    loaded = [
        name
        for name in told["started"]
        for module in unused
        if name == module or name.startswith(f"{module}.")
    ]
    # Of slices, what each says that it adds.
    assert all(name.count(".") <= 2 for name in loaded), loaded
    assert {name.split(".")[1] for name in loaded} <= {"extras"}
