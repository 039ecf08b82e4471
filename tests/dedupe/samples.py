"""Records with planted duplicates, and functions that de-duplicate them."""

import json
import random

from scrapy_simhash.dedupe.options import STANDARD_OUTPUT, DedupeOptions, DedupePaths
from scrapy_simhash.dedupe.run import dedupe
from scrapy_simhash.scheme import PRESETS

_VOCABULARY = [
    "".join(random.Random(seed).choices("abcdefghiklmnoprstuvw", k=3 + seed % 7))
    for seed in range(3000)
]


def words(seed, count=120):
    """Return words that depend on the seed alone."""
    return random.Random(seed).choices(_VOCABULARY, k=count)


def text(seed, *, edited=None, count=120):
    """Return the text of a seed, with one word edited if `edited` is a number."""
    made = words(seed, count)
    if edited is not None:
        made[edited % count] = f"edited{edited}"
    return " ".join(made)


def records(count, seed=0):
    """Return records, a third of which are near-duplicates of earlier ones."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        of = chance.randrange(number) if number and chance.random() < 0.34 else None
        body = (
            text(seed * 100_000 + number)
            if of is None
            else made[of]["text"].replace(" ", f" {chance.choice('abc')}{number} ", 1)
        )
        made.append({"url": f"https://example.com/{number}", "text": body})
    return made


def json_lines(values):
    """Return JSON lines as Scrapy writes them."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def read_lines(path):
    """Return the values in a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def options(preset="wide", **changes):
    """Return options with the scheme and distance of a preset."""
    chosen = PRESETS[preset]
    told = {"scheme": chosen.scheme, "max_distance": chosen.max_distance, "workers": 1}
    return DedupeOptions(**{**told, **changes})


def run(folder, *files, out="out", **changes):
    """De-duplicate files in a folder."""
    asked = {
        name: changes.pop(name)
        for name in ("index", "restart", "overwrite", "state", "against")
        if name in changes
    }
    return dedupe(
        DedupePaths(
            inputs=[folder / file for file in files],
            output=out if out in (None, STANDARD_OUTPUT) else folder / out,
            verdicts=folder / "verdicts",
            **{"state": folder / "state", **asked},
        ),
        options(**changes),
    )


def http_response(body, *headers, status="200 OK"):
    """Return an HTTP response as a server sends it: HTML, unless headers say otherwise."""
    told = headers or ("Content-Type: text/html",)
    head = "\r\n".join((f"HTTP/1.1 {status}", *told, "", "")).encode("latin-1")
    return head + body


def warc_record(kind, block, url="https://example.com/", content_type=None):
    """Return a WARC record as any tool writes it."""
    types = {"warcinfo": "application/warc-fields"}
    known = content_type or types.get(kind, f"application/http; msgtype={kind}")
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:0>\r\n"
        f"WARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"Content-Type: {known}\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


# Two near-duplicates, and one without a verdict.
RECORDS = [
    {"url": "https://e.com/1", "note": 'Fähre, "eins"\nzwei', "text": text(1)},
    {"url": "https://e.com/2", "note": "", "text": text(2)},
    {"url": "https://e.com/3", "note": "x", "text": text(1, edited=4)},
    {"url": "https://e.com/4", "note": "y", "text": "too short"},
    {"url": "https://e.com/5", "note": "z", "text": text(2, edited=9)},
]
