"""``rules``: what is listed and removed."""

import json
from pathlib import Path

import pytest

from scrapy_simhash.extras.url_rules.evidence import (
    RuleEvidence,
    RuleRecord,
    decode_rules,
    encode_rules,
)
from scrapy_simhash.index import open_index

SID, PRINT, WWW = (
    (("drop", "sid"),),
    (("segment", "print"),),
    (("origin", "http://a.example.com", "http://www.example.com"),),
)
REF = (("drop", "ref"),)


def known(pages, against=0, spared=0):
    evidence = (pages, against, pages, spared)
    return RuleRecord("learned", RuleEvidence(*evidence), {"/news/*": RuleEvidence(*evidence)})


@pytest.fixture
def index(folder):
    mixed = RuleRecord(
        "learned",
        RuleEvidence(60, 40, 0, 7),
        {"/news/*": RuleEvidence(60, 0, 60, 7), "/catalog": RuleEvidence(0, 40)},
    )
    rules = {SID: known(50, spared=1200), PRINT: known(20), WWW: known(30), REF: mixed}
    rules[(("drop", "page"),)] = known(3, 5)
    with open_index(folder / "index") as opened:
        opened.change_note("example.com", lambda _: encode_rules(rules))
        opened.change_note("other.org", lambda _: encode_rules({SID: known(9)}))
    return str(folder / "index")


def stored(index):
    with open_index(Path(index)) as opened:
        return {site: decode_rules(row) for site, row in opened.notes()}


def test_without_rules_it_says_so(run, index):
    with open_index(Path(index)) as opened:
        for site in ("example.com", "other.org"):
            opened.change_note(site, lambda _: None)
    ran = run("rules", "--index", index)
    assert ran.code == 0
    assert ran.err.startswith("there are no rules yet: ")


def test_rules_are_listed_with_their_evidence(run, index):
    listed = run("rules", "--index", index).out
    assert "site example.com, rule without sid, origin learned, pages 50, against 0, " in listed
    assert "spared 7, holds_on 1\n" in listed
    assert listed.index("spared 1,200, ") < listed.index("spared 7, ")
    assert "\nleft_out  1\n" in f"\n{listed}"
    assert "without page" not in listed
    assert "without page" in run("rules", "--index", index, "--all").out
    other = json.loads(run("rules", "--index", index, "--site", "other.org", "--json").out)
    [rule] = other["rules"]
    assert (rule["site"], rule["steps"], rule["pages"]) == ("other.org", [["drop", "sid"]], 9)
    assert rule["patterns"]["/news/*"]["applies"] is True


def test_a_removed_rule_is_kept_as_removed(run, index):
    listed = json.loads(run("rules", "--index", index, "--json").out)["rules"]
    ran = run("rules", "--index", index, "--remove", listed[0]["id"], "--json")
    assert json.loads(ran.out) == {"index": index, "removed": [listed[0]["id"]]}
    assert stored(index)["example.com"][SID] == RuleRecord("removed")
    assert stored(index)["other.org"][SID].origin == "learned"
    ran = run("rules", "--index", index, "--remove", "00000000")
    assert ran.code == 1
    assert "00000000" in ran.err
    ran = run("rules", "--index", index, "--site", "other.org", "--forget")
    assert ran.out == f"index  {index}\nforgotten\n  other.org\n"
    assert set(stored(index)) == {"example.com"}


def test_a_damaged_row_is_reported_and_can_be_deleted(run, index):
    with open_index(Path(index)) as opened:
        opened.change_note("other.org", lambda _: b"{")
    ran = run("rules", "--index", index)
    assert ran.code == 1
    assert "rules --forget --site other.org" in ran.err
    assert run("rules", "--index", index, "--forget", "--site", "other.org").code == 0
    assert set(stored(index)) == {"example.com"}
    # Rewriting an index keeps its rules.
    assert (
        run("index", "rebuild", "--index", index, "-s", "SIMHASH_EXPECTED_PAGES=5000000").code == 0
    )
    assert len(stored(index)["example.com"]) == 5
