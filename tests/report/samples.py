"""Invented reports: a small one that reads like a real crawl, and large ones to be measured."""

import json
import random
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from functools import cache
from itertools import combinations_with_replacement

from scrapy_simhash.report.breakdown import Breakdown
from scrapy_simhash.url_patterns import url_pattern

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


def bits_set(number):
    return number.bit_count()


def leader(fingerprints, components, k):
    """(representative, distance) of each, as the report's data says they are: an oracle that
    compares with all earlier representatives of the component."""
    representative, distance, leaders = [], [], {}
    for page, fingerprint in enumerate(fingerprints):
        known = leaders.setdefault(components[page], [])
        near = [(bits_set(fingerprint ^ fingerprints[one]), one) for one in known]
        nearest = min(near, default=(k + 1, -1))
        if nearest[0] <= k:
            distance.append(nearest[0])
            representative.append(nearest[1])
        else:
            known.append(page)
            distance.append(0)
            representative.append(page)
    return representative, distance


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
        words[chance.randrange(len(words))] = chance.choice(
            ("quietly", "twice", "at dawn", "again")
        )
    return " ".join(words)


def compressed(title, text):
    content = json.dumps({"title": title, "text": text}, ensure_ascii=False)
    return b64encode(zlib.compress(content.encode("utf-8", "surrogatepass"))).decode()


