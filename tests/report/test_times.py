"""When pages were met, as a report shows it: by page, and over time."""

from scrapy_simhash import open_index
from scrapy_simhash.index.base import NearDuplicate
from scrapy_simhash.maintenance.rewriting import rewriting
from scrapy_simhash.report.writing import report_data
from tests.report.test_data import SCHEME, K, sizes


def test_pages_are_shown_with_the_time_when_they_were_first_met(tmp_path):
    first = {"story": 100, "copy": 200, "known": 150, "stands": 300, "with": 400}
    with open_index(tmp_path / "i", SCHEME, max_distance=K) as index:
        index.confirm(index.observe("story", 0))
        index.confirm(index.observe("known", 0xFFFF))  # which will be near-duplicates later
        index.confirm(index.observe("stands", 0xFFFF << 32))
    lines = [
        ("copy", "story", 0, 200), ("known", "story", 0, 350), ("copy", "story", 0, 500),
        ("stands", "gone", 0xFFFF << 32, 310), ("with", "gone", 0xFFFF << 32, 400),
        ("known", "story", 0, 600), ("with", "gone", 0xFFFF << 32, 700),
    ]  # fmt: skip
    with rewriting(tmp_path / "i") as (source, store):
        for entry in source.entries():
            seen_s = first[entry.key]
            seen = entry._replace(ordinal=-1, first_seen_s=seen_s, last_seen_s=seen_s)
            store.write(seen, None, ())
        for number, (key, of, fingerprint, seen_s) in enumerate(lines, 100):
            store.write_lines([NearDuplicate(key, of, 0, fingerprint, number, seen_s)])
    data = report_data(tmp_path / "i")
    assert sizes(data) == {"story": 2}
    pages = data["pages"]
    del first["with"]  # a copy of a page that has left the index
    assert dict(zip(pages["key"], pages["seen_at_s"], strict=True)) == {
        key: first[key] for key in pages["key"]
    }
    assert {"story", "copy", "known"} <= set(pages["key"])
