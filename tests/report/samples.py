"""Invented reports: a small one that reads like a real crawl, and ones of given pages."""

import copy
import random
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.hashes import token_hashes
from scrapy_simhash.index.texts import KeptText
from scrapy_simhash.report.data import report_data
from scrapy_simhash.sketch import sketch
from tests.report.browser import HOSTILE

BITS, MAX_DISTANCE = 256, 36
FROM_S = 1_795_305_600

SCENES = (
    "The harbour council has voted {n} to 3 for a second breakwater north of the old pier.",
    "Keeper {name} notes wind, rain and passing ships in the lighthouse book by the hour.",
    "The night ferry leaves the western quay at half past {n}, weather permitting.",
    "Divers have found the bell of the steamer {ship} in {n} metres of water.",
    "A reading room with {n} thousand charts and letters reopens after the storm of last winter.",
    "The crew of the {ship} was taken ashore by the lifeboat before the swell rose.",
    "Batteries now drive {n} of the small ferries, whose engines hum instead of rattle.",
    "Fishermen say the herring came {n} days late, and stayed longer than anyone remembers.",
    "Masons are repairing the steps below the chapel, where the spring tide had loosened stones.",
    "{name} of the port office warns that the sandbank has moved {n} cables to the east.",
)
NAMES = ("Aldous", "Berit", "Caspar", "Dagny", "Edvard", "Frida")
SHIPS = ("Petrel", "Northern Star", "Halcyon", "Marigold", "Sea Campion")
NEWS = "https://news.harbour.example"


def flipped(fingerprint, count, chance, bits=BITS):
    for bit in chance.sample(range(bits), count):
        fingerprint ^= 1 << bit
    return fingerprint


def article(chance, sentences=14):
    """Paragraphs of two sentences."""
    said = [
        chance.choice(SCENES).format(
            n=chance.randint(4, 12), name=chance.choice(NAMES), ship=chance.choice(SHIPS)
        )
        for _ in range(sentences)
    ]
    return "\n".join(" ".join(said[at : at + 2]) for at in range(0, sentences, 2))


def edited(text, chance, changes):
    words = text.split(" ")
    for _ in range(changes):
        words[chance.randrange(len(words))] = chance.choice(("twice", "at dawn", "again"))
    return " ".join(words)


def reported(pages):
    """The report of an index that met these pages: (seconds, key, fingerprint, title, text).

    A text that is None was not kept.
    """
    with tempfile.TemporaryDirectory() as folder:
        directory, scheme = Path(folder) / "index", Scheme.preset("wide")
        with open_index(
            directory, scheme, max_distance=MAX_DISTANCE, confirmation=UNCONFIRMED
        ) as index:
            for seen_s, key, fingerprint, title, text in sorted(pages, key=lambda page: page[0]):
                index.rules = replace(index.rules, clock=lambda now_s=FROM_S + seen_s: now_s)
                made = sketch(token_hashes(text.split())) if "ferry" in (text or "") else b""
                evidence = Evidence(made, label=title.encode())
                index.confirm(index.observe(key, fingerprint, evidence))
                if text is not None:
                    index.texts.keep(key, KeptText(title, text))
        report = report_data(directory)
    report["index"]["directory"] = "/srv/crawls/.scrapy/simhash/spiders/harbour"
    return report


@cache
def empty_report():
    return reported([])


ENDINGS = (
    *["{key}?from={hex}"] * 3,
    *["{key}?print={n}"] * 2,
    "{key}?utm_source=mail&utm_medium={n}",
    "http://mirror.harbour.example:8080/copy{n}{path}",
    "https://syndicate.example/wire/{hex}",
)


