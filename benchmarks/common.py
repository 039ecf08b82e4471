"""What several benchmarks need: the facts that figures depend on, stored pages, and tables."""

from __future__ import annotations

import gzip
import platform
import shlex
import sys
from importlib import metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


def facts(packages: Iterable[str]) -> dict[str, str]:
    """Return name → value of each fact, with the versions of these packages."""
    installed = {found.name.lower(): found.version for found in metadata.distributions()}
    versions = [f"{package} {installed.get(package, 'is not installed')}" for package in packages]
    return {
        "command": shlex.join(["python", *sys.argv]),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": ", ".join(versions),
    }


def body_of(path: Path) -> bytes:
    """Return the bytes of a page, which may be gzip-compressed."""
    content = path.read_bytes()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return columns as wide as their widest cells; the first few are aligned to the left."""
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
