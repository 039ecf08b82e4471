"""What ``scrapy simhash dedupe`` keeps and drops, run as users run it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from quality_lib.served import decoded

if TYPE_CHECKING:
    from collections.abc import Sequence

FEED, FILES = "feed", "files"
FORMS = (FEED, FILES)


class Record(NamedTuple):
    """A page as it is stored, or a text where there is no page."""

    url: str
    page: bytes | None = None
    text: str = ""


class Fate(NamedTuple):
    """What became of a record.

    :param kind: its verdict.
    :param representative: the place of the record that the verdict names, or None.
    """

    kept: bool
    kind: str
    representative: int | None


def dedupe(records: Sequence[Record], form: str, options: Sequence[str]) -> list[Fate]:
    """Return what becomes of each record when near-duplicates are dropped.

    :param records: all with pages, or all without.
    :param form: `FEED` for JSON lines with the URL of each record, `FILES` for a folder of files,
        whose URLs nobody knows. Texts are a feed either way.
    :param options: for the command.
    :raises SystemExit: the command failed.
    """
    with tempfile.TemporaryDirectory(prefix="quality-dedupe-") as name:
        folder = Path(name)
        verdicts = folder / "verdicts.jsonl"
        if form == FILES and records and records[0].page is not None:
            source, output = _write_files(folder, records), folder / "kept"
            _run(source, output, verdicts, options)
            kept = {int(file.stem) for file in output.glob("*.html")}
        else:
            source, output = _write_feed(folder, records), folder / "kept.jsonl"
            field = "text" if records and records[0].page is None else "html"
            _run(source, output, verdicts, [f"--{field}-field", field, *options])
            kept = {json.loads(line)["place"] for line in _lines(output)}
        told = [json.loads(line) for line in _lines(verdicts)]
    places = {one["key"]: place for place, one in reversed([*enumerate(told)])}
    return [
        Fate(place in kept, one["kind"], places.get(one["representative"]))
        for place, one in enumerate(told)
    ]


def _run(source: Path, output: Path, verdicts: Path, options: Sequence[str]) -> None:
    # In a folder of its own, so that no project's settings count.
    command = [
        *(sys.executable, "-m", "scrapy", "simhash", "dedupe", str(source), "-o", str(output)),
        *("--verdicts", str(verdicts), "--action", "drop", *options),
    ]
    ended = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"dedupe ended with {ended.returncode}: {ended.stderr.strip()}")


def _write_files(folder: Path, records: Sequence[Record]) -> Path:
    source = folder / "pages"
    source.mkdir()
    for place, record in enumerate(records):
        (source / f"{place:06}.html").write_bytes(record.page or b"")
    return source


def _write_feed(folder: Path, records: Sequence[Record]) -> Path:
    source = folder / "feed.jsonl"
    with source.open("w", encoding="utf-8") as file:
        for place, record in enumerate(records):
            content = (
                {"text": record.text} if record.page is None else {"html": decoded(record.page)}
            )
            file.write(json.dumps({"url": record.url, "place": place, **content}) + "\n")
    return source


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()
