"""Crawls write themselves into the history of their index: `index export --changes-since` reads it."""

import time

from scrapy_simhash.index import open_index
from scrapy_simhash.index.history import read_history
from scrapy_simhash.maintenance.changes import changes
from tests.crawl.harness import Crawl, run
from tests.crawl.pages import page


def test_changes_between_two_crawls(site, tmp_path):
    index = tmp_path / "simhash" / "spiders" / "pages"
    settings = {"SIMHASH_INCREMENTAL": True}
    names = ("mill", "bees", "paper", "clock", "kite", "ice")
    urls = [site.put(f"/{name}", page(name)) for name in names]
    run(tmp_path, Crawl(urls, settings))
    time.sleep(1.1)  # the times of pages and crawls are whole seconds
    # Bees has another text now, paper cannot be found, and boats is new. Nobody knows about the
    # others: the server fails, a page has too few words, and a callback raises.
    site.put("/bees", page("tram"))
    site.put("/paper", "not here", status=404)
    site.put("/clock", "not now", status=503)
    site.put("/kite", "<p>Few words.</p>")
    site.put("/ice", page("石桥"))
    urls.append(site.put("/boats", page("茶园")))
    stopped, finished = run(
        tmp_path,
        Crawl(urls, settings | {"CLOSESPIDER_PAGECOUNT": 1}),
        Crawl(urls, settings, arguments={"failing": ["/ice"]}),
    )
    assert (stopped.finish_reason, finished.finish_reason) == ("closespider_pagecount", "finished")
    with open_index(index, create=False) as opened:
        history = read_history(opened.notes())
    assert [crawl.finished for crawl in history] == [True, False, True]
    assert [crawl.sites for crawl in history] == [{"127.0.0.1"}] * 3
    since_s = history[0].ended_s + 1
    listed = {one.key.rpartition("/")[2]: one for one in changes(index, since_s)}
    kinds = {name: one.kind for name, one in listed.items()}
    assert kinds == {"bees": "changed", "paper": "gone", "boats": "new"}
    assert listed["paper"].at_s == history[2].ended_s
    assert listed["paper"].last_seen_s <= history[0].ended_s
