"""Real pages from the folder `shared` beside the repository, if it exists."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def sets_with_pages(shared: Path) -> list[Path]:
    return [path.parent for path in sorted(shared.glob("data/*/docs.jsonl")) if _files(path.parent)]


def real_pages(directory: Path, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield (name, body) of `count` pages of a set, evenly spread."""
    files = _files(directory)
    for name in files[:: max(len(files) // count, 1)][:count]:
        yield f"{directory.name}/{name}", read_page(directory / name)


def read_page(path: Path) -> bytes:
    """Return the bytes of a page; some sets compress theirs."""
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def _files(directory: Path) -> list[str]:
    lines = (directory / "docs.jsonl").read_text(encoding="utf-8").splitlines()
    return [document["file"] for document in map(json.loads, lines) if "file" in document]
