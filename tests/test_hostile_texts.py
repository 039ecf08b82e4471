"""Texts made to cost time: no step may take time that is quadratic in the length of a text.

A limit of CPU time is far above what a step needs, and far below what a square would take.
"""

import random
import time
import unicodedata

import pytest

from scrapy_simhash import Detector
from scrapy_simhash.documents.escaping import printable
from scrapy_simhash.extraction import plain_text
from scrapy_simhash.names.names import Names, page_names
from scrapy_simhash.resemblance import shingle_tokens
from scrapy_simhash.scheme import PRESETS
from scrapy_simhash.tokens.folding import nfkc, normalize
from scrapy_simhash.tokens.parts import sentences
from scrapy_simhash.tokens.tokenization import TOKENIZERS
from tests.crawl.harness import Crawl, run
from tests.crawl.pages import ARTICLES, page
from tests.crawl.site import serving

CHARACTERS = 200_000
LIMIT_S = 8.0
# Marks that NFKC sorts; unclosed pairs; near ends of sentences, links and numbers; scripts without
# spaces; invalid characters.
UNITS = [
    *("\u0315\u0316", "\uff9e\u0315", "\u0344\u0316", "\u0f73\u0f71\u0316", "\u0345\u0316"),
    *("a" + "\u0315\u0316" * 15, "\u0301a", "\u200d", "\u00ad", "\ufdfa", "\u1100\u1161\u11a8"),
    *(".", ".a", '!"', "!", "。", "」", ", ", "—", " - ", " ", "\n", "\u2028", "_", "-", '"', "|"),
    *("http://", "www.", "a@", "a@b.", "a.b@c.d.", "+", "1", "1.", "1:1", "a/n ", "c++", "a-"),
    *"中 的一是 か ก क् ａ。 w < <p> <!-- <![CDATA[ <svg>".split(),
    "<a ",
    *("<b>x<", '{"a":', "</a>", "&", "&#1", "&nbsp;", ";", "display:", "\x00", "\ud800"),
]
DETECTOR = Detector(PRESETS["wide"].scheme, min_tokens=1)


def as_page(text):
    return DETECTOR.fingerprint_page(
        f"<html><head><title>{text[:20_000]}</title><link rel=canonical href='{text[:20_000]}'>"
        f"</head><body class='{text[:20_000]}' style='{text[:20_000]}'><h1>{text[:20_000]}</h1>"
        f"<p>{text}</p></body></html>"
    )


STEPS = {
    "normalize": normalize,
    "name": lambda text: page_names(Names(text)),
    "item": plain_text,
    "page": as_page,
    "shown": printable,
    "shingles": shingle_tokens,
    "parts": sentences,
    **{f"tokens by {name}": tokenizer.tokens for name, tokenizer in TOKENIZERS.items()},
}


def cpu_s(function, *arguments):
    started = time.process_time()
    function(*arguments)
    return time.process_time() - started


@pytest.mark.thorough
@pytest.mark.parametrize("step", STEPS)
def test_every_step_takes_linear_time(step):
    STEPS[step]("warm up: 热身。")
    # Only Chinese words are guessed, which is slow for all texts, so a few units are enough.
    for unit in ("中", "的一是", "か", "w") if "keywords" in step else UNITS:
        text = (unit * (CHARACTERS // len(unit) + 1))[:CHARACTERS]
        assert cpu_s(STEPS[step], text) < LIMIT_S, repr(unit)


def test_short_runs_of_marks_are_plain_nfkc():
    chosen = random.Random(1)
    marks = [
        character
        for character in map(chr, range(0x300, 0x20000))
        if unicodedata.category(character) in ("Mn", "Mc", "Me")
    ]
    for _ in range(1000):
        text = "".join(
            chosen.choice("aé 中ｶ") + "".join(chosen.choices(marks, k=chosen.randrange(15)))
            for _ in range(20)
        )
        assert nfkc(text) == unicodedata.normalize("NFKC", text)
    for _, text in ARTICLES.values():
        assert nfkc(text) == unicodedata.normalize("NFKC", text)


def test_joiners_divide_runs_of_more_than_thirty_marks():
    # This is the Stream-Safe Text Format of UAX #15.
    safe = nfkc("a" + "\u0315\u0316" * 50)
    counts = (15, 15, 15, 5)
    assert safe == "a" + "\u034f".join("\u0316" * count + "\u0315" * count for count in counts)


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [0, 1])
def test_a_hostile_item_does_not_block_a_crawl(tmp_path, workers):
    # libxml2 compares each attribute of a tag to all before it, so most of them are cut away.
    slow = "<p " + " ".join(f"a{number}=1" for number in range(80_000)) + ">"
    marks = {"id": "marks", "text": "\u0315\u0316" * 75_000 + ARTICLES["mill"][1]}
    with serving() as site:
        urls = [site.put("/one", page("ice")), site.put("/two", page("clock"))]
        items = {"/one": [marks, {"id": "slow", "text": slow}], "/two": [marks]}
        crawl = Crawl(
            urls,
            {
                "SIMHASH_ITEM_FIELDS": ["text"],
                "SIMHASH_WORKERS": workers,
                "SIMHASH_TIMEOUT_MS": 3000,
            },
            spider="tests.crawl.spiders.ItemsSpider",
            arguments={"items": items},
        )
        [result] = run(tmp_path, crawl)
    assert {item["id"] for item in result.items} == {"marks", "slow"}
    assert result.stat("item/near_duplicate") == 1
    assert result.stat("item/skipped/timeout") == 0
    assert result.stat("item/time/extraction_ms") < 3000
