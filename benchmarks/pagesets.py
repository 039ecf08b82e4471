"""Crawl page sets with the example project in tag mode, and count the verdicts.

A page set is a folder with ``docs.jsonl`` (a line per document: ``id``, ``lang``, ``file``; the
files may be gzip-compressed) and, if it has judged pairs, ``pairs.tsv`` with the columns ``a``,
``b`` and ``jaccard``. Each document has a URL on loopback, and one page links to all of them.

    python benchmarks/pagesets.py FOLDER…  [--pairs N] [-s NAME=VALUE …]
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import platform
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent / "example_project"
SEED = 1


class Document(NamedTuple):
    """A document of a page set; `path` is its page."""

    page_set: str
    id: str
    lang: str
    path: Path


def documents(folder: Path) -> list[Document]:
    """Return the documents of a set that have a page."""
    lines = (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Document(folder.name, doc["id"], doc.get("lang") or "?", folder / doc["file"])
        for doc in map(json.loads, lines)
        if doc.get("file")
    ]


def judged_pairs(folder: Path) -> dict[frozenset[str], float]:
    """Return the resemblance of the judged pairs of a set, by their two ids."""
    path = folder / "pairs.tsv"
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {frozenset((row["a"], row["b"])): float(row["jaccard"]) for row in rows}


class PageSetHandler(BaseHTTPRequestHandler):
    """A handler that serves ``/`` with links to all documents, and document n as ``/n``."""

    documents: list[Document]

    def do_GET(self) -> None:
        """Send a document, the page of links, or status 404."""
        number = self.path.lstrip("/")
        if not number:
            links = "".join(f'<a href="/{n}">{n}</a> ' for n in range(len(self.documents)))
            self._answer(f"<html><body>{links}</body></html>".encode())
        elif number.isdigit() and int(number) < len(self.documents):
            content = self.documents[int(number)].path.read_bytes()
            self._answer(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
        else:
            self.send_error(404)

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        # No charset in the header: only the pages declare it, if at all.
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


def crawl(url: str, directory: Path, settings: list[str]) -> tuple[list[dict[str, str]], str]:
    """Return the items and the log of a crawl in tag mode."""
    options = [
        "SIMHASH_ACTION=tag",
        f"SIMHASH_DIR={directory / 'index'}",
        "DEPTH_LIMIT=1",
        "ROBOTSTXT_OBEY=0",
        "LOG_LEVEL=INFO",
        *settings,
    ]
    feed = directory / "items.jsonl"
    command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"url={url}", "-O", str(feed)]
    for option in options:
        command += ["-s", option]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in feed.read_text("utf-8").splitlines()], done.stderr


def main() -> None:
    """Serve and crawl the page sets, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--pairs", type=int, default=10, help="near-duplicate pairs to print")
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()

    PageSetHandler.documents = [doc for folder in arguments.folders for doc in documents(folder)]
    judged = {folder.name: judged_pairs(folder) for folder in arguments.folders}
    server = ThreadingHTTPServer(("127.0.0.1", 0), PageSetHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as temporary:
        items, log = crawl(
            f"http://127.0.0.1:{server.server_port}/", Path(temporary), arguments.settings
        )
    server.shutdown()
    server.server_close()

    packages = ("scrapy-simhash", "scrapy", "readability-lxml", "lxml", "jieba")
    print("command:", *sys.argv)
    print("python", platform.python_version(), *(f"{name} {version(name)}" for name in packages))
    report(items, judged, arguments.pairs)
    print("\n".join(line for line in log.splitlines() if "simhash" in line and "/" in line))


def document_of(url: str) -> Document | None:
    """Return the document that was served at a URL; None for the page of links."""
    number = url.rsplit("/", 1)[1]
    return PageSetHandler.documents[int(number)] if number else None


def report(
    items: list[dict[str, str]], judged: dict[str, dict[frozenset[str], float]], shown: int
) -> None:
    """Print verdicts by set and language, reported pairs by their judgement, and some pairs."""
    verdicts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    pairs = []
    for item in items:
        document = document_of(item["url"])
        if document is None:
            continue
        kind = item.get("simhash_kind") or "skipped"
        verdicts[document.page_set, document.lang][kind] += 1
        verdicts["all", ""][kind] += 1
        representative = item.get("simhash_representative")
        if representative:
            pairs.append((document, document_of(representative), item["simhash_distance"]))
    kinds = sorted({kind for counts in verdicts.values() for kind in counts})
    print(f"{'set':18}{'lang':8}" + "".join(f"{kind:>16}" for kind in kinds))
    for (page_set, lang), counts in sorted(verdicts.items()):
        print(f"{page_set:18}{lang:8}" + "".join(f"{counts[kind]:16d}" for kind in kinds))

    graded: Counter[str] = Counter()
    lines = []
    for document, other, distance in pairs:
        if other is None:
            continue
        resemblance = None
        if document.page_set == other.page_set:
            resemblance = judged[document.page_set].get(frozenset((document.id, other.id)))
        graded[grade(document, other, resemblance, judged)] += 1
        shown_resemblance = "not judged" if resemblance is None else f"{resemblance:.2f}"
        lines.append(
            f"distance {distance:>3}, resemblance {shown_resemblance}\n"
            f"    {document.page_set} {document.lang} {document.id}\n"
            f"    {other.page_set} {other.lang} {other.id}"
        )
    print("near-duplicates by resemblance of the judged texts:", dict(sorted(graded.items())))
    random.Random(SEED).shuffle(lines)
    print(f"{min(shown, len(lines))} of {len(lines)} near-duplicates, seed {SEED}:")
    print("\n".join(lines[:shown]))


def grade(
    document: Document,
    other: Document,
    resemblance: float | None,
    judged: dict[str, dict[frozenset[str], float]],
) -> str:
    """Return the judgement of a reported pair: below a resemblance of 0.2 wrong, from 0.8 right."""
    if resemblance is None:
        same = document.page_set == other.page_set and document.lang == other.lang
        # Sets with judged pairs list all pairs of one language with a resemblance of 0.05 or more.
        return "wrong (< 0.05)" if same and judged[document.page_set] else "not judged"
    if resemblance < 0.2:
        return "wrong (< 0.2)"
    return "right (>= 0.8)" if resemblance >= 0.8 else "between"


if __name__ == "__main__":
    main()
