"""``dedupe``: what it shows, what it takes from the project, and wrong usage."""

import gzip
import json
import subprocess

import pytest

from scrapy_simhash.index import open_index
from tests.dedupe.samples import json_lines, read_lines, records, text, warc_record

from .conftest import MODULE, SCRAPY
from .samples import written


@pytest.fixture
def feed(folder):
    """A feed of five records, two of them near-duplicates; one has no text."""
    values = [
        {"url": "https://e.com/1", "text": text(1)},
        {"url": "https://e.com/2", "text": text(1, edited=3)},
        {"url": "https://e.com/3", "text": text(2)},
        {"url": "https://e.com/4", "text": text(2, count=40)},
        {"url": "https://e.com/5", "text": ""},
    ]
    return written(folder, json_lines(values), "in.jsonl")


def test_what_it_shows(run, feed, folder):
    ran = run("dedupe", feed, "-o", "out.jsonl", "--index", "i", "--json")
    assert (ran.code, ran.err) == (0, "")
    with open_index(folder / "i") as index:
        assert len(index) == 3
    assert json.loads(ran.out) == {
        "records": 5,
        "kept": 4,
        "dropped": 1,
        "tagged": 0,
        "similar": 0,
        "known": 0,
        "passed_over": 0,
        "kinds": {"new": 3, "near-duplicate": 1, "skipped": 1},
        "skipped": {"no_text": 1},
        "went_on_after": 0,
        "index_entries": 3,
        "damaged": {},
        "output": "out.jsonl",
        "verdicts": None,
        "index": "i",
    }


def test_verdicts_alone(run, feed, folder):
    assert run("dedupe", feed, "--verdicts", "v.jsonl").code == 0
    assert run("dedupe", feed, "--verdicts", "v.jsonl.gz").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["in.jsonl", "v.jsonl", "v.jsonl.gz"]
    packed = (folder / "v.jsonl.gz").read_bytes()
    assert gzip.decompress(packed) == (folder / "v.jsonl").read_bytes()
    assert [set(v) for v in read_lines(folder / "v.jsonl")] == [
        {
            *("key", "kind", "representative", "distance", "fingerprint", "similarity"),
            *("similar_to", "reason", "cluster", "dropped"),
        }
    ] * 5


def test_a_name_as_long_as_names_can_be(run, feed, folder):
    name = "o" * 249 + ".jsonl"
    assert run("dedupe", feed, "-o", name).code == 0
    assert {path.name for path in folder.iterdir()} == {feed, name}


def test_the_options_of_a_crawl(run, feed, folder):
    def kinds(*options):
        ran = run("dedupe", feed, "-o", "out.jsonl", "--overwrite", "--json", *options)
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    assert kinds("-s", "SIMHASH_MIN_TOKENS=50")["skipped"] == {"no_text": 1, "few_tokens": 1}
    assert kinds("-s", "SIMHASH_MAX_DISTANCE=0")["kinds"] == {"new": 4, "skipped": 1}
    assert kinds("-s", "SIMHASH_PRESET=classic")["records"] == 5
    assert kinds("-s", "SIMHASH_MAX_BYTES=500")["skipped"] == {"too_large": 3, "no_text": 1}
    assert kinds("-s", "SIMHASH_ACTION=tag")["dropped"] == 0
    tagged = read_lines(folder / "out.jsonl")
    assert [one.get("simhash_kind") for one in tagged] == [
        *("new", "near-duplicate", "new", "new", None)
    ]


def test_the_settings_of_a_project(run, run_process, folder, monkeypatch):
    written(folder, "[settings]\ndefault = boats.settings\n", "scrapy.cfg")
    (folder / "boats").mkdir()
    written(folder / "boats", "", "__init__.py")
    settings = (
        'SIMHASH_ACTION = "tag"\nSIMHASH_ITEM_TAGS = {"kind": "was"}\nSIMHASH_SCOPE = "host"\n'
        'SIMHASH_ITEM_FIELDS = ["story"]\nSIMHASH_MIN_TOKENS = 20\nSIMHASH_MAX_DISTANCE = 0\n'
    )
    written(folder / "boats", settings, "settings.py")
    values = [
        {"url": "https://a.example/1", "text": "", "story": text(1)},
        {"url": "https://a.example/2", "text": "", "story": text(1, edited=2)},
        {"url": "https://b.example/3", "text": "", "story": text(1)},
        {"url": "https://a.example/4", "text": "", "story": text(1)},
        {"url": "https://a.example/5", "text": "", "story": text(5, count=25)},
    ]
    written(folder, json_lines(values), "in.jsonl")
    ran = run_process(*SCRAPY, "dedupe", "in.jsonl", "-o", "out.jsonl")
    assert (ran.code, ran.err) == (0, ""), ran.err
    kinds = [one["was"] for one in read_lines(folder / "out.jsonl")]
    assert kinds == ["new", "new", "new", "near-duplicate", "new"]
    monkeypatch.syspath_prepend(folder)
    ran = run(
        *("dedupe", "in.jsonl", "-o", "out.jsonl", "--overwrite"),
        *("-s", "SIMHASH_ACTION=drop", "-s", "SIMHASH_MAX_DISTANCE=36"),
        *("-s", "SIMHASH_MIN_TOKENS=30"),
    )
    assert "kept           3\n" in ran.out


def test_an_index_and_those_before(run, feed, folder):
    def summary(*options):
        return run("dedupe", feed, "-o", "o.jsonl", "--overwrite", "--index", "i", *options)

    assert summary().err == ""
    again = summary()
    assert "the index holds 3 records of earlier runs. They do not count" in again.err
    assert "unchanged       3" in again.out
    assert "dropped        1" in again.out
    incremental = summary("-s", "SIMHASH_INCREMENTAL=True")
    assert incremental.err == ""
    assert "dropped        4" in incremental.out


