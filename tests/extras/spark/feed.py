"""Records with copies of all kinds, and what `dedupe` says of them."""

import json
import random

from scrapy_simhash.dedupe.options import DedupeOptions, DedupePaths, Fields
from scrapy_simhash.dedupe.run import dedupe
from scrapy_simhash.scheme import preset


def options_of(name="wide", **more):
    chosen = preset(name)
    fields = Fields(text=("title", "text"), key="url")
    return DedupeOptions(
        scheme=chosen.scheme, max_distance=chosen.max_distance, fields=fields, **more
    )


def feed(count, *, equal=0, cluster=0, seed=1):
    """Records, a third of them edited copies of an earlier one.

    :param equal: so many more are one page, under different URLs.
    :param cluster: so many more are edited copies of one page, each in its own words.
    """
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghijklmnop", k=6)) for _ in range(4000)]

    def edited(text, share):
        return [chance.choice(words) if chance.random() < share else word for word in text]

    texts = []
    for number in range(count):
        if number % 3 == 2:
            # Copies of copies, too: some are near one that is dropped, but not near its own.
            title, text = chance.choice(texts)
            title = title if chance.random() < 0.9 else f"Page {number}"
            texts.append((title, edited(text, chance.uniform(0, 0.06))))
        else:
            texts.append((f"Page {number}", chance.choices(words, k=chance.randint(40, 120))))
    for number in range(0, count, 37):
        texts[number] = "Short", ["too", "few", "words", str(number)]
    flood, often = texts[1], texts[4]
    texts += [flood] * equal
    texts += [(often[0], edited(often[1], 0.03)) for _ in range(cluster)]
    chance.shuffle(texts)
    return [
        {"n": n, "url": f"https://e{n % 7}.com/{n}", "title": title, "text": " ".join(text)}
        for n, (title, text) in enumerate(texts)
    ]


def verdicts_of_dedupe(records, folder, options):
    """What `dedupe` says, line by line."""
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "feed.jsonl").write_text(lines, encoding="utf-8")
    paths = DedupePaths(
        inputs=[folder / "feed.jsonl"],
        state=folder / "state",
        verdicts=folder / "verdicts.jsonl",
        overwrite=True,
    )
    dedupe(paths, options)
    return [json.loads(line) for line in (folder / "verdicts.jsonl").read_bytes().splitlines()]


NAMES = ("key", "kind", "representative", "distance", "fingerprint", "similarity", "similar_to")


def said(verdict):
    """What is compared of a verdict of `dedupe`."""
    return tuple(verdict[name] for name in (*NAMES, "reason"))


def said_by_spark(row):
    values = row.asDict()
    if values["fingerprint"] is not None:
        values["fingerprint"] = bytes(values["fingerprint"]).hex()
    if values["similarity"] is not None:
        values["similarity"] = round(values["similarity"], 2)
    return said(values)
