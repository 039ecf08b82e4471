"""Which index a command is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.manifest import FILE_NAME

if TYPE_CHECKING:
    import argparse

_INDEX = (
    "directory of the index (default: the only one in the project's SIMHASH_DIR, outside of a "
    "project in .scrapy/simhash here)"
)
_SHOWN = 10


def add_index_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--index`` and ``--spider``."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--index", metavar="DIRECTORY", help=_INDEX)
    group.add_argument(
        "--spider", metavar="NAME", help="the index of this spider's pages in SIMHASH_DIR"
    )


def index_directory(options: argparse.Namespace) -> Path:
    """The directory of an index that is there.

    :raises SimhashError: none is there, or more than one could be meant.
    """
    if options.index is not None:
        directory = Path(options.index)
        if not options.index or not directory.is_dir():
            raise SimhashError(f"index {options.index}: there is no such directory")
        return directory
    base = _base(options)
    if options.spider is not None:
        found = [one for one in known_indexes(base) if _spider(one) == options.spider]
        missing = f"no crawl of the spider {options.spider} has left an index"
    else:
        found = [
            one for one in known_indexes(base) if "items" not in one.relative_to(base).parts[0]
        ]
        missing = "no index is there"
    if len(found) == 1:
        return found[0]
    if found:
        raise SimhashError(f"{base} holds several indexes: say {_either(found)}")
    others = _either(known_indexes(base))
    raise SimhashError(
        f"{base}: {missing}; "
        + (f"there is {others}" if others else "give the directory that holds one with --index")
    )


def known_indexes(base: Path) -> list[Path]:
    """The directories of indexes, of pages and of items, that crawls made in a SIMHASH_DIR."""
    return sorted(
        manifest.parent
        for pattern in ("shared*", "spiders/*", "spider-items/*")
        for manifest in base.glob(f"{pattern}/{FILE_NAME}")
    )


def _either(directories: list[Path]) -> str:
    shown = ", or ".join(f"--index {one}" for one in directories[:_SHOWN])
    return shown + (f", or {len(directories) - _SHOWN} more" if len(directories) > _SHOWN else "")


def _base(options: argparse.Namespace) -> Path:
    from scrapy_simhash.commands.project import page_index_base

    return page_index_base(options.settings)


def _spider(directory: Path) -> str | None:
    return unquote(directory.name) if directory.parent.name == "spiders" else None
