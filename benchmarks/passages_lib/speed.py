"""Adding and checking: time, memory, disk, beside a scan of all fingerprints or of all texts."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from quality_lib.output import table
from scrapy_simhash.passages.index import open_passages
from scrapy_simhash.passages.matching import DEFAULT_MIN_SIMILARITY, CheckOptions, similarity_of
from scrapy_simhash.passages.scheme import PassageScheme

from passages_lib import texts

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from scrapy_simhash.passages.matching import Mode

_SENTENCES = (20, 60)
_EDITED = 0.1
_SCANNED_TEXTS = 200_000
_MODES: tuple[Mode, ...] = ("exact", "fast")
_KEEPING = {"texts kept": True, "without texts": False}


def made(folders: Sequence[Path], count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Documents of 20 to 60 sentences of real ones of their language, half of the sentences
    edited.
    """
    loaded = texts.load(folders)
    alphabet = texts.alphabet(loaded)
    by_language: dict[str, list[str]] = {}
    for document in loaded:
        by_language.setdefault(document.language, []).extend(
            document.text[start:end] for start, end in texts.sentences(document.text)
        )
    languages = sorted(name for name in by_language if len(by_language[name]) >= _SENTENCES[1])
    dice = random.Random(f"documents {seed}")
    for number in range(count):
        language = languages[number % len(languages)]
        some = dice.choices(by_language[language], k=dice.randint(*_SENTENCES))
        lines = [
            texts.edited(line, _EDITED * (dice.random() < 0.5), alphabet[language], dice)
            for line in some
        ]
        yield f"document {number}", "\n".join(lines)


def to_check(folders: Sequence[Path], arguments: argparse.Namespace) -> list[str]:
    """Texts of so many characters: a third of their sentences are of documents of the index."""
    indexed = list(made(folders, min(arguments.documents, 2000), arguments.seed))
    strangers = [text for _, text in made(folders, 400, arguments.seed + 1)]
    dice = random.Random(f"checked {arguments.seed}")
    found = []
    for _ in range(arguments.repeat):
        lines: list[str] = []
        while sum(map(len, lines)) + len(lines) < arguments.characters:
            source = dice.choice(indexed)[1] if dice.random() < 1 / 3 else dice.choice(strangers)
            lines.append(dice.choice(source.split("\n")))
        found.append("\n".join(lines)[: arguments.characters])
    return found


def child(arguments: argparse.Namespace) -> None:
    """In a process of its own: fill an index, or check one text that is read from stdin."""
    what, directory, *rest = arguments.child
    if what == "add":
        _add(arguments, Path(directory), keep_text=rest[0] == "True")
        return
    started = time.perf_counter()
    with open_passages(directory, create=False) as index:
        report = index.check("text", sys.stdin.read(), CheckOptions(mode=rest[0]))  # type: ignore[arg-type]
    print(json.dumps({"seconds": time.perf_counter() - started, "share": report.known_share}))


