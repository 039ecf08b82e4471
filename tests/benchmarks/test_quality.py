"""The quality benchmark's figures, on corpora small enough to count by hand."""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import random
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from lxml.html import document_fromstring

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.hashes import token_hashes
from scrapy_simhash.scheme import Scheme
from scrapy_simhash.sketch import sketch
from tests.samples import ENGLISH, PARAGRAPHS, article_page

pytestmark = pytest.mark.thorough

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = (
    "corpus dropping edit_results edits kept measuring output peers results scoring served short "
    "template_results truth"
)
WORDS = [f"word{number}" for number in range(400)]


@pytest.fixture(scope="module")
def q():
    """The benchmark and its modules, imported as when it runs as a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        modules = {name: importlib.import_module(f"quality_lib.{name}") for name in MODULES.split()}
        templates = importlib.import_module("quality_lib.templates.families")
        quality = importlib.import_module("quality")
        return SimpleNamespace(quality=quality, templates=templates, **modules)


@pytest.fixture(scope="module")
def sites(q):
    """Each family with its pages."""
    return [(family, q.templates.pages(family, 1)) for family in q.templates.FAMILIES]


def text_of(seed: int, length: int = 120) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=length))


def write_set(folder, documents, pairs=None):
    """Documents as (id, lang, ntok, text, html)."""
    folder.mkdir()
    lines, truths = [], []
    for doc_id, lang, tokens, text, html in documents:
        doc = {"id": doc_id, "lang": lang, "ntok": tokens}
        if html is not None:
            doc["file"] = f"{doc_id}.html.gz"
            (folder / doc["file"]).write_bytes(gzip.compress(html.encode()))
        lines.append(json.dumps(doc))
        truths.append(json.dumps({"id": doc_id, "text": text}))
    (folder / "docs.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "truth.jsonl.gz").write_bytes(gzip.compress("\n".join(truths).encode()))
    if pairs is not None:
        rows = ["a\tb\tlang\tjaccard\teditsim\tlabel\torigin\tgrade", *pairs]
        (folder / "pairs.tsv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture
def tiny(tmp_path):
    """English a, b, c and f, French d, and e, which is too short to take part."""
    return write_set(
        tmp_path / "tiny",
        [
            ("a", "en", 120, text_of(1), article_page(text_of(1))),
            ("b", "en", 120, text_of(1), article_page(text_of(1))),
            ("c", "en", 120, text_of(2), article_page(text_of(2))),
            ("d", "fr", 120, text_of(3), None),
            ("e", "en", 49, text_of(1), None),
            ("f", "en", 120, text_of(1), "<html><body></body></html>"),
        ],
        [
            "b\ta\ten\t0.8\t1\t1\tcand\tC",  # the larger id first
            "a\tc\ten\t0.2\t1\t?\tcand\tE",
            "a\tf\ten\t1.0\t1\t1\tsame\tA",
            "a\td\ten\t0.1999\t0\t0\trandom\tF",
            "a\te\ten\t1.0\t1\t1\tsame\tA",
        ],
    )


def hand_served(q, page_set, fingerprints, tokens=None, texts=None):
    return [
        q.served.Served(
            fingerprints[doc.id],
            (tokens or {}).get(doc.id, 120),
            None if fingerprints[doc.id] is not None else "no_text",
            evidence=Evidence(sketch=sketch(token_hashes((texts or {}).get(doc.id, "").split()))),
        )
        for doc in page_set.documents
    ]


# a, b and c as close as a chain; d equal to a; f skipped.
FINGERPRINTS = {"a": 0, "b": 0b111, "c": 0, "d": 0, "f": None}


def score(q, page_set, served, distances=(3,), confirmation=UNCONFIRMED):
    found = q.results.scheme_results(
        "hand", Scheme(bits=64), distances, [page_set], [served], confirmation=confirmation
    )
    return {(r.finder.k, r.finder.by, r.finder.pairs): r for r in found}


class TestJudging:
    def test_bands_are_inclusive_from_below(self, q):
        bands = [q.corpus.band(value) for value in (1.0, 0.8, 0.7999, 0.2, 0.1999, 0.0)]
        must, between, wrong = "must be found", "between", "must not be found"
        assert bands == [must, must, between, between, wrong, wrong]

    def test_what_takes_part_and_counts_as_what(self, q, tiny):
        page_set = q.corpus.load(tiny)
        assert [doc.id for doc in page_set.documents] == list("abcdf")
        assert page_set.left_out == 1
        assert not page_set.made
        names = [doc.id for doc in page_set.documents]
        judged = {
            names[a] + names[b]: kind and (kind.band, kind.origin, kind.grade, kind.lang)
            for a, b in itertools.combinations(range(5), 2)
            for kind in [page_set.kind(a, b)]
        }
        wrong = "must not be found"
        unlisted = (wrong, "unlisted", "F", "en")
        assert judged == {
            "ab": ("must be found", "cand", "C", "en"),
            "ac": ("between", "cand", "E", "en"),
            "ad": (wrong, "random", "F", "en"),  # of two languages, but listed
            "af": ("must be found", "same", "A", "en"),
            "bc": unlisted,
            "bd": None,
            "bf": unlisted,
            "cd": None,
            "cf": unlisted,
            "df": None,
        }

    @pytest.mark.parametrize("short", [None, [0, 0, 0, 0, 0], [1, 0, 0, 0, 1], [1, 1, 1, 1, 1]])
    def test_kinds_counts_what_kind_says_of_each_pair(self, q, tiny, short):
        page_set = q.corpus.load(tiny)
        marks = short or [0] * 5
        each = Counter(
            kind
            for a, b in itertools.combinations(range(5), 2)
            if (kind := page_set.kind(a, b, bool(marks[a] or marks[b])))
        )
        assert page_set.kinds(short) == each

    def test_a_set_without_pairs_gets_them_from_its_texts(self, q, tmp_path):
        words = WORDS[:60]
        folder = write_set(
            tmp_path / "made",
            [
                ("a", "en", 60, " ".join(words), None),
                ("same", "en", 60, ". ".join(words).upper(), None),
                ("end", "en", 60, " ".join([*words[:-1], "other"]), None),
                ("fr", "fr", 60, " ".join(words), None),
                ("far", "en", 60, " ".join(WORDS[100:160]), None),
            ],
        )
        page_set = q.corpus.load(folder)
        assert page_set.made
        names = [doc.id for doc in page_set.documents]
        found = {
            names[p.a] + names[p.b]: (p.resemblance, p.origin, p.grade) for p in page_set.listed
        }
        # 56 shingles of 5 words each, all but the last of them shared.
        assert found == {
            "asame": (1.0, "made", "A"),
            "aend": (55 / 57, "made", "B"),
            "sameend": (55 / 57, "made", "B"),
        }

    @pytest.mark.parametrize("files", [[], ["docs.jsonl"]])
    def test_no_page_set_is_said_to_be_none(self, q, tmp_path, files):
        for name in files:
            (tmp_path / name).write_text("")
        with pytest.raises(SystemExit, match=str(tmp_path)):
            q.corpus.load(tmp_path)


class TestTruth:
    def test_tokens_are_words_or_single_cjk_characters(self, q):
        assert q.truth.truth_tokens("A_Big-cat 渡轮 ｶﾅ한글!") == [
            *("a", "big", "cat", "渡", "轮", "カ", "ナ", "한", "글")
        ]

    @pytest.mark.parametrize(("text", "length"), [("one two three 渡轮", 5), ("one 渡轮渡轮", 8)])
    def test_shingle_length_by_script(self, q, text, length):
        assert q.truth.shingle_length([text]) == length

    def test_resemblance_equals_the_definition(self, q):
        rng = random.Random(5)
        texts = [rng.choices("abc", k=rng.randint(0, 40)) for _ in range(30)]
        sets = [{tuple(t[i : i + 3]) for i in range(len(t) - 2)} for t in texts]
        expected = {
            (a, b): len(sets[a] & sets[b]) / len(sets[a] | sets[b])
            for a, b in itertools.combinations(range(30), 2)
            if sets[a] & sets[b]
        }
        found = {(a, b): value for a, b, value in q.truth.resembling(texts, 3)}
        assert found == {pair: v for pair, v in expected.items() if v >= 0.05}

    def test_nothing_resembles_nothing(self, q):
        assert q.truth.resembling([[], ["a"]], 5) == []


class TestScoring:
    def test_counts_at_a_distance(self, q, tiny):
        page_set = q.corpus.load(tiny)
        served = hand_served(q, page_set, FINGERPRINTS)
        figures = score(q, page_set, served)[3, "within k", "all"].figures()
        # Reported: ab, ac, ad, bc, and bd, cd, which are not judged. af is missed: f is skipped.
        assert figures == q.scoring.Figures(
            found=1, must=2, wrong=2, must_not=4, between=1, between_all=1
        )
        assert figures.recall == 1 / 2
        assert figures.precision == 1 / 3
        assert figures.f1 == pytest.approx(0.4)
        assert figures.wrong_per_million == 500_000

    def test_distance_is_inclusive(self, q, tiny):
        page_set = q.corpus.load(tiny)
        served = hand_served(q, page_set, FINGERPRINTS)
        figures = score(q, page_set, served, (2,))[2, "within k", "all"].figures()
        assert (figures.found, figures.wrong, figures.between) == (0, 1, 1)  # ad; ac

    def test_confirmed_pairs_beside_all_pairs(self, q, tiny):
        page_set = q.corpus.load(tiny)
        texts = dict.fromkeys("abd", "one text of a few words") | {"c": "words that are others"}
        served = hand_served(q, page_set, FINGERPRINTS, texts=texts)
        found = score(q, page_set, served, confirmation=Confirmation())
        assert {key[2] for key in found} == {"all", "confirmed"}
        every = found[3, "within k", "all"].figures()
        confirmed = found[3, "within k", "confirmed"].figures()
        assert (every.found, every.wrong, every.between) == (1, 2, 1)
        # Without ac and bc.
        assert (confirmed.found, confirmed.wrong, confirmed.between) == (1, 1, 0)
        assert (confirmed.must, confirmed.must_not) == (2, 4)

    def test_tables_find_what_they_guarantee_and_may_miss_more(self, q, tiny):
        page_set = q.corpus.load(tiny)
        # One bit in each of the five blocks of the plan for k = 5; then two of them in one block.
        spread = sum(1 << (12 * block + 5) for block in range(5))
        gathered = (spread ^ 1 << 5) | 1 << 18
        assert spread.bit_count() == gathered.bit_count() == 5
        for other, hit in ((spread, 0), (gathered, 1)):
            served = hand_served(q, page_set, {**FINGERPRINTS, "b": other, "c": 2**64 - 1})
            found = score(q, page_set, served, (5,))
            assert found[5, "within k", "all"].figures().found == 1
            assert found[5, "tables", "all"].figures().found == hit

    def test_no_plan_is_said(self, q, tiny):
        page_set = q.corpus.load(tiny)
        found = score(q, page_set, hand_served(q, page_set, FINGERPRINTS), (3, 28))
        assert found[28, "tables", "all"].missing == "no plan"
        assert found[28, "within k", "all"].figures().found == 1
        assert "no plan" in q.results.summary_table(list(found.values()))

    def test_groups(self, q, tiny, monkeypatch):
        page_set = q.corpus.load(tiny)
        # f's 20 tokens are too few to be short, a and c are.
        tokens = {"a": 30, "c": 100, "f": 20}
        served = hand_served(q, page_set, FINGERPRINTS, tokens=tokens)
        result = score(q, page_set, served)[3, "within k", "all"]
        assert result.groups("lang") == {}
        monkeypatch.setattr(q.results, "MIN_PAIRS_OF_A_LANGUAGE", 2)
        assert list(result.groups("lang")) == ["en"]
        assert result.groups("set") == {"tiny": result.figures()}
        by_origin = {
            name: (f.found, f.must, f.wrong, f.must_not, f.between)
            for name, f in result.groups("origin").items()
        }
        assert by_origin == {
            "cand": (1, 1, 0, 0, 1),
            "random": (0, 0, 1, 1, 0),
            "same": (0, 1, 0, 0, 0),
            "unlisted": (0, 0, 1, 3, 0),
        }
        short = result.groups("short")["30-100 tokens"]
        assert (short.found, short.must, short.wrong, short.must_not) == (1, 2, 2, 3)  # not bf
        assert result.by_grade() == {"A": (0, 1), "C >= 0.8": (1, 1), "E": (1, 1), "F": (2, 4)}

    def test_reported_pairs_by_resemblance(self, q, tiny):
        page_set = q.corpus.load(tiny)
        # All pairs but those of f: ab 0.8, ac 0.2, ad 0.1999, bc unlisted; bd and cd unjudged.
        served = hand_served(q, page_set, dict.fromkeys("abcd", 0) | {"f": None})
        result = score(q, page_set, served)[3, "within k", "all"]
        assert list(result.by_resemblance().values()) == [3, 3, 3, 3, 4]
        listed = page_set.listed[0]
        edges = {
            value: listed._replace(resemblance=value).kind(short=False).below
            for value in (0.2999, 0.3, 0.5, 0.6, 0.7999, 0.8, 1.0)
        }
        inf = float("inf")
        assert list(edges.values()) == [0.3, 0.5, 0.6, 0.8, 0.8, inf, inf]
        table = q.results.resemblance_table([result])
        assert (
            table.splitlines()[1].split()[5:] == "4 3 (75.0%) 3 (75.0%) 3 (75.0%) 3 (75.0%)".split()
        )

    def test_nothing_reported_and_nothing_to_find(self, q):
        figures = q.scoring.Figures(0, 3, 0, 0, 0, 0)
        assert (figures.recall, figures.precision, figures.f1) == (0, None, 0)
        assert figures.wrong_per_million is None
        figures = q.scoring.Figures(0, 0, 1, 10, 0, 0)
        assert (figures.recall, figures.precision, figures.f1) == (None, 0, None)

    def test_averages_over_sets(self, q):
        rows = [
            q.scoring.Figures(1, 2, 0, 10, 0, 0),
            q.scoring.Figures(4, 4, 4, 10, 0, 0),
            q.scoring.Figures(0, 0, 0, 10, 0, 0),
        ]
        found = q.scoring.macro(rows, seed=1)
        assert (found["recall"], found["recall_sets"]) == (0.75, 2)
        assert (found["precision"], found["precision_sets"]) == (0.75, 2)
        assert found["f1"] == pytest.approx(2 / 3)
        assert found["recall_95"] == (0.5, 1.0)
        assert found["wrong_per_million"] == pytest.approx(400_000 / 3)

    @pytest.mark.parametrize(
        ("successes", "trials", "low", "high"),
        [(8, 10, 0.4902, 0.9433), (0, 10, 0, 0.2775), (10, 10, 0.7225, 1), (1, 1, 0.2065, 1)],
    )
    def test_wilson_intervals(self, q, successes, trials, low, high):
        assert q.scoring.wilson(successes, trials) == pytest.approx((low, high), abs=1e-4)

    def test_no_interval_without_trials(self, q):
        assert q.scoring.wilson(0, 0) is None
        assert q.output.proportion(0, 0) == "-"

    @pytest.mark.parametrize("bits", [8, 64, 72, 256])
    @pytest.mark.parametrize("counted", ["numpy", "table"])
    def test_close_pairs_are_those_of_the_definition(self, q, bits, counted, monkeypatch):
        if counted == "table":
            monkeypatch.delattr(np, "bitwise_count", raising=False)
        monkeypatch.setattr(q.scoring, "_BLOCK", 7)
        rng = random.Random(bits)
        fingerprints = [rng.getrandbits(bits) if rng.random() < 0.9 else None for _ in range(40)]
        pairs, apart = q.scoring.close_pairs(fingerprints, bits, bits // 2)
        found = {(int(a), int(b)): int(d) for (a, b), d in zip(pairs, apart, strict=True)}
        assert found == {
            (a, b): distance
            for a, b in itertools.combinations(range(40), 2)
            if fingerprints[a] is not None and fingerprints[b] is not None
            if (distance := (fingerprints[a] ^ fingerprints[b]).bit_count()) <= bits // 2
        }

    def test_counts_by_distance(self, q, tiny):
        page_set = q.corpus.load(tiny)
        counts = q.scoring.distance_counts(page_set, list(FINGERPRINTS.values()), 64)
        shown = {
            band: {int(d): int(row[d]) for d in np.flatnonzero(row)} for band, row in counts.items()
        }
        assert shown == {
            "must be found": {3: 1},
            "between": {0: 1},
            "must not be found": {0: 1, 3: 1},
        }


class TestPeers:
    def test_text_profile_rounds_counts(self, q):
        digest = q.peers.profile_digest
        assert digest("Apple apple pear, an") == digest("plum APPLE apple")  # counts of 2; 1 is cut
        assert digest("apple apple apple") == digest("apple apple")  # 3 is rounded down to 2
        assert digest("apple apple") != digest("apple apple apple apple")
        assert digest("apple pear") != digest("apple plum")  # no count above 1: all are kept
        # From 250 on a hundredth of it is 3 (2.5, rounded up): words that occur twice are cut.
        many = "apple " * 250
        assert digest(many + "pear pear") == digest(many) != digest(many + "pear " * 3)

    def test_equal_digests(self, q):
        pairs = q.peers.equal_pairs(["x", None, "y", "x", None, "x"])
        assert pairs.tolist() == [[0, 3], [0, 5], [3, 5]]
        assert q.peers.equal_pairs([None]).shape == (0, 2)

    def test_a_peer_that_is_not_installed_says_so(self, q, tiny):
        page_set = q.corpus.load(tiny)
        rows = [
            q.served.Row([page], [digest])
            for page, digest in zip(
                hand_served(q, page_set, FINGERPRINTS), ["x", "x", "y", "x", None], strict=True
            )
        ]
        found = {
            r.finder.name: r for r in q.results.peer_results(["TextProfile"], [page_set], [rows])
        }
        assert found["simhash"].missing == "not installed: pip install simhash"
        assert found["datasketch"].missing == "not installed: pip install datasketch"
        figures = found["TextProfile"].figures()
        assert (figures.found, figures.must, figures.wrong) == (1, 2, 1)  # ab, ad; bd isn't judged

    def test_simhash_of_a_run_that_is_too_frequent_for_it(self, q):
        simhash = pytest.importorskip("simhash")
        # Equal weights: the same as of each run once, whether it fails or not.
        often = "abcdefgh" * 300
        runs = [("abcdefgh" * 2)[start : start + 4] for start in range(8)]
        weights = [300.0] * 5 + [299.0] * 3
        expected = simhash.Simhash(list(zip(runs, weights, strict=True))).value
        assert q.peers.simhash_digest(often) == expected

    @pytest.mark.parametrize("name", ["simhash", "datasketch"])
    def test_installed_peers_find_copies(self, q, name):
        pytest.importorskip(name)
        peer = q.peers.PEERS[name]
        digests = [peer.digest(ENGLISH), None, peer.digest(PARAGRAPHS[0]), peer.digest(ENGLISH)]
        assert peer.pairs(digests).tolist() == [[0, 3]]


class TestShortTexts:
    def test_an_opening_has_the_tokens_asked_for(self, q):
        assert q.short.opening("One two, three. Four!", 3) == "One two, three"
        assert q.short.opening("One two, three. Four!", 5) is None
        # Han runs are counted as the words they are cut in.
        assert q.short.opening("one two three four five", 5) == "one two three four five"

    def test_openings_are_judged_anew(self, q, tiny):
        (cut,) = q.short.openings([q.corpus.load(tiny)], 30)
        names = [doc.id for doc in cut.documents]
        pairs = {names[p.a] + names[p.b]: p.resemblance for p in cut.listed}
        # The texts of a, b and f are equal whatever the whole documents' pairs say.
        assert pairs == {"ab": 1.0, "af": 1.0, "bf": 1.0}
        assert all(doc.page is None for doc in cut.documents)


class TestEdits:
    TEXT = (
        "A one two three. B four five six seven! C eight nine ten eleven? D twelve.\nE and so on."
    )

    def material(self, q):
        return q.edits.Material(["new"], [(0, ["x ", "y ", "z. "])], list("0123456789"))

    def test_pieces_and_sentences(self, q):
        parts = q.edits.pieces(self.TEXT)
        assert "".join(parts) == self.TEXT + "\n"
        assert len(parts) == 20
        assert ["".join(s) for s in q.edits.sentences(parts)][1] == "B four five six seven! "
        assert "".join(q.edits.pieces("«Да», 渡轮。")) == "«Да», 渡轮。\n"
        assert q.edits.pieces("...") == []

    @pytest.mark.parametrize("count", [1, 4, 7])
    def test_edits_touch_the_tokens_asked_for(self, q, count):
        parts = q.edits.pieces(self.TEXT)

        def edit(kind):
            return q.edits.KINDS[kind](parts, count, self.material(q), random.Random(3))

        changed = edit("words changed")
        assert sum(a != b for a, b in zip(parts, changed, strict=True)) == count
        assert len(edit("sentences added")) == 20 + count
        assert not Counter(parts) - Counter(edit("sentences added"))
        assert len(edit("sentences deleted")) == 20 - count
        assert not Counter(edit("sentences deleted")) - Counter(parts)
        assert sorted(edit("sentences moved")) == sorted(parts)
        around = edit("boilerplate added")
        assert around[count // 2 : count // 2 + 20] == parts
        assert len(around) == 20 + count

    def test_the_same_seed_makes_the_same_variants(self, q, tmp_path):
        page_set = q.corpus.load(
            write_set(
                tmp_path / "set",
                [(str(n), "en", 250, text_of(n, 250), None) for n in range(4)],
            )
        )
        made = q.edits.variants([page_set], 2, 7)
        assert made == q.edits.variants([page_set], 2, 7)
        assert len(made) == 2 * 2 * (1 + len(q.edits.KINDS) * len(q.edits.SHARES))
        assert all(0 <= variant.resemblance <= 1 for variant in made)
        assert {made[variant.original].kind for variant in made} == {""}


def fates(q, kept, representatives=()):
    named = dict(representatives)
    return [q.dropping.Fate(stays, "new", named.get(n)) for n, stays in enumerate(kept)]


class TestDropping:
    @pytest.mark.parametrize("form", ["feed", "files"])
    def test_fates_of_pages_in_their_order(self, q, form):
        texts = [text_of(1), text_of(2), text_of(1), "too short", text_of(2)]
        records = [
            q.dropping.Record(f"https://e.example/{n}", article_page(text).encode())
            for n, text in enumerate(texts)
        ]
        found = q.dropping.dedupe(records, form, [])
        assert [fate.kept for fate in found] == [True, True, False, True, False]
        assert [fate.representative for fate in found] == [None, None, 0, None, 1]
        assert found[3].kind == "skipped"

    def test_texts_and_options(self, q):
        records = [q.dropping.Record(url, text=text_of(1)) for url in "ab"]
        assert [f.kept for f in q.dropping.dedupe(records, "files", [])] == [True, False]
        least = ["--min-tokens", "121"]
        assert [f.kept for f in q.dropping.dedupe(records, "feed", least)] == [True, True]

    def test_a_command_that_fails_says_why(self, q):
        records = [q.dropping.Record("a", text=text_of(1))]
        with pytest.raises(SystemExit, match="--no-such"):
            q.dropping.dedupe(records, "feed", ["--no-such"])


class TestKept:
    def test_what_stays_and_what_is_lost(self, q, tiny):
        page_set = q.corpus.load(tiny)
        # Of a, b, c, d and f: b is dropped for a, c for d, and f, which is listed with a alone.
        told = fates(q, [True, False, False, True, False], {1: 0, 2: 3, 4: 3})
        found = q.kept.outcome(page_set, "feed", dict(enumerate(told)))
        # ab and af must not both stay.
        assert found.pairs == [("en", False), ("en", False)]
        assert found.dropped == {
            "b": (0.8, "a", None),
            "c": (0.2, "d", 0.0),  # another language's, and another text
            "f": (1.0, "d", 0.0),
        }
        assert [found.lost(below) for below in (0.2, 0.5, 0.8, 0.81)] == [0, 1, 1, 2]

    def test_pages_left_out_of_a_run_do_not_count(self, q, tiny):
        page_set = q.corpus.load(tiny)
        assert q.kept.served(page_set) == [0, 1, 2, 4]  # d has no page
        # Place 2 of those that are served is c.
        told = dict(zip([0, 1, 2, 4], fates(q, [True, True, True, False], {3: 2}), strict=True))
        found = q.kept.outcome(page_set, "feed", told)
        assert found.documents == 4
        assert found.pairs == [("en", True), ("en", False)]
        assert found.dropped == {"f": (1.0, "c", None)}

    def test_a_copy_under_another_language_is_told_apart(self, q, tmp_path):
        text = text_of(1)
        folder = write_set(
            tmp_path / "set",
            [("en", "en", 120, text, None), ("fr", "fr", 120, text, None)],
            ["x\ty\ten\t1\t1\t1\tcand\tA"],
        )
        told = dict(enumerate(fates(q, [True, False], {1: 0})))
        found = q.kept.outcome(q.corpus.load(folder), "feed", told)
        assert found.dropped == {"fr": (0.0, "en", 1.0)}
        assert (found.lost(0.5), found.copies_across) == (1, 1)

    def test_totals_and_languages(self, q, monkeypatch):
        one = q.kept.Outcome("x", "feed", 9, [("en", False)] * 3 + [("de", True)], {})
        lost = {"a": q.kept.Dropped(0.1, None, None), "b": q.kept.Dropped(0.6, None, None)}
        rows = q.kept.table([one, q.kept.Outcome("y", "feed", 3, [], lost)]).splitlines()
        assert rows[-1].split() == (
            "all 12 2 4 1 0.750 (0.301-0.954) 1 (50.0%) 1 (50.0%) 2 (100.0%) 0".split()
        )
        monkeypatch.setattr(q.kept, "MIN_PAIRS_OF_A_LANGUAGE", 3)
        rows = q.kept.language_table([one]).splitlines()
        assert [row.split()[:3] for row in rows[1:]] == [["en", "3", "0"]]

    def test_records_have_the_host_that_is_known(self, q, tiny, tmp_path):
        page_set = q.corpus.load(tiny)
        assert q.kept.record("a_set", page_set.documents[0]).url == "https://a-set/a"
        folder = tmp_path / "hosts"
        folder.mkdir()
        docs = [{"id": "ä", "url": "https://e.example:8/x", "ntok": 60}, {"id": "b", "host": "h"}]
        (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, docs)))
        (folder / "pairs.tsv").write_text("a\tb\tjaccard\n")
        documents = q.corpus.load(folder).documents
        assert [doc.host for doc in documents] == ["e.example"]  # b is too short
        assert q.kept.record("hosts", documents[0]).url == "https://e.example/%C3%A4"


class TestTemplates:
    def test_families_are_as_large_as_asked_for(self, q, sites):
        assert len(sites) >= 10
        for family, made in sites:
            distinct = [page for page in made if not page.kind]
            assert 40 <= len(distinct) <= 60, family.name
            assert {page.kind for page in made} == {"", *q.templates.COPY_KINDS}
            assert len({page.url for page in made}) == len(made)
            assert len({page.content.name for page in distinct}) == len(distinct)
            # Distinct without their names, too.
            assert len({page.content.body for page in distinct}) == len(distinct)

    def test_copies_come_after_what_they_are_copies_of(self, sites):
        for _, made in sites:
            places = {page.url: place for place, page in enumerate(made)}
            for place, page in enumerate(made):
                if not page.kind:
                    assert page.original == page.url
                    continue
                original = made[places[page.original]]
                assert places[page.original] < place
                assert not original.kind
                assert page.content == original.content
                assert page.html != original.html

    def test_names_are_where_the_family_says(self, sites):
        for family, made in sites:
            trees = [document_fromstring(page.html.encode()) for page in made]
            titles = [tree.findtext(".//title") for tree in trees]
            headings = [[h1.text_content() for h1 in tree.iter("h1")] for tree in trees]
            for page, title, heading in zip(made, titles, headings, strict=True):
                logo = family.site.logo_is_heading
                own = page.content.heading or page.content.name
                assert heading == [family.site.name if logo else own]
                named = "{name}" in family.site.title
                assert (page.content.name in title) == named
                assert own in page.html.replace("&#x27;", "'").replace("&amp;", "&")
            assert ("h1 is" in family.own) == (family.site.logo_is_heading and len(set(titles)) > 1)
            assert (family.own == "neither") == (
                family.site.logo_is_heading and len(set(titles)) == 1
            )
            assert ("constant title" in family.own) == (
                not family.site.logo_is_heading and len(set(titles)) == 1
            )

    def test_the_seed_makes_the_pages(self, q):
        family = q.templates.FAMILIES[0]
        assert q.templates.pages(family, 1) == q.templates.pages(family, 1)
        urls = [{page.url for page in q.templates.pages(family, seed)} for seed in (1, 2)]
        assert urls[0] != urls[1]

    def test_distinct_pages_and_copies_are_counted_apart(self, q):
        family = q.templates.FAMILIES[0]
        made = q.templates.pages(family, 1)[-12:]
        first = next(n for n, page in enumerate(made) if page.kind)
        one, two, skipped = [n for n, page in enumerate(made) if not page.kind][:3]
        kept = [n not in (one, two, first) for n in range(12)]
        told = fates(q, kept, {two: skipped, first: one})
        told[skipped] = told[skipped]._replace(kind="skipped")
        found = q.template_results.outcome(family, "feed", 0.5, made, told)
        copies = sum(bool(page.kind) for page in made)
        assert (found.distinct, found.copies, found.copies_dropped) == (12 - copies, copies, 1)
        assert found.skipped == 1
        assert found.lost == {made[one].url: None, made[two].url: made[skipped].url}

    def test_how_alike_pages_are(self, q):
        family = q.templates.FAMILIES[0]
        page = q.templates.pages(family, 1)[0]

        def with_words(words, kind=""):
            body = f"<p>{' '.join(words)}</p>"
            return page._replace(content=page.content._replace(name="n", body=body), kind=kind)

        made = [with_words(WORDS[at : at + 99]) for at in (0, 0, 200)]
        made.append(with_words(WORDS[200:299], "print"))
        # Two are equal, the third is like no distinct page but for its name.
        assert q.template_results.nearest(family, made) == 1
        assert q.template_results.nearest(family, made[1:]) == 0


class TestSchemes:
    def test_parts_of_a_scheme(self, q):
        one = q.measuring.entry("classic:128:2:tf", ["64=1,2", "128=6,9"])
        scheme = one.scheme
        assert (scheme.bits, scheme.shingle_length, scheme.weighting) == (128, 2, "tf")
        assert (one.distances, one.own_k) == ([6, 9], None)
        assert q.measuring.entry("classic::2", ["3,1"]).distances == [1, 3]
        assert q.measuring.entry("classic::2", []).own_k == 3
        assert 3 in q.measuring.entry("classic", []).distances

    @pytest.mark.parametrize("spec", ["none", "classic:7", "classic:x", "classic:64:1:no"])
    def test_no_such_scheme(self, q, spec):
        with pytest.raises(SystemExit, match="--scheme"):
            q.measuring.entries([spec], [])

    def test_all_presets_that_take_text_by_default(self, q):
        names = [one.name for one in q.measuring.entries([], [])]
        assert {"wide", "classic"} <= set(names)


def run(q, capsys, folder, tmp_path, *options):
    report, lines = tmp_path / "report.json", tmp_path / "fingerprints.jsonl"
    q.quality.main(
        [
            *(str(folder), "--scheme", "classic", "--k", "3", "--processes", "1"),
            *("--no-peers", "--no-openings", "--json", str(report)),
            *("--fingerprints", str(lines), *options),
        ]
    )
    written = [json.loads(line) for line in lines.read_text("utf-8").splitlines()]
    return capsys.readouterr().out, json.loads(report.read_text("utf-8")), written


class TestMain:
    def test_pages(self, q, tiny, tmp_path, capsys):
        out, report, lines = run(q, capsys, tiny, tmp_path)
        assert out.startswith("command: ")
        found = {(r["k"], r["by"], r["pairs"]): r for r in report["page"]["results"]}
        micro = found[3, "tables", "all"]["micro"]
        # The equal pages a and b; f is a page without text.
        assert (micro["found"], micro["must_be_found"], micro["wrong"]) == (1, 2, 0)
        assert micro["must_not_be_found"] == 4
        assert report["page"]["served"]["classic"]["skipped"] == {"no_text": 1}
        assert [line["id"] for line in lines] == list("abcdf")
        assert lines[0]["fingerprint"] == lines[1]["fingerprint"] != lines[2]["fingerprint"]
        assert len(lines[0]["fingerprint"]) == 16
        assert (lines[4]["fingerprint"], lines[4]["skipped"]) == (None, "no_text")
        assert {*lines[0]} == {
            *("set", "id", "scheme", "text", "fingerprint", "tokens", "way", "skipped")
        }

    def test_truth(self, q, tiny, tmp_path, capsys):
        _, report, lines = run(q, capsys, tiny, tmp_path, "--text", "truth")
        micro = report["truth"]["results"][0]["micro"]
        # Now f has its text, which is a's and b's; bf isn't listed.
        assert (micro["found"], micro["must_be_found"], micro["wrong"]) == (2, 2, 1)
        assert lines[4]["way"] == "text"

    def test_kept(self, q, tiny, tmp_path, capsys):
        report = tmp_path / "report.json"
        options = ["--dedupe", "--extractor text", "--json", str(report)]
        q.quality.main([str(tiny), "--kept", *options])
        out = capsys.readouterr().out
        assert "dedupe, files: what stays and what is lost" in out
        found = json.loads(report.read_text("utf-8"))
        assert "page" not in found
        for one in found["kept"]:
            # b is a copy of a; f has no text and stays.
            assert (one["documents"], one["pairs"], one["both_stay"]) == (4, 2, 1)
            assert list(one["dropped"]) == ["b"]
            assert one["lost_below"] == {"0.2": 0, "0.5": 0, "0.8": 0}

    def test_templates(self, q, tmp_path, capsys, monkeypatch):
        report = tmp_path / "report.json"
        few = [family for family in q.templates.FAMILIES if family.name == "recipes"]
        monkeypatch.setattr(q.template_results, "FAMILIES", few)
        q.quality.main(["--templates", "--dedupe=--max-distance=0", "--json", str(report)])
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines[-2:]] == ["recipes", "all"]
        by_url, by_file = json.loads(report.read_text("utf-8"))["templates"]
        # Not one bit apart are copies alone.
        assert (by_url["form"], by_url["lost"], by_url["distinct"]) == ("feed", {}, 48)
        assert 1 <= by_url["copies_dropped"] <= by_url["copies"]
        assert by_url | {"form": "files"} == by_file

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "a page set is needed"),
            (["--kept", "--templates"], "a page set is needed"),
            (["x", "--dedupe=--extractor text"], "is for --kept and --templates"),
        ],
    )
    def test_wrong_usage(self, q, arguments, message, capsys):
        with pytest.raises(SystemExit):
            q.quality.main(arguments)
        assert message in capsys.readouterr().err

    def test_openings_and_edits_are_printed(self, q, tmp_path, capsys):
        folder = write_set(
            tmp_path / "set",
            [(str(n), "en", 250, text_of(n, 250), None) for n in range(4)],
        )
        q.quality.main(
            [str(folder), "--scheme", "classic", "--k", "3", "--processes", "1", "--edits", "1"]
        )
        out = capsys.readouterr().out
        assert "openings of 30 tokens" in out
        assert "words changed" in out
        assert "TextProfile" in out
