"""``passages add`` and ``passages check``: what they take, show and refuse."""

import json
import re

import pytest

from tests.commands.samples import CHINESE, FERRY, NEW, NOTICE, written


def report(run, *arguments):
    ran = run("passages", "check", "--json", *arguments)
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)


def facts(ran):
    """Return the names and values in the lines of a result."""
    parts = (line.strip().partition(" ") for line in ran.out.splitlines())
    return {name: value.strip() for name, _, value in parts}


def found_in(report):
    return {source["document"] for source in report["sources"]}


def test_add_says_what_it_did(filled, folder, run):
    directory = folder / ".scrapy" / "simhash-passages"
    assert facts(filled) == {
        "index": str(directory),
        "new": "4",
        "replaced": "0",
        "unchanged": "0",
        "passages": "6",
        "index_documents": "4",
        "index_passages": "6",
    }
    assert filled.err == ""
    (folder / "docs" / "ferry.txt").write_text(FERRY + " " + NEW)
    (folder / "docs" / "new.txt").write_text(NEW)
    (folder / "docs" / "bad.txt").write_bytes(b"\0\1")
    ran = run("passages", "add", "docs", "pages.jsonl")
    assert ran.code == 0
    assert facts(ran) == {
        "index": str(directory),
        "new": "1",
        "replaced": "1",
        "unchanged": "3",
        "passages": "5",
        "skipped": "",
        "binary": "1",
        "index_documents": "5",
        "index_passages": "8",
    }
    assert ran.err == "skipped docs/bad.txt: binary\n"


@pytest.mark.parametrize("name", ["pages.jsonl", "pages.json", "empty"])
def test_no_document_is_no_success(folder, run, name):
    (folder / "empty").mkdir()
    written(folder, "", "pages.jsonl")
    written(folder, "[]", "pages.json")
    ran = run("passages", "add", name)
    assert (ran.code, facts(ran)["new"]) == (1, "0")
    assert ran.err == f"error: no document could be read from {name}\n"


def test_a_check_shows_share_sources_and_passages(filled, folder, run):
    two = FERRY.split(". ")[0] + ". "
    name = written(folder, f"{two}{NEW} {NOTICE} Yes.\n{CHINESE.replace('在', '于')}")
    ran = run("passages", "check", name)
    assert (ran.code, ran.err) == (0, "")
    shown, lines = facts(ran), [line.strip() for line in ran.out.splitlines()]
    assert (shown["document"], 0.1 <= float(shown["known_share"]) < 1) == ("letter.txt", True)
    counts = [shown[name] for name in ("passages", "known_passages", "short_passages")]
    assert counts == ["5", "3", "1"]
    for document in ("docs/ferry.txt", "docs/sub/notice.html", "https://boats.example/"):
        share = lines[lines.index(document) + 1]
        assert share.startswith("share 0.")
        assert share.endswith(", passages 1")
    at = lines.index(two.strip())
    assert lines[at + 1].startswith("start 0, end 57, level high, ")
    assert lines[at + 3] == "docs/ferry.txt"
    assert lines[at + 4].startswith("start 0, end 57, similarity 1.000, ")
    at = len(lines) - 1 - lines[::-1].index("https://boats.example/")
    assert re.match(r"start 0, end 37, similarity 0\.9\d\d, ", lines[at + 1])
    assert NEW not in ran.out


def test_texts_that_are_kept_are_compared_and_shown(run, folder):
    written(folder, NOTICE, "notice.txt")
    assert run("passages", "add", "--index", "i", "notice.txt").code == 0
    ran = run(
        "passages", "check", "--index", "i", written(folder, NOTICE.replace("bicycles", "dogs"))
    )
    assert f"        text {NOTICE}" in ran.out.splitlines()


@pytest.mark.parametrize("name", ["docs/ferry.txt", "./docs//ferry.txt", "docs/sub/../ferry.txt"])
def test_a_text_is_no_source_of_itself(filled, folder, run, name):
    for place in (name, folder / name):
        ran = run("passages", "check", "--json", place)
        found = json.loads(ran.out)
        assert (found["known_share"], found["excluded"]) == (0, "docs/ferry.txt")
        assert ran.err == ""
    ran = run("passages", "check", name)
    assert ran.err == "the document docs/ferry.txt has the name of this text, so it is no source\n"
    assert facts(ran)["known_share"] == "0.000"
    written(folder, FERRY, "copy.txt")
    run("passages", "add", "copy.txt")
    assert found_in(report(run, name)) == {"copy.txt"}
    ran = run("passages", "check", "--json", written(folder, FERRY))
    assert (ran.err, json.loads(ran.out)["excluded"]) == ("", None)


def test_levels_of_passages(run, folder):
    for n in range(3):
        written(folder, NOTICE, f"{n}.txt")
    run("passages", "add", "0.txt", "1.txt", "2.txt")
    changed = written(folder, NOTICE.replace("bicycles", "dogs"))
    (passage,) = report(run, changed)["passages"]
    assert 0.9 <= passage["similarity"] < 0.98
    assert passage["level"] == "high"
    longer = written(folder, NOTICE.replace("bicycles", "dogs, cats and horses"), "longer.txt")
    (passage,) = report(run, longer)["passages"]
    assert 0.75 <= passage["similarity"] < 0.9
    assert passage["level"] == "medium"


def test_control_characters_are_escaped(run, folder):
    evil = "evil\x1b[2J\x9b\u202e"
    line = json.dumps({"url": evil, "text": f"{evil}{NOTICE}"})
    written(folder, f"{line}\nnope\n", "a.jsonl")
    name = written(folder, f"{evil}{NOTICE}", "letter\x1b.txt")
    added = run("passages", "add", "a.jsonl", "letter\x1b.txt")
    for ran in (added, run("passages", "check", name), run("passages", "check", name, "--json")):
        assert ran.code == 0
        assert not set(ran.out + ran.err) & set("\x1b\x9b\u202e")
    ran = run("passages", "check", "none\x1b[2J")
    assert (ran.code, "\x1b" in ran.err) == (1, False)
