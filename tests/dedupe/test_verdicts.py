"""Verdicts are those of a crawl, with any batches and workers."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.dedupe import judging
from scrapy_simhash.dedupe.options import Fields
from scrapy_simhash.detector import Detector
from scrapy_simhash.index import open_index
from scrapy_simhash.scheme import PRESETS

from .samples import json_lines, read_lines, records, run, text, words

FIELDS = ("kind", "representative", "distance", "similarity", "similar_to", "reason")
SMALL = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def crawl(values, *, preset="classic", max_distance=None, confirmation=None):
    """Return the verdicts of an index in memory that is asked for each text: the oracle."""
    chosen = PRESETS[preset]
    detector = Detector(chosen.scheme)
    told = []
    max_distance = chosen.max_distance if max_distance is None else max_distance
    with open_index(
        "memory:", chosen.scheme, max_distance=max_distance, confirmation=confirmation
    ) as index:
        for number, (key, body) in enumerate(values, 1):
            page = detector.fingerprint_text(body)
            verdict = detector.judge(index, key, page)
            if verdict.kind == "changed":  # both contents stay in the index
                index.discard(verdict.observation)
                verdict = detector.judge(index, f"{key}#{number}", page)
            if verdict.observation is not None:
                index.confirm(verdict.observation)
            told.append(tuple(verdict.to_dict()[name] for name in FIELDS))
    return told


def said(verdicts):
    return [tuple(verdict[name] for name in FIELDS) for verdict in verdicts]


MADE = st.lists(
    st.tuples(
        st.integers(0, 12),  # whose page
        st.integers(0, 6),  # which text
        st.one_of(st.none(), st.integers(0, 3)),  # edited where
        st.sampled_from([10, 40, 120]),  # its words: skipped, short, or neither
    ),
    max_size=60,
)


@SMALL
@given(made=MADE)
def test_as_an_index_in_memory_says(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("run")
    values = [(f"k{key}", text(seed, edited=edited, count=n)) for key, seed, edited, n in made]
    lines = json_lines([{"url": key, "text": body} for key, body in values])
    (folder / "in.jsonl").write_bytes(lines)
    summary = run(folder, "in.jsonl", preset="classic")
    verdicts = read_lines(folder / "verdicts")
    assert said(verdicts) == crawl(values)
    # Only duplicates are left out, and kept records are unchanged.
    seen = set()
    for verdict, (key, _) in zip(verdicts, values, strict=True):
        again = verdict["kind"] == "unchanged" and key in seen
        duplicate = verdict["kind"] == "near-duplicate" or again
        assert verdict["dropped"] == duplicate
        if verdict["kind"] in ("new", "changed", "unchanged"):
            seen.add(key)
    kept = [
        line
        for line, verdict in zip(lines.splitlines(keepends=True), verdicts, strict=True)
        if not verdict["dropped"]
    ]
    assert (folder / "out").read_bytes() == b"".join(kept)
    assert (summary.records, summary.kept) == (len(values), len(kept))
    assert not (folder / "state").exists()


def form(number, count=240):
    """Return a record of a template: every twelfth word differs from other records."""
    made = words(1, count)
    made[::12] = words(number + 2, len(made[::12]))
    return {"url": f"https://a.example/{number}", "text": " ".join(made)}


def test_records_that_are_like_each_other_are_kept_and_say_so(tmp_path):
    """They are within k bits, but not similar enough to be copies."""
    values = [form(number) for number in range(6)]
    values.append({**values[0], "url": "https://b.example/"})
    (tmp_path / "in.jsonl").write_bytes(json_lines(values))
    alike = {"max_distance": 64, "confirmation": Confirmation(min_resemblance=0.9)}
    summary = run(tmp_path, "in.jsonl", **alike)
    verdicts = read_lines(tmp_path / "verdicts")
    texts = [(value["url"], value["text"]) for value in values]
    assert said(verdicts) == crawl(texts, preset="wide", **alike)
    assert [v["kind"] for v in verdicts] == ["new"] * 6 + ["near-duplicate"]
    similar = [v for v in verdicts if v["similar_to"]]
    assert len(similar) == summary.similar == 5
    for verdict in similar:
        assert 0 < verdict["distance"] <= 64
        assert 0.3 < verdict["similarity"] < 0.9
        assert verdict["similarity"] == round(verdict["similarity"], 2)
        assert verdict["representative"] is None
    assert (verdicts[-1]["similarity"], verdicts[-1]["dropped"]) == (1.0, True)
    assert (summary.kept, summary.dropped, summary.tagged) == (6, 1, 0)
    alike["confirmation"] = UNCONFIRMED
    summary = run(tmp_path, "in.jsonl", overwrite=True, **alike)
    assert (summary.kept, summary.dropped, summary.similar) == (1, 6, 0)


def test_the_title_of_a_record_is_its_name(tmp_path):
    values = [
        {"url": f"https://a.example/{n}", "title": name, "text": text(1)}
        for n, name in enumerate(("Ferries", "Trains", "Ferries"))
    ]
    elsewhere = [{**v, "url": f"https://{v['title'][:3]}.example/"} for v in values]
    any_name = Confirmation(same_name=False)
    for made, names, confirmation, dropped in (
        (values, ("title", "text"), Confirmation(), 1),
        (values, ("title", "text"), any_name, 2),
        (values, ("text",), Confirmation(), 1),
        (values, ("text",), any_name, 2),
        # Short names of other sites tell apart firms of one template.
        (elsewhere[:2], ("title", "text"), Confirmation(), 0),
        (elsewhere[:2], ("title", "text"), any_name, 1),
    ):
        (tmp_path / "in.jsonl").write_bytes(json_lines(made))
        summary = run(
            *(tmp_path, "in.jsonl"),
            fields=Fields(text=names, key="url"),
            confirmation=confirmation,
            overwrite=True,
        )
        assert summary.dropped == dropped
        assert summary.similar == len(made) - 1 - dropped


@pytest.mark.parametrize("action", ["drop", "tag"])
def test_the_log_of_the_index_says_what_was_done(tmp_path, action):
    values = [form(0), form(1), {**form(0), "url": "https://b.example/"}]
    (tmp_path / "in.jsonl").write_bytes(json_lines(values))
    alike = Confirmation(min_resemblance=0.9)
    index = tmp_path / "index"
    summary = run(
        *(tmp_path, "in.jsonl"), action=action, index=index, max_distance=64, confirmation=alike
    )
    assert (summary.dropped, summary.tagged) == ((1, 0) if action == "drop" else (0, 1))
    with open_index(index) as opened:
        log = [(line.key, line.confirmed, line.action) for line in opened.near_duplicates()]
    done = {"drop": "dropped", "tag": "tagged"}[action]
    assert log == [("https://a.example/1", False, "passed"), ("https://b.example/", True, done)]


def test_the_same_record_again_in_one_batch_and_in_another(tmp_path):
    one = {"url": "https://example.com/#top", "text": text(5)}
    between = records(300, seed=3)
    (tmp_path / "in.jsonl").write_bytes(json_lines([one, one, *between, one]))
    # If the index has the record, its first occurrence in this run is no repetition.
    for first in ("new", "unchanged"):
        run(tmp_path, "in.jsonl", index=tmp_path / "index", overwrite=True)
        told = read_lines(tmp_path / "verdicts")
        verdicts = [v for v in told if v["key"] == "https://example.com/"]
        assert [v["kind"] for v in verdicts] == [first, "unchanged", "unchanged"]
        assert [v["dropped"] for v in verdicts] == [False, True, True]


def test_verdicts_do_not_depend_on_where_batches_end(tmp_path, monkeypatch):
    """Tables miss some distant copies, in the same batch or in different ones."""
    values = [form(number % 20) | {"url": str(number)} for number in range(60)]
    for number, value in enumerate(values):
        kept = value["text"].split()
        kept[number % 12 :: 12] = words(1000 + number, len(kept[number % 12 :: 12]))
        value["text"] = " ".join(kept)
    (tmp_path / "in.jsonl").write_bytes(json_lines(values))
    found = []
    for size in (1, 7, 128):
        monkeypatch.setattr(judging, "BATCH_RECORDS", size)
        run(tmp_path, "in.jsonl", overwrite=True, max_distance=80, confirmation=UNCONFIRMED)
        found.append(said(read_lines(tmp_path / "verdicts")))
    assert found[0] == found[1] == found[2]
    kinds = [verdict[0] for verdict in found[0]]
    assert {"new", "near-duplicate"} == set(kinds)


@pytest.mark.parametrize("field", ["text", "html"])
@pytest.mark.parametrize(
    ("distinct", "dropped"),
    [
        ((), [False, True, True, True]),
        (("size",), [False, True, False, True]),
        (("size", "colour"), [False, False, False, True]),
        ((".sku",), [False, True, True, True]),
    ],
)
def test_fields_that_tell_records_apart(tmp_path, field, distinct, dropped):
    body = text(1) if field == "text" else f"<html><body><p>{text(1)}</p></body></html>"
    values = [
        {"url": f"https://e.com/{at}", field: body, "size": size, "colour": colour}
        for at, (size, colour) in enumerate(
            [("S", "red"), ("S", "blue"), ("XL", "red"), ("XL", "red")]
        )
    ]
    fields = Fields(**{field: (field,) if field == "text" else field}, distinct=distinct)
    assert dropped_of(tmp_path, values, fields) == dropped


def dropped_of(folder, values, fields=None):
    (folder / "feed.jl").write_bytes(json_lines(values))
    run(folder, "feed.jl", overwrite=True, fields=fields or Fields())
    return [verdict["dropped"] for verdict in read_lines(folder / "verdicts")]


def test_selectors_and_declared_numbers_tell_pages_apart(tmp_path):
    values = [
        {
            "url": f"https://e.com/{at}",
            "html": f"<html><body><p>{text(1)}</p><b class='sku'>{number}</b></body></html>",
            "sku": declared,
        }
        for at, (number, declared) in enumerate([("1", None), ("2", None), ("2", "a")])
    ]
    fields = Fields(html="html", distinct=(".sku",))
    assert dropped_of(tmp_path, values, fields) == [False, False, True]
    texts = [{"url": v["url"], "text": text(1), "SKU": v["sku"]} for v in values]
    texts.append({"url": "https://e.com/9", "text": text(1), "SKU": "b"})
    # The first has no number, and could be any.
    assert dropped_of(tmp_path, texts) == [False, True, True, True]