@pytest.mark.parametrize("name", ["in.jsonl", "in.json", "in.csv", "in.warc"])
def test_no_record_is_no_success(run, folder, name):
    head = "url,text\n" if name == "in.csv" else ""
    written(folder, head or (warc_record("request", b"x") if "warc" in name else ""), name)
    ran = run("dedupe", name, "-o", "out")
    assert (ran.code, (folder / "out").exists()) == (1, True)
    assert f"error: there is no record in {name}. Is it the right file" in ran.err
    assert ("passed_over    1\n" in ran.out) == ("warc" in name)


def test_what_was_not_judged_is_said(run, folder):
    written(folder, "url,text\n1,a b,c\n2,gr\xfc\xdfe\n3,x\n".encode("latin-1"), "in.csv")
    ran = run("dedupe", "in.csv", "-o", "o.csv")
    assert ran.code == 0
    assert "1 of 3 records were not judged (surplus_fields): they have more fields" in ran.err
    assert "1 of 3 records were not judged (not_its_encoding): --encoding names another" in ran.err
    written(folder, '{"url": 1, "text": "a"}\n{"url": 2\n', "broken.jsonl")
    advice = run("dedupe", "broken.jsonl", "-o", "o.jsonl").err
    assert "1 of 2 records were not judged (few_tokens)" not in advice
    assert "1 of 2 records were not judged (not_json): they are no JSON objects" in advice
    written(folder, '{"url": 1, "text": "a"}\n' * 3, "short.jsonl")
    advice = run("dedupe", "short.jsonl", "-o", "s.jsonl").err
    assert "3 of 3 records were not judged (few_tokens): they are short; --min-tokens" in advice
    records = [
        warc_record("resource", b"a", content_type="text/plain"),
        warc_record("response", b""),
    ]
    written(folder, b"".join([*records, records[0]]), "in.warc")
    advice = run("dedupe", "in.warc", "-o", "o.warc").err
    assert "2 of 3 records were not judged (not_html): they are no HTML pages" in advice
    written(folder, records[1], "in.warc")
    advice = run("dedupe", "in.warc", "-o", "o2.warc").err
    assert "1 of 1 records were not judged (not_warc): --verdicts FILE shows which" in advice
    (folder / "site").mkdir()
    written(folder / "site", "<p>x</p>", "a.php?t=1")
    written(folder / "site", "p {}", "a.css")
    assert "passed_over    1\n" in run("dedupe", "site", "-o", "pages").out


def test_a_field_that_is_to_tell_records_apart_but_is_missing(run, feed, folder):
    ran = run("dedupe", feed, "-o", "o", "--distinct-by", "text", "--distinct-by", "sku")
    assert "no field 'sku' was found, so it tells no records apart" in ran.err
    assert "'text'" not in ran.err


def test_names_of_records_need_not_agree(run, folder):
    values = [{"url": f"https://e.com/{n}", "headline": n, "text": text(1)} for n in range(2)]
    written(folder, json_lines(values), "in.jsonl")

    def kept(*options):
        ran = run("dedupe", "in.jsonl", "-o", "o", "--overwrite", "--json", *options)
        return json.loads(ran.out)["kept"]

    assert (kept(), kept("--name-field", "#"), kept("--name-field", "text")) == (2, 1, 1)
    assert kept("--text-field", "text") == 2
    assert "no field 'x'" in run("dedupe", "in.jsonl", "-o", "p", "--name-field", "x").err


def test_a_file_that_is_damaged_ends_with_1(run, folder):
    content = gzip.compress(json_lines(records(200)))
    written(folder, content[: len(content) // 2], "in.jsonl.gz")
    ran = run("dedupe", "in.jsonl.gz", "-o", "out.jsonl")
    assert ran.code == 1
    said = "Compressed file ended before the end-of-stream marker was reached"
    assert f"error: in.jsonl.gz cannot be read to its end ({said})" in ran.err
    # All that can be read is there, and the line in which it ends.
    first, *_, last = (folder / "out.jsonl").read_bytes().splitlines()
    assert [line for line in ran.out.splitlines() if "not_json" in line] == ["  not_json  1"]
    assert json_lines(records(200)).startswith(first)
    assert not last.endswith(b"}")


def test_a_key_that_all_share_can_be_left_out(run, folder):
    written(folder, json_lines([{"url": "u", "text": text(n)} for n in (1, 2, 1)]), "in.jsonl")
    ran = run("dedupe", "in.jsonl", "-o", "o.jsonl", "--json")
    assert json.loads(ran.out)["kinds"] == {"new": 2, "unchanged": 1}
    ran = run("dedupe", "in.jsonl", "-o", "o.jsonl", "--json", "--overwrite", "--key-field", "#")
    assert json.loads(ran.out)["kinds"] == {"new": 2, "near-duplicate": 1}


@pytest.mark.parametrize("packed", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_standard_input(run, folder, packed):
    content = json_lines(records(10))
    written(folder, content, "in.jsonl")
    expected = run("dedupe", "in.jsonl", "-o", "expected.jsonl")
    assert expected.code == 0, expected.err
    command = [*MODULE, "dedupe", "-", "-o", "out.jsonl", "--verdicts", "verdicts.jsonl"]
    told = gzip.compress(content) if packed else content
    ran = subprocess.run(command, cwd=folder, input=told, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (folder / "out.jsonl").read_bytes() == (folder / "expected.jsonl").read_bytes()
    assert b"records        10" in ran.stdout
    assert {path.name for path in folder.iterdir()} == {
        *("in.jsonl", "expected.jsonl", "out.jsonl", "verdicts.jsonl")
    }
