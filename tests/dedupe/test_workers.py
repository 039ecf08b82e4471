"""Workers that die or hang: their records are skipped, and nothing else changes."""

import json
import os
import pickle
import signal

import pytest

from scrapy_simhash.dedupe.fingerprinting import Fingerprinted, Fingerprinter
from scrapy_simhash.dedupe.options import DedupeOptions, Fields
from scrapy_simhash.detector import Detector
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.scheme import Scheme
from scrapy_simhash.workers.pool import result_in
from tests.crawl.harness import python

from .samples import json_lines, read_lines, records, run

EVIDENCE = Evidence(bytes(range(7)), 5, b"\n" * 4, b"\xff\n", b"\x80")
EXTRACTOR = f"{__name__}.deadly"


def deadly(html):
    """Kill the worker, hang or raise an error, as the page says."""
    if "DIE" in html:
        os.kill(os.getpid(), signal.SIGKILL)
    if "RAISE" in html:
        raise ValueError("no")
    if "EXIT" in html:
        raise SystemExit
    while "HANG" in html:
        pass
    return html.replace("<html><p>", "").replace("</p></html>", "")


OPTIONS = DedupeOptions(scheme=Scheme.preset("wide"), max_distance=52)


def test_an_answer_has_what_the_judge_needs_and_nothing_else():
    records = [
        Fingerprinted("a", 2**255 + 1, EVIDENCE),
        Fingerprinted("\ud800\n", skipped="few_tokens"),
        Fingerprinted("c", 0, Evidence(certainty=b"\n")),
    ]
    classes = Fingerprinted, Evidence
    assert result_in(pickle.dumps((records, "")), classes) == records
    with pytest.raises(pickle.UnpicklingError, match="DedupeOptions"):
        result_in(pickle.dumps((DedupeOptions, "")), classes)


FIRST_RECORD = """
import sys
from scrapy_simhash.dedupe.fingerprinting import Fingerprinter, serve_records
from scrapy_simhash.dedupe.options import Fields
from tests.dedupe.samples import options

fingerprint = serve_records(Fingerprinter(options(timeout_ms=int(sys.argv[1])), Fields(html="html")))
before = set(sys.modules)
fingerprint([("a", '{"html": "<html><p>The ferry, 渡轮, leaves at noon."}'.encode())])
print(*set(sys.modules) - before)
"""


def test_a_worker_imports_what_records_need_before_their_time_counts():
    assert python("-X", "utf8", "-c", FIRST_RECORD, 1000).stdout == "\n"


def test_records_that_take_their_workers_with_them(tmp_path):
    values = records(60)
    for value in values:
        value["html"] = f"<html><p>{value.pop('text')}</p></html>"
    values[20]["html"], values[41]["html"] = "<html>DIE", "<html>HANG"
    (tmp_path / "in.jsonl").write_bytes(json_lines(values))
    scheme = Scheme(bits=256, extractor=EXTRACTOR)
    summary = run(tmp_path, "in.jsonl", scheme=scheme, workers=2, timeout_ms=1500)
    assert summary.skipped == {"worker_died": 1, "timeout": 1}
    verdicts = read_lines(tmp_path / "verdicts")
    assert [at for at, v in enumerate(verdicts) if v["kind"] == "skipped"] == [20, 41]
    assert [verdict["key"] for verdict in verdicts] == [value["url"] for value in values]
    # They are kept, because they could not be judged.
    kept = [line["url"] for line in read_lines(tmp_path / "out")]
    assert {values[20]["url"], values[41]["url"]} <= set(kept)


def test_what_an_extractor_raises_and_that_it_exits_are_counted(tmp_path):
    values = [{"url": at, "html": f"<html>{at}"} for at in ("RAISE", "no", "EXIT", "text")]
    (tmp_path / "in.jsonl").write_bytes(json_lines(values))
    summary = run(tmp_path, "in.jsonl", scheme=Scheme(bits=256, extractor=EXTRACTOR), workers=2)
    assert (summary.kept, summary.skipped["error"]) == (4, 1)
    assert summary.skipped["extraction_error"] == 1
    assert [verdict["key"] for verdict in read_lines(tmp_path / "verdicts")] == [
        value["url"] for value in values
    ]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("fingerprint_page", Fields(html="content", key="url")),
        ("fingerprint_extractions", Fields(text=("content",), key="url")),
    ],
)
def test_a_record_with_an_error_keeps_its_key(monkeypatch, name, fields):
    def failing(self, content, *more):
        if "RAISE" in str(content):
            raise ValueError("no")
        return fingerprinted(self, content, *more)

    fingerprinted = getattr(Detector, name)
    monkeypatch.setattr(Detector, name, failing)
    records = [
        (f"#{key}", json.dumps({"url": key, "content": f"<html><p>{text}"}).encode())
        for key, text in (("a", "good"), ("b", "RAISE"), ("c", "good"))
    ]
    found = Fingerprinter(OPTIONS, fields).fingerprint(records)
    assert [(one.key, one.skipped == "error") for one in found] == [
        ("a", False),
        ("b", True),
        ("c", False),
    ]
