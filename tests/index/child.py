"""What tests run in another process: `python child.py what directory …`.

Lines on standard output are what the parent waits for.
"""

from __future__ import annotations

import random
import resource
import sys
from itertools import count

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.errors import StorageError
from scrapy_simhash.index import ObservingIndex, TablePlan

PLAN = TablePlan(64, 4)


def say(*words: object) -> None:
    print(*words, flush=True)


def opened(directory: str, bits: int = 64, *, incremental: bool = True) -> ObservingIndex:
    return open_index(
        f"leveldb:{directory}",
        Scheme(bits=bits),
        max_distance=3,
        plan=TablePlan(bits, 4),
        incremental=incremental,
    )


def page_key(run: int, number: int) -> str:
    """Some long, so that LevelDB writes tables, too, and not its log alone."""
    return f"https://example.com/{run}/{number}/" + "x" * (30_000 if number % 5 == 0 else 0)


def write(directory: str, run: int) -> None:
    """Confirm pages, and say so after each, until killed; others stay pending."""
    rng = random.Random(run)
    with opened(directory) as index:
        say("open", len(index))
        for number in count():
            fingerprint = rng.getrandbits(64)
            observation = index.observe(page_key(run, number), fingerprint)
            index.observe(f"pending {run} {number}", rng.getrandbits(64))
            index.observe(f"copy {run} {number}", fingerprint ^ 1)
            index.confirm(observation)
            say("confirmed", number, fingerprint)
            index.observe(f"changing {number % 3}", rng.getrandbits(64))
            index.confirm(f"changing {number % 3}")


def hold(directory: str) -> None:
    """Keep the index open until standard input ends."""
    with opened(directory) as index:
        index.confirm(index.observe("held", 0))
        say("open")
        sys.stdin.read()


def fill(directory: str) -> None:
    """Confirm pages on a disk that is full for a while; say which were confirmed."""
    rng = random.Random(1)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(directory) as index:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
        for number in range(3000):
            key, fingerprint = f"page {number}", rng.getrandbits(64)
            observation = index.observe(key, fingerprint)
            try:
                index.confirm(observation)
            except StorageError as error:
                say("refused", type(error).__name__, str(error).replace("\n", " "))
                say("sees", *[match.key == key for match in index.query(fingerprint)])
                break
            say("confirmed", key, fingerprint)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        for number in range(3000, 3500):
            key, fingerprint = f"page {number}", rng.getrandbits(64)
            try:
                index.confirm(index.observe(key, fingerprint))
            except StorageError:
                continue
            say("confirmed", key, fingerprint)


def race(bits: int) -> None:
    """Open each directory that standard input names, then close it at the next line."""
    from scrapy_simhash.index import leveldb, manifest

    # Slow the first time.
    manifest.environment()
    say("ready", leveldb.__name__)
    for line in sys.stdin:
        try_once(line.strip(), bits)


def try_once(directory: str, bits: int) -> None:
    try:
        index = opened(directory, bits)
    except StorageError as error:
        say(type(error).__name__)
        sys.stdin.readline()
    else:
        say("opened")
        sys.stdin.readline()
        index.close()


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "write":
        write(arguments[0], int(arguments[1]))
    elif what == "race":
        race(int(arguments[0]))
    else:
        {"hold": hold, "fill": fill}[what](arguments[0])
