"""clusters, as the crawl found them."""

import json
import re

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.maintenance.export import entry_records, near_duplicate_records
from scrapy_simhash.scheme import Scheme

# How many pages a crawl finds similar depends on the order of its answers.
SIMILAR = re.compile(r"([\d,]+ only similar to others: --similar lists them\n)?")


@pytest.fixture
def clusters(run):

    def run_it(*arguments):
        ran = run("index", "clusters", "--json", "--top", "0", *arguments)
        assert ran.code == 0
        assert SIMILAR.fullmatch(ran.err)
        found = json.loads(ran.out)
        assert found["clusters"] == len(found["shown"])
        return {
            one["representative"]: {
                member["key"]: member["distance"] for member in one["near_duplicates"]
            }
            for one in found["shown"]
        }

    return run_it


def test_as_the_crawl_found_them(clusters, run, index):
    log = list(near_duplicate_records(index))
    found = clusters("--index", index)
    pairs = {(key, other) for key, members in found.items() for other in members}
    # A copy of a page that gave no items, which itself gave some, is a representative now.
    stored = {record["key"] for record in entry_records(index)}
    copies = [line for line in log if line["key"] not in stored]
    assert pairs == {(line["representative"], line["key"]) for line in copies}
    sizes = [len(members) for members in found.values()]
    assert sizes == sorted(sizes, reverse=True)
    ran = run("index", "clusters", "--index", index, "--top", "2")
    assert ran.out.count("  distance ") == sum(sizes[:2])
    similar = ran.err.removesuffix(f"{len(sizes) - 2} more clusters: --top 0 shows all\n")
    assert similar != ran.err
    assert SIMILAR.fullmatch(similar)


@pytest.mark.parametrize(
    ("host", "count"), [("z.example", 2), ("Z.example:8080", 1), ("z.example:80", 0), ("8080", 0)]
)
def test_a_host_with_and_without_its_port(clusters, tmp_path, host, count):
    with open_index(tmp_path / "ports", Scheme(bits=64), max_distance=3) as index:
        for number, port in enumerate(("", ":8080")):
            key = f"https://z.example{port}/{number}"
            index.confirm(index.observe(key, 0xFF << 20 * number))
            index.observe(f"{key}?copy", 0xFF << 20 * number)
    assert len(clusters("--index", tmp_path / "ports", "--host", host)) == count


def test_members_of_a_cluster_that_are_shown(run, index):
    full = json.loads(run("index", "clusters", "--json", "--index", index).out)["shown"][0]
    assert full["pages"] == len(full["near_duplicates"]) + 1 > 2
    [short] = json.loads(
        run("index", "clusters", "--json", "--index", index, "--top", "1", "--members", "1").out
    )["shown"]
    assert short == full | {"near_duplicates": full["near_duplicates"][:1]}
    reasons = [one["reason"] for one in full["near_duplicates"]]
    assert all("a copy: " in reason and 'names "' in reason for reason in reasons)
