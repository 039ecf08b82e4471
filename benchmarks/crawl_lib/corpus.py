"""Pages to crawl: those of page sets and folders."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, NamedTuple

from common import body_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_SUFFIXES = (".html", ".htm", ".html.gz", ".htm.gz")


class Page(NamedTuple):
    """A page of the server.

    :param lang: empty if unknown.
    """

    name: str
    lang: str
    body: bytes


def pages_of(folder: Path) -> list[Page]:
    """Those of a page set, by its ``docs.jsonl``; else all files of HTML in a folder."""
    if (folder / "docs.jsonl").exists():
        lines = (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines()
        return [
            Page(f"{folder.name} {doc['id']}", doc.get("lang") or "", body_of(folder / doc["file"]))
            for doc in map(json.loads, lines)
            if doc.get("file")
        ]
    return [
        Page(f"{folder.name} {path.relative_to(folder)}", "", body_of(path))
        for path in sorted(folder.rglob("*"))
        if path.name.endswith(_SUFFIXES)
    ]


def chosen(folders: Iterable[Path], count: int | None, seed: int) -> list[Page]:
    """Return `count` pages of the folders, or all, in an order that mixes sets and languages.

    Of pages with the same bytes there is one: the plugin remembers bytes, and what a look at a
    page costs is to be seen.
    """
    pages = list({page.body: page for folder in folders for page in pages_of(folder)}.values())
    return random.Random(seed).sample(pages, min(count or len(pages), len(pages)))
