"""Commands on an index, that of the demo's crawl: what they show, and what they change."""

import gzip
import json
import re
import shutil

import pytest
from scrapy.settings import Settings

from scrapy_simhash.commands.main import main
from scrapy_simhash.detector import Detector
from scrapy_simhash.index import open_index
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.maintenance.check import check
from scrapy_simhash.maintenance.export import entry_records, near_duplicate_records
from scrapy_simhash.scheme import Scheme

MINE = "<p>" + " ".join(f"Nobody else wrote sentence {n} of mine." for n in range(40))


def entries(index):
    return {record["key"]: record for record in entry_records(index)}


def stored(index, page):
    """Store a page of ours; return the size of the index."""
    with open_index(index) as opened:
        detector = Detector(opened.scheme)
        mine = detector.judge(opened, "https://a.example/mine", detector.fingerprint_page(page))
        opened.confirm(mine.observation)
        return len(opened)


def test_stats(run, ran_json, index):
    found = ran_json("index", "stats", "--top", "4", "--index", index)
    log = list(near_duplicate_records(index))
    assert found["representatives"] == len(entries(index))
    # A copy of a page that gave no items, which itself gave some, is a representative now.
    copies = {line["key"] for line in log} - entries(index).keys()
    assert found["near_duplicates"] == len(copies)
    every = ran_json("index", "stats", "--top", "0", "--index", index)
    assert len(every["largest_clusters"]) == found["clusters"] > 4
    assert sum(found["distances"].values()) == found["near_duplicates"]
    assert found["clusters"] > len(found["largest_clusters"]) == 4
    sizes = [cluster["near_duplicates"] for cluster in found["largest_clusters"]]
    assert sizes == sorted(sizes, reverse=True)


def test_a_page_that_is_there(ran_json, run, index, folder):
    key = next(iter(entries(index)))
    (folder / "page.html").write_text(MINE)
    before = stored(index, MINE)
    log = list(near_duplicate_records(index))
    found = ran_json("index", "query", "page.html")
    expected = {"kind": "near-duplicate", "distance": 0, "action": "drop", "similar_to": None}
    expected |= {"representative": "https://a.example/mine", "similarity": 1.0}
    expected |= {"match_count": 1}
    assert {name: found[name] for name in expected} == expected
    [match] = found["matches"]
    told = {"key": "https://a.example/mine", "distance": 0, "similarity": 1.0, "name": ""}
    assert match == told | {"confirmed": True, "reason": match["reason"]}
    found = ran_json("index", "query", "--top", "0", "page.html")
    assert (found["matches"], found["match_count"]) == ([match], 1)
    found = ran_json("index", "query", "--key", "https://a.example/mine", "page.html")
    assert (found["kind"], found["distance"], found["action"]) == ("unchanged", 0, "keep")
    assert found["matches"] == []
    found = ran_json("index", "query", "--key", key, "page.html")
    assert found["kind"] == "near-duplicate"
    with open_index(index) as opened:
        assert len(opened) == before
    assert list(near_duplicate_records(index)) == log


def test_the_k_of_the_project_decides(index, folder, capsys):
    """The project's k counts if the index has its scheme, else the index's k."""
    (folder / "page.html").write_text(MINE)
    query = ["index", "query", "--json", "page.html"]
    for settings, options, k in (
        ({}, [], 52),
        ({"SIMHASH_MAX_DISTANCE": 20}, [], 20),
        ({"SIMHASH_MAX_DISTANCE": "20"}, ["-s", "SIMHASH_MAX_DISTANCE=7"], 7),
        ({"SIMHASH_MAX_DISTANCE": 20, "SIMHASH_EXTRACTOR": "text"}, [], 52),
    ):
        assert main([*query, *options], settings=Settings(settings)) == 0
        assert json.loads(capsys.readouterr().out)["max_distance"] == k


@pytest.mark.parametrize("k", ["3", "80"])
def test_the_k_of_a_rebuilt_index_decides_if_the_project_has_none(ran_json, index, folder, k):
    (folder / "page.html").write_text(f"<title>Boats</title>{MINE}")
    ran_json("index", "rebuild", "--max-distance", k)
    stored(index, MINE)
    found = ran_json("index", "query", "page.html")
    assert (found["kind"], found["max_distance"]) == ("near-duplicate", int(k))
    assert f"k = {k}" in found["reason"] + found["matches"][0]["reason"]
    assert ran_json("index", "query", "--max-distance", "2", "page.html")["max_distance"] == 2


