"""The tutorials do what they say: their settings and spiders run as they are printed.

The sites are answered by an HTTP proxy on loopback, so that the spiders keep their addresses.
"""

import csv
import json
import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.crawl.harness import WORKERS, child_environment, scrapy
from tests.crawl.pages import ARTICLES, page, story
from tests.crawl.site import serving

DOCS = Path(__file__).parents[2] / "docs" / "tutorials"
TUTORIALS = sorted(path.stem for path in DOCS.glob("*.md"))
MAX_SETTINGS = 10


def blocks(name):
    settings, spider = re.findall(
        r"```python\n(.*?)```", (DOCS / f"{name}.md").read_text(encoding="utf-8"), re.DOTALL
    )
    return settings, spider


class Project:
    """A Scrapy project with the settings and the spider of a tutorial, and a proxy for its sites."""

    def __init__(self, name, directory, proxy):
        self.name, self.directory, self.proxy = name, directory, proxy
        settings, spider = blocks(name)
        (directory / "scrapy.cfg").write_text("[settings]\ndefault = project.settings\n")
        package = directory / "project"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "settings.py").write_text(f'SPIDER_MODULES = ["project.spider"]\n{settings}')
        (package / "spider.py").write_text(spider.replace("https://", "http://"))

    def scrapy(self, *arguments):
        path = f"{child_environment()['PYTHONPATH']}{os.pathsep}{self.directory}"
        environment = {"PYTHONPATH": path, "http_proxy": self.proxy.url("")}
        environment |= {"no_proxy": "", "NO_PROXY": ""}
        said = scrapy(*arguments, cwd=self.directory, **environment)
        assert "Traceback" not in said, said
        return said

    def crawl(self):
        """Crawl, one page after the other in the order of the links, and return the log."""
        spider = re.search(r'name = "(\w+)"', blocks(self.name)[1])[1]
        options = (
            *("CONCURRENT_REQUESTS=1", "DOWNLOAD_DELAY=0", "TELNETCONSOLE_ENABLED=0"),
            *(f"{name}={value}" for name, value in WORKERS.items()),
            "SCHEDULER_MEMORY_QUEUE=scrapy.squeues.FifoMemoryQueue",
        )
        log = self.scrapy("crawl", spider, *(f"--set={option}" for option in options))
        assert "'finish_reason': 'finished'" in log, log
        return log

    def put(self, pages):
        """Serve pages under their URLs."""
        for url, html in pages.items():
            self.proxy.put(url, html)

    def lines(self, name):
        text = (self.directory / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def project(request, tmp_path):
    with serving() as proxy:
        yield Project(request.param, tmp_path, proxy)


def tutorial(name):
    return pytest.mark.parametrize("project", [name], indirect=True, ids=str)


def article(title, text="", links=()):
    anchors = "".join(f'<a class="story" href="{link}">{link}</a>' for link in links)
    return (
        f"<html><head><title>{title}</title></head><body><h1>{title}</h1>"
        f"<p>{text}</p>{anchors}</body></html>"
    )


@pytest.mark.parametrize("name", TUTORIALS)
def test_the_settings_are_few(name):
    settings, _ = blocks(name)
    assert len(settings.splitlines()) <= MAX_SETTINGS


def test_every_tutorial_has_a_test():
    source = Path(__file__).read_text(encoding="utf-8")
    assert set(re.findall(r'^@tutorial\("([\w-]+)"\)', source, re.MULTILINE)) == set(TUTORIALS)


@tutorial("llm-corpus")
@pytest.mark.thorough
@pytest.mark.skipif(find_spec("trafilatura") is None, reason="trafilatura is not installed")
def test_a_corpus_grows_by_new_texts_alone(project):
    names = ["mill", "bees", "paper", "tram"]
    for host, copy in (("library", None), ("mirror", 1)):
        links = [f"/{name}" for name in names]
        project.proxy.put(f"http://{host}.example/", article("Contents", links=links))
        for name in names:
            project.proxy.put(f"http://{host}.example/{name}", page(name, copy=copy))
    project.crawl()
    first = project.lines("corpus.jsonl")
    titles = {ARTICLES[name][0] for name in names}
    assert len(first) == len(names)
    assert {title for title in titles for line in first if title in line["markdown"]} == titles
    assert any(line["markdown"].startswith("# ") for line in first)
    project.proxy.put("http://library.example/ice", page("ice"))
    project.proxy.put("http://library.example/mill", page("mill", links=["/ice"]))
    project.crawl()
    [new] = project.lines("corpus.jsonl")[len(first) :]
    assert new["url"] == "http://library.example/ice"


@tutorial("news-monitoring")
@pytest.mark.thorough
def test_news_of_twenty_sites_come_once(project):
    agency = story("agency")
    for number in range(1, 21):
        site = f"http://paper-{number}.example"
        project.proxy.put(f"{site}/", article(f"Paper {number}", links=["/own", "/agency"]))
        project.proxy.put(f"{site}/own", article(f"Own story {number}", story(number)))
        headline = " ".join(story(f"headline {number}").split()[:6])  # short ones name firms
        project.proxy.put(f"{site}/agency", article(headline, agency))
    log = project.crawl()
    items = project.lines("stories.jsonl")
    own = [item for item in items if item["url"].endswith("/own")]
    assert len(own) == 20
    assert len(items) == 21, log
    project.proxy.put("http://paper-3.example/own", article("Own story 3", story("edition 2")))
    project.proxy.put("http://paper-7.example/late", article("Late story", story("late")))
    project.proxy.put(
        "http://paper-7.example/", article("Paper 7", links=["/own", "/agency", "/late"])
    )
    project.crawl()
    news = {item["url"]: item["kind"] for item in project.lines("stories.jsonl")[21:]}
    assert news == {"http://paper-3.example/own": "changed", "http://paper-7.example/late": "new"}


COLOURS = ("red", "green", "blue")


def shop(count, *, listed=("all", "sale")):
    """Return {path: product page} of a shop with four kinds of variants of each of `count` products,
    each under several paths. Their descriptions are equal.
    """
    description = story("a chair")
    products = []
    for number in range(count):
        name, sku = f"Chair {number // 2}", f"CH-{100 + number}/7"
        products += [
            (name, f"{sku}-{colour.upper()}", colour, "M") for colour in COLOURS if number % 2
        ]
        products += [(name, sku, colour, "M") for colour in COLOURS if not number % 2]
        products.append((name, sku, "red", "XL"))
        products.append((f"{name} Pro", f"{sku}-PRO", "red", "M"))
    return {
        f"/{way}/{at}": (
            f"<title>Shop</title><div class='product'><h1>{name}</h1><b class='sku'>{sku}</b>"
            f"<i class='colour'>{colour}</i> <i class='size'>{size}</i>"
            f"<p class='description'>{description}</p></div>"
        )
        for way in listed
        for at, (name, sku, colour, size) in enumerate(products)
    }


def variants(items):
    return [(item["title"], item["sku"], item["colour"], item["size"]) for item in items]


@tutorial("shop")
@pytest.mark.thorough
def test_no_variant_of_a_product_is_lost(project):
    pages = shop(72)
    assert len(pages) == 2 * 360
    project.proxy.put("http://shop.example/", article("Shop", links=pages))
    project.put({f"http://shop.example{path}": html for path, html in pages.items()})
    log = project.crawl()
    found = project.lines("products.jsonl")
    assert len(set(variants(found))) == len(found) == 360, log
    assert all("/all/" in item["url"] for item in found)
    index = ".scrapy/simhash/spider-items/shop"
    assert f"--index {index}\n" in (DOCS / "shop.md").read_text(encoding="utf-8")
    assert "/all/0" in project.scrapy("simhash", "index", "clusters", "--index", index)


@tutorial("shop")
@pytest.mark.thorough
def test_no_variant_is_lost_if_its_selectors_compare_pages(project):
    pages = shop(10)
    settings = project.directory / "project" / "settings.py"
    [selectors] = re.findall(
        r"`(SIMHASH_DISTINCT_BY = .*?)`", (DOCS / "shop.md").read_text(encoding="utf-8")
    )
    left_out = ("SIMHASH_PAGES", "SIMHASH_ITEM_FIELDS", "SIMHASH_DISTINCT_BY")
    lines = settings.read_text().splitlines()
    kept = [line for line in lines if not line.startswith(left_out)]
    settings.write_text("\n".join([*kept, selectors]))
    project.proxy.put("http://shop.example/", article("Shop", links=pages))
    project.put({f"http://shop.example{path}": html for path, html in pages.items()})
    log = project.crawl()
    found = project.lines("products.jsonl")
    assert len(set(variants(found))) == len(found) == 50, log
    assert "'simhash/dropped/near_duplicate': 50" in log


@tutorial("site-audit")
def test_an_audit_lists_copies_without_a_canonical(project):
    site = "http://www.example.com"
    named = f'<link rel="canonical" href="{site}/mill">'
    project.put(
        {
            f"{site}/": article("Home", links=["/mill", "/print", "/named", "/bees"]),
            f"{site}/mill": page("mill"),
            f"{site}/print": page("mill", copy=1),
            f"{site}/named": page("mill", copy=2, head=named),
            f"{site}/bees": page("bees"),
        }
    )
    log = project.crawl()
    rows = list(csv.DictReader((project.directory / "copies.csv").read_text().splitlines()))
    assert [(row["url"], row["copy_of"]) for row in rows] == [(f"{site}/print", f"{site}/mill")], (
        log
    )
    assert "<html" in (project.directory / "audit.html").read_text(encoding="utf-8")
