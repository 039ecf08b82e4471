"""`calibrate` chooses the k and the least resemblance that fit documents."""

from __future__ import annotations

import json

import pytest

from scrapy_simhash.calibration.calibrating import PresentSettings, calibrate
from scrapy_simhash.calibration.counting import Pairs
from scrapy_simhash.calibration.sampling import Sample
from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation, names_agree
from scrapy_simhash.detector import Detector
from scrapy_simhash.documents.reader import Document, DocumentReader, HtmlDocument
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.resemblance import resemblance
from scrapy_simhash.scheme import PRESETS

from .pages import articles, page

TEXTS = articles(40, 25)


def preset(name):
    """Return the settings of a preset without confirmation."""
    return PresentSettings(name, PRESETS[name].scheme, PRESETS[name].max_distance)


def confirmed(*, min_resemblance=0.6, same_name=True, served_distance=None):
    return PresentSettings(
        *("wide", PRESETS["wide"].scheme, PRESETS["wide"].max_distance),
        Confirmation(min_resemblance, same_name),
        served_distance,
    )


def calibrated(documents, *names, **options):
    sample = Sample.draw(documents, 1000, 1)
    presets = options.pop("presets", None) or [preset(name) for name in names or ("wide",)]
    return calibrate(sample, presets, **{"min_tokens": 30, "seed": 1, **options})


def documents(texts):
    return [Document(f"d{number}", text) for number, text in enumerate(texts)]


def test_every_pair_is_counted_once_by_what_it_is():
    texts = [
        *TEXTS,
        "渡轮九点出发，六点回来，船上没有座位。" * 9,
        "渡轮九点出发，六点回来，船上没有座位！" * 9,
    ]
    found = calibrated(documents(texts), "wide", "classic", "ascii-mt19937")
    for one in found.presets:
        detector = Detector(one.preset.scheme)
        pages = [detector.fingerprint_text(text).fingerprint for text in texts]
        expected = {kind: [0] * (one.preset.scheme.bits + 1) for kind in range(3)}
        for b in range(len(texts)):
            for a in range(b):
                if pages[a] is None or pages[b] is None:
                    continue
                alike = resemblance(texts[a], texts[b])
                kind = 0 if alike >= 0.8 else 1 if alike >= 0.2 else 2
                expected[kind][hamming_distance(pages[a], pages[b])] += 1
        counts = one.counts
        assert [counts.near_duplicate, counts.between, counts.different] == list(expected.values())
        assert one.fingerprints == sum(page is not None for page in pages)
    assert found.presets[0].near_duplicate_pairs == 26
    assert found.presets[2].skipped == {"unsupported_text": 2}


def test_a_k_that_tells_them_apart():
    found = calibrated(documents(TEXTS), "wide", "classic")
    wide, classic = found.presets
    assert wide.edited_copy_pairs == classic.edited_copy_pairs == 0
    assert wide.least is None
    assert (wide.chosen.recall, wide.chosen.precision, wide.table_recall) == (
        1,
        1,
        pytest.approx(1, abs=1e-3),
    )
    farthest = max(d for d, count in enumerate(wide.counts.near_duplicate) if count)
    nearest = next(d for d, count in enumerate(wide.counts.different) if count)
    assert (wide.choice.low, wide.choice.high) == (farthest, nearest - 1)
    assert wide.choice.middle == (farthest + nearest - 1) // 2
    assert found.best is wide
    assert found.best.chosen.f1 >= classic.chosen.f1


def test_copies_are_made_where_there_are_few():
    texts = TEXTS[:-6]
    found = calibrated(documents(texts)).presets[0]
    assert found.near_duplicate_pairs == 19
    assert found.edited_copy_pairs > 100
    assert found.choice is not None
    assert found.rows[-1].all_near_duplicates == pytest.approx(20)
    assert calibrated(documents(texts)) == calibrated(documents(texts))
    none = calibrated(documents(TEXTS[:40]))
    assert none.presets[0].near_duplicate_pairs == 0
    assert none.presets[0].choice is not None


def test_too_few_pages():
    for texts in ([], ["too short"], TEXTS[:3]):
        found = calibrated(documents(texts))
        assert found.presets[0].choice is None
        assert found.presets[0].table_recall is None
        assert found.best is None