def test_a_page_that_is_similar(ran_json, run, index, folder):
    """Near a page of its site, under another name, or not alike enough."""
    stored(index, f"<title>Boats</title>{MINE}")
    (folder / "page.html").write_text(f"<title>Trains</title>{MINE}")
    there = ("index", "query", "--key", "https://a.example/other", "page.html")
    found = ran_json(*there)
    assert (found["kind"], found["representative"], found["action"]) == ("new", None, "keep")
    assert (found["similar_to"], found["similarity"]) == ("https://a.example/mine", 1.0)
    (match,) = found["matches"]
    assert not match["confirmed"]
    assert match["reason"].startswith("no copy, because their names differ: ")
    # On another site, names say nothing, unless both are short.
    long = "Trains in the northern valleys, and where they stop in winter"
    (folder / "page.html").write_text(f"<title>{long}</title>{MINE}")
    found = ran_json("index", "query", "--key", "https://b.example/", "page.html")
    assert found["kind"] == "near-duplicate"


def near_keys(index):
    return [record["key"] for record in near_duplicate_records(index)]


def test_pages_that_are_not_there(ran_json, run, index, folder):
    (folder / "new.html").write_text(
        "<p>" + " ".join(f"Nobody wrote sentence {n * n} before." for n in range(40))
    )
    found = ran_json("index", "query", "new.html")
    assert (found["kind"], found["action"], found["matches"]) == ("new", "keep", [])
    known = ran_json("index", "query", "--key", next(iter(entries(index))), "new.html")
    assert known["kind"] == "changed"
    (folder / "short.html").write_text("<p>Too short.")
    found = ran_json("index", "query", "short.html")
    assert (found["kind"], found["skipped"], found["action"]) == ("skipped", "few_tokens", "keep")
    assert run("index", "query", "-s", "SIMHASH_MAX_DISTANCE=256", "new.html").code == 1


def test_explain(ran_json, run, index):
    line = next(iter(near_duplicate_records(index)))
    found = ran_json("index", "query", "--stored", line["key"])
    [copy] = found["near_duplicates"]
    assert (copy["representative"], copy["action"]) == (line["representative"], "dropped")
    found = ran_json("index", "query", "--stored", line["representative"])
    assert line["key"] in [one["key"] for one in found["copies"]]
    nowhere = ("index", "query", "--stored", "https://nowhere.example/")
    assert ran_json(*nowhere, code=1)["entry"] is None


def test_check_repair_and_expire(ran_json, run, index):
    before = len(entries(index))
    assert ran_json("index", "check")["problems"] == []
    assert ran_json("index", "check", "--repair")["entries"] == before
    found = ran_json("index", "remove", "--unseen-since", "1d")
    assert (found["entries"], found["removed_entries"]) == (before, 0)
    ran = run("index", "remove", "--unseen-since", "2100-01-01")
    assert f"removed_entries          {before}\n" in ran.out
    assert (entries(index), near_keys(index)) == ({}, [])


@pytest.mark.parametrize(
    "when", ["30", "d", "-3d", "1y", "1e9", "tomorrow", "2026-13-01", "9999999999d", ""]
)
def test_times_that_make_no_sense(run, index, when):
    ran = run("index", "remove", "--unseen-since", when)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    assert len(entries(index)) > 0


def test_remove(ran_json, run, index, monkeypatch):
    one, other, *rest = entries(index)
    found = ran_json("index", "remove", one, "https://nowhere.example/", code=1)
    assert (found["removed"], found["missing"]) == ([one], ["https://nowhere.example/"])
    ran = run("index", "remove", other, other)
    assert (ran.code, ran.out) == (0, f"index  {index}\nremoved\n  {other}\n")
    assert set(entries(index)) == set(rest)
    assert check(index).problems == []


def test_remove_what_standard_input_names(run_process, index):
    from .conftest import MODULE

    keys = list(entries(index))
    ran = run_process(*MODULE, "index", "remove", "-", told="\n".join([*keys[:3], ""]) + "\r\n")
    assert ran.code == 0, ran.err
    assert list(entries(index)) == keys[3:]


def test_rebuild(ran_json, run, index):
    before = entries(index)
    ran_json("index", "rebuild", "-s", "SIMHASH_MAX_DISTANCE=20")
    assert Manifest.read(index).max_distance == 20
    plan = Manifest.read(index).plan
    run("index", "rebuild", "-s", "SIMHASH_EXPECTED_PAGES=50000000")
    assert Manifest.read(index).max_distance == 52
    assert Manifest.read(index).plan != plan
    assert entries(index) == before
    ran = run("index", "rebuild", "-s", "SIMHASH_MAX_DISTANCE=300")
    assert (ran.code, ran.out) == (1, "")
    ran = run("index", "rebuild", "-s", "SIMHASH_PRESET=classic")
    assert (ran.code, ran.out) == (1, "")
    assert "it has no texts" in ran.err
    assert entries(index) == before
    assert check(index).problems == []