@cache
def small_report():
    """Sixty clusters of an invented news site, with texts. Don't change it."""
    chance = random.Random(5)
    pages = []
    for number in range(60):
        fingerprint, text = chance.getrandbits(BITS), article(chance)
        slug = "-".join(
            chance.sample(("storm", "ferry", "pier", "chapel", "tide", "bell", "quay"), 3)
        )
        path = f"/news/{chance.randint(2004, 2026)}/{slug}-{number}.html"
        title = slug.replace("-", " ").title()
        first_s = int(chance.triangular(0, 3000, 900))
        pages.append((first_s, NEWS + path, fingerprint, title, text))
        chained = fingerprint
        for n in range(1, 1 + (130 if number == 7 else min(int(chance.paretovariate(0.9)), 40))):
            ending = chance.choice(ENDINGS)
            if number == 7:
                ending = f"{NEWS}/calendar/{2020 + n // 12}/{n % 12 + 1:02}/"
            key = ending.format(
                key=NEWS + path, path=path, n=n, hex=f"{chance.getrandbits(48):012x}"
            )
            # Some go further and further from the first: another representative among them.
            before = chained if chance.random() < 0.3 else fingerprint
            chained = flipped(before, min(int(chance.gammavariate(1.6, 7)), 44), chance)
            seen_s = first_s + int(chance.triangular(5, 3600 - first_s))
            pages.append((seen_s, key, chained, title, edited(text, chance, min(n, 9))))
    # Pages that are near no other are counted, not listed.
    for n in range(700):
        seen_s = int(chance.triangular(0, 3000, 900)) if n else 0
        pages.append((seen_s, f"{NEWS}/{n}/about", chance.getrandbits(BITS), "", None))
    report = reported(pages)
    return report | {"crawl": crawl(report["index"]["near_duplicates"]), "similar": similar()}


def similar(count=17):
    """Pages of one template: each a year's tides."""
    return [
        {
            "key": f"{NEWS}/tides/{2000 + number}/",
            "like": f"{NEWS}/tides/1999/",
            "distance": 5 + number,
            "similarity": 55 - number,
            "title": "",
        }
        for number in range(count)
    ]


def crawl(near):
    return {
        "spider": "harbour",
        "reason": "finished",
        "started_at_s": FROM_S,
        "ended_at_s": FROM_S + 3725,
        "judged": 715 + near + 48,
        "new": 715,
        "near_duplicate": near,
        "unchanged": 41,
        "changed": 7,
        "error_page": 0,
        "similar": 17,
        "dropped": {"near_duplicate": near - 49, "unchanged": 0},
        "followed": {"near_duplicate": 7, "unchanged": 0},
        "tagged": {"near_duplicate": 42, "unchanged": 41},
        "skipped": {"few_tokens": 61, "not_html": 18, "no_callback": 4},
        "kept": {
            "flood": {"near_duplicate": 30, "unchanged": 0},
            "method": {"near_duplicate": 2, "unchanged": 0},
        },
        "stats": {
            "downloader/request_count": 1294,
            "response_received_count": 1289,
            "item_scraped_count": 702,
            "simhash/checked": 715 + near + 48,
        },
    }


def hostile_report():
    keys = [
        HOSTILE,
        "javascript:window.taken=true",
        f"https://a.example/?{HOSTILE}",
        "data:text/html,<script>window.taken=true</script>",
        "https://a.example/\u202egpj.exe",
        "\t=cmd",
        "https://\ud800.example/",
    ]
    report = reported(
        (number, key, number, HOSTILE, f"{HOSTILE} and {number}\n{HOSTILE}")
        for number, key in enumerate(keys)
    )
    report["crawl"] = copy.deepcopy(small_report()["crawl"])
    report["crawl"].update(spider=HOSTILE, reason=HOSTILE, skipped={HOSTILE: 1})
    report["crawl"]["kept"] = {HOSTILE: {"near_duplicate": 1, "unchanged": 0}}
    report["crawl"]["stats"] = {HOSTILE: HOSTILE}
    report["version"] = HOSTILE
    report["similar"] = [
        {"key": HOSTILE, "like": HOSTILE, "distance": 3, "similarity": 40, "title": HOSTILE}
    ]
    report["index"].update(directory=HOSTILE, scheme=HOSTILE, tables=HOSTILE)
    counts = {"near_duplicates": 1, "similar": 0, "representatives": 1}
    report["patterns"] = [
        {"pattern": HOSTILE, "example": HOSTILE, "like": HOSTILE, **counts},
        {
            "pattern": "q",
            "example": 'https://a.example/"onmouseover="alert(1)',
            "like": None,
            **counts,
        },
    ]
    report["pattern_count"] = 2
    report["pages"]["pattern"] = [-1] * len(keys)
    return report