def test_copies_that_extraction_takes_apart_count_as_near_duplicates():
    """Extraction takes the article of one page, and only a selected part of its copy."""
    body = "".join(f"<p>{text}</p>" for text in TEXTS[0].split(". "))
    half = "".join(f"<p>{text}</p>" for text in TEXTS[0].split(". ")[:4])
    whole = f"<html><body><article>{body}</article></body></html>"
    marked = whole.replace(half, f"<div class='lead'>{half}</div>")
    scheme = preset("wide")
    from dataclasses import replace

    scheme = scheme._replace(scheme=replace(scheme.scheme, select=(".none",)))
    pages = Sample.draw([HtmlDocument("a", whole), HtmlDocument("b", marked)], 9, 1).pages(
        [scheme.scheme], 30
    )
    short = pages[1]._replace(
        extraction=replace(pages[1].extraction, text=" ".join(TEXTS[0].split(". ")[:4]))
    )
    assert resemblance(pages[0].extraction.text, short.extraction.text) < 0.8
    schemes = [(256, UNCONFIRMED)]
    (counts,) = Pairs([pages[0], short], schemes, 0.8).count()
    assert sum(counts.near_duplicate) == 1
    same = short._replace(content=short.extraction.text)
    (counts,) = Pairs([pages[0], same], schemes, 0.8).count()
    assert sum(counts.near_duplicate) == 0


def test_the_threshold():
    alike = resemblance(TEXTS[0], TEXTS[40])
    for threshold, pairs in ((alike, 1), (alike + 1e-9, 0)):
        found = calibrated(documents([TEXTS[0], TEXTS[40]]), threshold=threshold)
        assert found.presets[0].near_duplicate_pairs == pairs
        assert found.threshold == threshold


def test_pairs_near_k_begin_with_those_that_it_gets_wrong():
    texts = [*TEXTS, TEXTS[0].split(". ", 9)[-1] + " " + TEXTS[0]]
    found = calibrated(documents(texts), list_pairs=True)
    (pairs,) = found.pairs
    k = found.presets[0].choice.max_distance
    wrong = [
        (one.kind == "different") == (one.distance <= k) and one.kind != "between" for one in pairs
    ]
    assert wrong == sorted(wrong, reverse=True)
    margins = [abs(one.distance - k) for one in pairs if one.kind == "between"]
    assert margins == sorted(margins)
    assert all(margin <= 8 for margin in margins)
    assert all(0 <= one.resemblance <= 1 for one in pairs)


def test_pairs_are_counted_by_similarity_and_names():
    """The counts are those of a crawl that compares two pages at a time."""
    titles = ["Ferries", "Boats", "Ferries to the island"]
    pages = [
        HtmlDocument(
            f"https://a{n % 2}.example/{n}",
            page(text, titles[n % 3]).replace("<p>", "<h1>Harbour</h1><p>" if n % 5 else "<p>"),
        )
        for n, text in enumerate(TEXTS)
    ]
    one = calibrated(pages, presets=[confirmed()]).presets[0]
    sampled = Sample.draw(pages, 1000, 1).pages([one.preset.scheme], 30)
    confirmation = Confirmation()
    expected = [[[0] * 257 for _ in range(101)] for _ in range(3)]
    apart = 0
    for b, other in enumerate(sampled):
        for page_a in sampled[:b]:
            evidence = page_a.fingerprints[0].evidence, other.fingerprints[0].evidence
            distance = hamming_distance(
                page_a.fingerprints[0].fingerprint, other.fingerprints[0].fingerprint
            )
            alike = resemblance(page_a.extraction.text, other.extraction.text)
            agree = names_agree(*evidence)
            apart += alike >= 0.8 and agree is False
            similarity, _ = confirmation.compare(*evidence)
            # Names in doubt require a higher similarity.
            if distance <= 256 // 3 and (agree or (agree is None and similarity >= 0.8)):
                step = int(similarity * 100 + 1e-9)
                expected[0][step][distance] += alike >= 0.8
                expected[1][step][distance] += alike < 0.2
                expected[2][step][distance] += alike < 0.5
    assert list(one.counts.confirmable) == expected
    assert one.counts.named_apart == apart > 0
    assert one.near_duplicate_pairs == 25 - apart
    # Names are not compared.
    one = calibrated(pages, presets=[confirmed(same_name=False)]).presets[0]
    assert (one.counts.named_apart, one.near_duplicate_pairs) == (0, 25)