def test_export_import_and_merge(ran_json, run, index, folder):
    text = run("index", "export").out
    assert [json.loads(line) for line in text.splitlines()] == list(entry_records(index))
    (folder / "e.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    found = ran_json("index", "import", "e.jsonl.gz", "imported")
    assert found["entries"] == len(entries(index))
    assert [*entries(folder / "imported")] == [*entries(index)]
    lines = run("index", "export", "--near-duplicates").out.splitlines()
    assert [json.loads(line)["key"] for line in lines] == near_keys(index)
    new = folder / "new"
    found = ran_json("index", "merge", "--index", new, index)
    assert found["entries"] == len(entries(index))
    assert near_keys(new) == near_keys(index)
    assert [*entries(new)] == [*entries(index)]


def test_an_index_is_named_by_its_spider(run, index, folder):
    assert run("index", "check", "--spider", "site").code == 0
    ran = run("index", "check", "--spider", "other")
    assert (ran.code, ran.out) == (1, "")
    assert f"--index {index}" in ran.err
    shutil.copytree(index, folder / ".scrapy" / "simhash" / "spiders" / "a%2Fb")
    assert run("index", "check", "--spider", "a/b").code == 0
    ran = run("index", "check")
    assert ran.code == 1
    assert f"several indexes: choose one with --index {folder}" in ran.err
    assert run("index", "check", "--spider", "site", "--index", index).code == 2


@pytest.mark.parametrize("count", [10, 11])
def test_a_list_of_indexes_that_was_cut_says_so(run, index, count):
    for number in range(count - 1):
        (index.parent / f"t{number}").mkdir()
        shutil.copy(index / "manifest.json", index.parent / f"t{number}")
    ran = run("index", "check")
    assert (ran.code, ran.err.count("--index ")) == (1, 10)
    assert ran.err.endswith(", or …\n") == (count == 11)


def test_export_leaves_similar_pages_out(index):
    with open_index(index) as opened:
        lines = list(opened.near_duplicates())
    assert not all(line.confirmed for line in lines)
    assert near_keys(index) == [line.key for line in lines if line.confirmed]


def test_a_spider_without_an_index_of_pages_has_one_of_items(run, index):
    items = index.parent.with_name("spider-items")
    items.mkdir()
    index.rename(items / "shop")
    assert run("index", "stats", "--spider", "shop").code == 0
    ran = run("index", "stats", "--spider", "other")
    assert (ran.code, ran.out) == (1, "")
    assert "the spider other has no index" in ran.err


def clusters_of(found):
    return {
        one["representative"]: {line["key"]: line["distance"] for line in one["near_duplicates"]}
        for one in found["shown"]
    }


def test_clusters_are_as_the_crawl_found_them(run, index):
    ran = run("index", "clusters", "--json", "--top", "0")
    assert ran.code == 0
    found = json.loads(ran.out)
    pairs = {(one, key) for one, members in clusters_of(found).items() for key in members}
    # A copy of a page that gave no items, which itself gave some, is a representative now.
    stored = entries(index)
    lines = [line for line in near_duplicate_records(index) if line["key"] not in stored]
    assert pairs == {(line["representative"], line["key"]) for line in lines}
    sizes = [len(one["near_duplicates"]) for one in found["shown"]]
    assert sizes == sorted(sizes, reverse=True)
    assert found["clusters"] == len(sizes)
    ran = run("index", "clusters", "--top", "2")
    assert ran.out.count("  distance ") == sum(sizes[:2])
    # How many pages a crawl finds similar depends on the order of its answers.
    said = r"([\d,]+ only similar to others: --similar lists them\n)?"
    assert re.fullmatch(f"{said}{len(sizes) - 2} more clusters: --top 0 shows all\n", ran.err)
    full = found["shown"][0]
    assert full["pages"] == len(full["near_duplicates"]) + 1 > 2
    reasons = [one["reason"] for one in full["near_duplicates"]]
    assert all("a copy: " in reason and 'names "' in reason for reason in reasons)


@pytest.mark.parametrize(
    ("host", "count"), [("z.example", 2), ("Z.example:8080", 1), ("z.example:80", 0), ("8080", 0)]
)
def test_clusters_of_a_host_with_and_without_its_port(ran_json, tmp_path, host, count):
    with open_index(tmp_path / "ports", Scheme(bits=64), max_distance=3) as index:
        for number, port in enumerate(("", ":8080")):
            key = f"https://z.example{port}/{number}"
            index.confirm(index.observe(key, 0xFF << 20 * number))
            index.observe(f"{key}?copy", 0xFF << 20 * number)
    found = ran_json("index", "clusters", "--index", tmp_path / "ports", "--host", host)
    assert len(clusters_of(found)) == count