def _add(arguments: argparse.Namespace, directory: Path, *, keep_text: bool) -> None:
    documents = list(made(arguments.folders, arguments.documents, arguments.seed))
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu_s, started, last_s = time.process_time(), time.perf_counter(), 0.0
    scheme = PassageScheme(max_distance=arguments.max_distance)
    with open_passages(directory, scheme, keep_text=keep_text) as index:
        for number, (name, text) in enumerate(documents):
            if number == len(documents) * 9 // 10:
                last_s = time.perf_counter()
            index.add(name, text)
        ended = time.perf_counter()
        passages = index.passages
    print(
        json.dumps(
            {
                "documents": len(documents),
                "characters": sum(len(text) for _, text in documents),
                "passages": passages,
                "add_ms": (ended - started) / len(documents) * 1e3,
                "last_ms": (ended - last_s)
                / max(len(documents) - len(documents) * 9 // 10, 1)
                * 1e3,
                "cpu_ms": (time.process_time() - cpu_s) / len(documents) * 1e3,
                "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "before_mb": before_kb / 1024,
            }
        )
    )


def _child(arguments: argparse.Namespace, *what: str, text: str = "") -> dict[str, Any]:
    command = [sys.executable, sys.argv[0], "speed", *map(str, arguments.folders)]
    for name in ("documents", "characters", "seed", "max_distance"):
        command += [f"--{name.replace('_', '-')}", str(getattr(arguments, name))]
    done = subprocess.run(
        [*command, "--child", *what],
        input=text,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def show(arguments: argparse.Namespace) -> None:
    """All tables."""
    checked = to_check(arguments.folders, arguments)
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as directory:
        for name, keep_text in _KEEPING.items():
            path = Path(directory) / str(keep_text)
            added = _child(arguments, "add", str(path), str(keep_text))
            files = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            print(
                f"{name}: {added['documents']} documents of "
                f"{added['characters'] / added['documents']:.0f} characters, {added['passages']} "
                f"passages; added in {added['add_ms']:.2f} ms each (the last tenth "
                f"{added['last_ms']:.2f}, CPU {added['cpu_ms']:.2f}); peak RSS "
                f"{added['rss_mb']:.0f} MB, {added['before_mb']:.0f} before; "
                f"{files / added['documents']:.0f} bytes on disk each"
            )
            rows += [_timed(arguments, path, f"{name}, {mode}", mode, checked) for mode in _MODES]
    rows += peers(arguments, checked)
    print(f"\n== checking {len(checked)} texts of {arguments.characters} characters, seconds\n")
    print(table(["what", "p50", "max", "whole process, p50", "max", "known share"], rows))


def _timed(
    arguments: argparse.Namespace, path: Path, name: str, mode: Mode, checked: Sequence[str]
) -> list[str]:
    inside, outside, shares = [], [], []
    for number, text in enumerate(checked):
        started = time.perf_counter()
        with open_passages(path, create=False) as index:
            shares.append(index.check("text", text, CheckOptions(mode=mode)).known_share)
        inside.append(time.perf_counter() - started)
        if number < 5:
            started = time.perf_counter()
            again = _child(arguments, "check", str(path), mode, text=text)
            outside.append(time.perf_counter() - started)
            if again["share"] != shares[-1]:
                raise SystemExit(f"{name}: {again['share']} in another process, {shares[-1]} here")
    mean = sum(shares) / len(shares)
    return [name, *_spread(inside), *_spread(outside), f"{mean:.3f}"]


def _spread(seconds: Sequence[float]) -> list[str]:
    return [f"{np.median(seconds):.3f}", f"{max(seconds):.3f}"]


def peers(arguments: argparse.Namespace, checked: Sequence[str]) -> list[list[str]]:
    """What it takes without tables: fingerprints, and texts, that stand ready in memory."""
    scheme = PassageScheme(max_distance=arguments.max_distance)
    passages: dict[int, str] = {}
    for _, text in made(arguments.folders, arguments.documents, arguments.seed):
        for start, end in scheme.cutting.spans(text):
            found = scheme.fingerprint(text[start:end])
            if found is not None:
                passages.setdefault(found, text[start:end])
    known = _words(list(passages), scheme.scheme.bits)
    there = list(passages.values())
    seconds, shares = [], []
    for text in checked:
        started = time.perf_counter()
        covered = total = 0
        for start, end in scheme.cutting.spans(text):
            passage = text[start:end]
            size = sum(map(len, passage.split()))
            total += size
            asked = scheme.fingerprint(passage)
            if asked is None:
                continue
            mine = _words([asked], scheme.scheme.bits)
            distances = np.bitwise_count(known ^ mine).sum(axis=1, dtype=np.int32)
            near = np.flatnonzero(distances <= scheme.max_distance)
            near = near[np.argsort(distances[near], kind="stable")][:64]
            if any(similarity_of(passage, there[at]) >= DEFAULT_MIN_SIMILARITY for at in near):
                covered += size
        seconds.append(time.perf_counter() - started)
        shares.append(covered / max(total, 1))
    mean = sum(shares) / len(shares)
    scan = [f"numpy scan of {len(there)} fingerprints", *_spread(seconds), "-", "-", f"{mean:.3f}"]
    return [scan, _brute_force(scheme, there, checked[0])]


def _words(fingerprints: Sequence[int], bits: int) -> NDArray[np.uint64]:
    whole = b"".join(one.to_bytes(bits // 8, "big") for one in fingerprints)
    return np.frombuffer(whole, dtype=">u8").astype(np.uint64).reshape(-1, bits // 64)


def _brute_force(scheme: PassageScheme, there: Sequence[str], text: str) -> list[str]:
    """Levenshtein of a few passages with all, at most 200,000; extrapolated to the whole text."""
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    some = there[:_SCANNED_TEXTS]
    spans = scheme.cutting.spans(text)
    started = time.perf_counter()
    asked = spans[:5]
    process.cdist(
        [text[start:end] for start, end in asked],
        some,
        scorer=Levenshtein.normalized_similarity,
        score_cutoff=DEFAULT_MIN_SIMILARITY,
        workers=1,
    )
    seconds = (time.perf_counter() - started) * len(spans) / len(asked) * len(there) / len(some)
    return [f"rapidfuzz with all, extrapolated from {len(asked)}", f"{seconds:.3f}", *["-"] * 4]