def columns(pages, components, texts, *, bits=BITS):
    """`pages`: (key, fingerprint, seen_at_s, similarity in per cent, number of the text)."""
    representative, distance = leader([page[1] for page in pages], components, MAX_DISTANCE)
    return {
        "pages": {
            "key": [page[0] for page in pages],
            "seen_at_s": [page[2] for page in pages],
            "similarity": [
                -1 if of == number else page[3]
                for number, (page, of) in enumerate(zip(pages, representative, strict=True))
            ],
            "representative": representative,
            "distance": distance,
            "component": components,
            "text": [page[4] for page in pages],
            "title": [page[4] for page in pages],
        },
        "fingerprints": b64encode(
            b"".join(page[1].to_bytes(bits // 8, "big") for page in pages)
        ).decode(),
        "texts": texts,
        "titles": [json.loads(zlib.decompress(b64decode(text)))["title"] for text in texts],
    }


def head(listed, *, crawl=None, similar=()):
    """The rest of a report, of pages in `columns`."""
    pages = listed["pages"]
    near = [page for page, of in enumerate(pages["representative"]) if of != page]
    distances = [0] * (MAX_DISTANCE + 1)
    for page in near:
        distances[pages["distance"][page]] += 1
    sizes = Counter(pages["key"][pages["representative"][page]] for page in near).most_common()
    return {
        "version": "0.1.0",
        "made_at_s": FROM_S + 3900,
        "index": {
            "directory": "/srv/crawls/.scrapy/simhash/spiders/harbour",
            "scheme": "wide-1:readability:bigrams:log:xxh3:256",
            "bits": BITS,
            "max_distance": MAX_DISTANCE,
            "tables": "16 tables of 16 bits (16 blocks, 1 chosen)",
            "file_bytes": 4_217_334,
            "representatives": len(pages["key"]) - len(near),
            "near_duplicates": len(near),
            "clusters": len(sizes),
            "similar": len(similar),
            "log_lines": len(near),
        },
        "crawl": crawl,
        "most": None,
        "timeline": {"from_s": 0, "step_s": 1, "representatives": [], "near_duplicates": []},
        "distances": distances,
        "similar": list(similar),
        "text_characters": 200_000,
        "sizes": {},
        "left_out": {"clusters": 0, "shortened": 0, "near_duplicates": 0, "texts": 0},
        **placed(listed),
    }


def placed(report, **tables):
    """A report, or its pages, with these tables of hosts, patterns and pairs of patterns, and the
    numbers that its pages have in them.
    """
    rows = {name: tables.get(name, report.get(name, [])) for name in ("hosts", "patterns", "pairs")}
    counts = {name: len(found) for name, found in rows.items()} | tables.get("row_counts", {})
    breakdown = Breakdown(**rows, row_counts=counts)
    numbers = breakdown.numbered(report["pages"]["key"])
    report.update(breakdown._asdict())
    report["names"] = {"hosts": numbers["hosts"], "patterns": numbers["patterns"]}
    report["pages"].update(host=numbers["of_host"], pattern=numbers["of_pattern"])
    return report


def empty_report():
    return head(columns([], [], []))


ENDINGS = (
    ("?sessionid={hex}", "news.harbour.example/news/*/*.html?sessionid=*"),
    ("?print={n}", "news.harbour.example/news/*/*.html?print=*"),
    (
        "?utm_source=mail&utm_medium={n}",
        "news.harbour.example/news/*/*.html?utm_medium=*&utm_source=*",
    ),
    ("#", "mirror.harbour.example:8080/*/news/*/*.html"),
    ("/", "syndicate.example/wire/*"),
)


@cache
def small_report():
    """Sixty clusters of an invented news site, with texts. Don't change it."""
    chance = random.Random(5)
    pages, components, texts, patterns = [], [], [], {}
    for number in range(60):
        fingerprint, text = chance.getrandbits(BITS), article(chance)
        slug = "-".join(
            chance.sample(("storm", "ferry", "pier", "chapel", "tide", "bell", "quay"), 3)
        )
        key = f"{NEWS}/news/{chance.randint(2004, 2026)}/{slug}-{number}.html"
        members = 130 if number == 7 else min(int(chance.paretovariate(0.9)), 40)
        chained, first_s = fingerprint, 0
        for member in range(members + 1):
            name, prints = key, fingerprint
            if number == 7 and member:
                name = f"{NEWS}/calendar/{2020 + member // 12}/{member % 12 + 1:02}/"
            elif member:
                ending, pattern = ENDINGS[chance.choice((0, 0, 0, 1, 1, 2, 3, 4))]
                name = key + ending.format(hex=f"{chance.getrandbits(48):012x}", n=member)
                if ending == "#":
                    name = key.replace("https://news.", "http://mirror.").replace(
                        ".example", f".example:8080/copy{member}"
                    )
                elif ending == "/":
                    name = f"https://syndicate.example/wire/{number}-{member}"
                patterns.setdefault(pattern, []).append(name)
            if member:
                bits = min(int(chance.gammavariate(1.6, 7)), 44)
                # Some go further and further from the first: another representative among them.
                prints = flipped(chained if chance.random() < 0.3 else fingerprint, bits, chance)
                chained = prints
            title = slug.replace("-", " ").title()
            texts.append(compressed(title, edited(text, chance, min(member, 9))))
            first_s = first_s if member else int(chance.triangular(0, 3000, 900))
            later_s = int(bool(member) and chance.triangular(5, 3600 - first_s))
            seen_at_s = FROM_S + first_s + later_s
            unknown = bool(member) and number % 9 == 4 and chance.random() < 0.5
            similarity = -1 if unknown or not member else max(100 - bits, 60)
            pages.append((name, prints, seen_at_s, similarity, len(texts) - 1))
            components.append(number)
    order = sorted(range(len(pages)), key=lambda page: pages[page][2])
    listed = columns([pages[page] for page in order], [components[page] for page in order], texts)
    report = head(listed, crawl=crawl(listed), similar=similar())
    report["timeline"] = timeline(listed["pages"])
    # Pages that are near no other are counted, not listed.
    over_time = report["timeline"]["representatives"]
    for _ in range(763 - sum(over_time)):
        over_time[int(chance.triangular(0, 3000, 900)) // 60] += 1
    report["index"]["representatives"] = 763
    near = report["index"]["near_duplicates"]
    hosts = [
        {"host": "news.harbour.example", "near_duplicates": near - 57, "representatives": 750},
        {"host": "mirror.harbour.example:8080", "near_duplicates": 31, "representatives": 2},
        {"host": "syndicate.example", "near_duplicates": 26, "representatives": 11},
    ]
    shown_patterns = [
        {
            "pattern": "news.harbour.example/calendar/*/*/",
            "near_duplicates": 130,
            "similar": 0,
            "representatives": 1,
            "example": f"{NEWS}/calendar/2024/05/",
        },
        *(
            {
                "pattern": pattern,
                "near_duplicates": len(names),
                "similar": 0,
                "representatives": 12,
                "example": names[0],
            }
            for pattern, names in sorted(patterns.items(), key=lambda item: -len(item[1]))
        ),
    ]
    keys, of = listed["pages"]["key"], listed["pages"]["representative"]
    both = {}
    for cluster in set(of):
        members = (key for key, other in zip(keys, of, strict=True) if other == cluster)
        patterns_of = Counter(map(url_pattern, members))
        for pair in combinations_with_replacement(sorted(patterns_of), 2):
            count = min(patterns_of[pattern] for pattern in pair) - (pair[0] == pair[1])
            if count:
                both.setdefault(pair, []).append(count)
    pairs = [
        {
            "patterns": list(pair),
            "near_duplicates": sum(counts),
            "clusters": len(counts),
            "examples": [next(key for key in keys if url_pattern(key) == name) for name in pair],
        }
        for pair, counts in sorted(both.items(), key=lambda item: -sum(item[1]))
    ]
    return placed(report, hosts=hosts, patterns=shown_patterns, pairs=pairs)


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


def crawl(listed):
    near = sum(page != of for page, of in enumerate(listed["pages"]["representative"]))
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


def timeline(pages, step_s=60):
    steps = (max(pages["seen_at_s"]) - FROM_S) // step_s + 1
    sums = {"representatives": [0] * steps, "near_duplicates": [0] * steps}
    for page, of in enumerate(pages["representative"]):
        kind = "representatives" if of == page else "near_duplicates"
        sums[kind][(pages["seen_at_s"][page] - FROM_S) // step_s] += 1
    return {"from_s": FROM_S, "step_s": step_s, **sums}


@cache
def large_report(clusters=10_000, near_duplicates=100_000):
    """Each cluster a component, with its near-duplicates spread over the columns."""
    chance = random.Random(8)
    prints = [chance.getrandbits(BITS) for _ in range(clusters)]
    pages = [
        (
            f"https://host{n % 997}.example/section/{n % 53}/article-{n}.html",
            prints[n],
            FROM_S + n,
            -1,
            -1,
        )
        for n in range(clusters)
    ]
    components = list(range(clusters))
    representative, distance = list(range(clusters)), [0] * clusters
    for number in range(near_duplicates):
        # All have one; some have hundreds.
        of = number if number < clusters else int(clusters * chance.random() ** 4)
        apart = min(int(chance.gammavariate(2, 6)), MAX_DISTANCE)
        key = f"{pages[of][0]}?session={chance.getrandbits(64):016x}&from={number}"
        similarity = -1 if chance.random() < 0.05 else 100 - apart
        pages.append(
            (key, flipped(prints[of], apart, chance), FROM_S + clusters + number, similarity, -1)
        )
        components.append(of)
        representative.append(of)
        distance.append(apart)
    listed = columns([], [], [])
    listed["pages"] = {
        "key": [page[0] for page in pages],
        "seen_at_s": [page[2] for page in pages],
        "similarity": [page[3] for page in pages],
        "representative": representative,
        "distance": distance,
        "component": components,
        "text": [-1] * len(pages),
        "title": [-1] * len(pages),
    }
    listed["fingerprints"] = b64encode(
        b"".join(page[1].to_bytes(BITS // 8, "big") for page in pages)
    ).decode()
    return head(listed)