def test_a_least_resemblance_that_tells_them_apart():
    """The texts are equal except for every tenth word."""
    form = TEXTS[39].split()
    texts = [
        " ".join(own if at % 10 == 0 else word for at, (word, own) in enumerate(both))
        for both in (list(zip(form, text.split(), strict=False)) for text in TEXTS[:38])
    ]
    alike = [resemblance(texts[0], other) for other in texts[1:]]
    assert 0.2 < min(alike) <= max(alike) < 0.5
    texts += [f"{text} Nobody waved." for text in texts[:22]]
    texts += articles(20, 0, seed=9)
    low = calibrated(documents(texts), presets=[confirmed(min_resemblance=0.2)]).presets[0]
    # Sketches compare runs of 3 words, which are more often equal than runs of 5.
    assert 0.4 < low.confirmation.min_resemblance == low.least.low / 100 < 0.8
    assert (low.chosen.recall, low.chosen.precision) == (1, 1)
    now = calibrated(documents(texts), presets=[confirmed(min_resemblance=0.8)]).presets[0]
    assert now.least == (80, low.least.low, low.least.high)
    too_high = calibrated(documents(texts), presets=[confirmed(min_resemblance=1)]).presets[0]
    assert too_high.least.per_cent == too_high.least.high < 100
    assert too_high.now.recall < too_high.chosen.recall == 1


def test_k_within_what_indexes_serve():
    found = calibrated(documents(TEXTS), presets=[confirmed()]).presets[0].choice
    assert found.low < found.max_distance == PRESETS["wide"].max_distance
    served = found.low + (found.max_distance - found.low) // 2
    chosen = calibrated(documents(TEXTS), presets=[confirmed(served_distance=served)])
    assert chosen.presets[0].choice.max_distance == served
    too_low = calibrated(documents(TEXTS), presets=[confirmed(served_distance=found.low - 1)])
    assert too_low.presets[0].choice == found


def test_progress():
    pages, pairs = [], []
    calibrated(
        documents(TEXTS),
        on_page_progress=lambda: pages.append(1),
        on_pairs_progress=lambda done, of: pairs.append((done, of)),
    )
    assert len(pages) == len(TEXTS)
    assert pairs[-1] == (len(TEXTS), len(TEXTS))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["daniel", "ota_html", "cc_legalcode"])
def test_on_real_pages_the_k_is_one_of_the_best(shared, name):
    """Measured as in benchmarks/calibration.py, on pairs of real texts."""
    folder = shared / "data" / name
    if not folder.is_dir():
        pytest.skip(f"there is no page set {name}")
    lines = (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines()
    docs = [json.loads(line) for line in lines]
    files = [folder / doc["file"] for doc in docs]
    wide = calibrated(DocumentReader(keep_html=True).documents(files)).presets[0]
    long = {doc["id"]: doc for doc in docs if doc["ntok"] >= 50}
    detector = Detector(wide.preset.scheme)
    prints = {}
    for doc in long.values():
        (read,) = DocumentReader(keep_html=True).file(folder / doc["file"])
        prints[doc["id"]] = detector.fingerprint_page(read.text).fingerprint
    judged = {}
    with (folder / "pairs.tsv").open(encoding="utf-8") as rows:
        header = next(rows).rstrip("\n").split("\t")
        for row in rows:
            pair = dict(zip(header, row.rstrip("\n").split("\t"), strict=True))
            judged[frozenset((pair["a"], pair["b"]))] = float(pair["jaccard"])
    near, different = [0] * 257, [0] * 257
    known = [one for one in long if prints[one] is not None]
    for number, a in enumerate(known):
        for b in known[:number]:
            if long[a]["lang"] == long[b]["lang"]:
                alike = judged.get(frozenset((a, b)), 0.0)
                apart = hamming_distance(prints[a], prints[b])
                near[apart] += alike >= 0.8
                different[apart] += alike < 0.2
    must = sum(value >= 0.8 and set(pair) <= set(long) for pair, value in judged.items())

    def measured(k):
        found, wrong = sum(near[: k + 1]), sum(different[: k + 1])
        recall, precision = found / must, found / (found + wrong) if found + wrong else 1.0
        return recall, precision, 2 * recall * precision / (recall + precision or 1)

    best = max((measured(k) for k in range(256)), key=lambda one: one[2])
    chosen = measured(wide.choice.max_distance)
    assert abs(chosen[0] - best[0]) <= 0.02
    assert abs(chosen[1] - best[1]) <= 0.02
