"""Write results to standard output or files, and everything else to standard error.

This module also formats values that several commands show.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_simhash.documents.escaping import escaped
from scrapy_simhash.documents.files import file_path
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_Item = TypeVar("_Item")
# Shorter commands show no progress bar.
_PROGRESS_AFTER_S = 0.5
_SHORT = 60  # characters of a value that shares a line


def show(line: str = "") -> None:
    """Write a line of the result. Do nothing if the process has no standard output."""
    if sys.stdout is not None:
        sys.stdout.write(f"{line}\n")


def show_json(result: dict[str, Any]) -> None:
    """Write a result as one JSON document."""
    show(json.dumps(result, indent=2))


def show_result(options: argparse.Namespace, result: Mapping[str, Any]) -> None:
    """Write a result: as JSON with ``--json``, otherwise as lines of text, without empty values."""
    if options.json:
        show_json(dict(result))
        return
    for line in lines_of(result):
        show(line)


def lines_of(values: Mapping[Any, Any], indent: str = "") -> Iterator[str]:
    """Yield a line for each value that is not empty. What a value contains is indented.

    Of an object in a list, the first value has a line, and other short values share the next one;
    lists of objects in it follow. Empty lists, and zeros in objects, are left out.
    """
    shown = {escaped(str(name)): value for name, value in values.items() if not _is_empty(value)}
    if indent:
        shown = {name: value for name, value in shown.items() if value != 0}
    single = [name for name, value in shown.items() if _is_single(value)]
    width = max(map(len, single), default=0)
    for name, value in shown.items():
        if name in single:
            yield f"{indent}{name:<{width}}  {_words(name, value)}"
        elif isinstance(value, dict):
            if lines := [*lines_of(value, f"{indent}  ")]:
                yield from (f"{indent}{name}", *lines)
        else:
            yield f"{indent}{name}"
            for one in value:
                yield from _lines_of_item(one, f"{indent}  ")


def _lines_of_item(item: Any, indent: str) -> Iterator[str]:
    first, *others = item.items() if isinstance(item, dict) else [("", item)]
    yield f"{indent}{_words(*first)}"
    facts = [f"{name} {_words(name, value)}" for name, value in others if _is_single(value)]
    if short := [fact for fact in facts if len(fact) <= _SHORT]:
        yield f"{indent}  {', '.join(short)}"
    yield from (f"{indent}  {fact}" for fact in facts if len(fact) > _SHORT)
    for name, value in others:
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], dict):
            yield from lines_of({name: value}, f"{indent}  ")


def _is_empty(value: object) -> bool:
    return value is None or value in ("", [], {})


def _is_single(value: object) -> bool:
    return not (_is_empty(value) or isinstance(value, (dict, list, tuple)))


def _words(name: str, value: object) -> str:
    """Return a value as text for people, in one line. Names of Unix times end with ``_s``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return shown_time(value) if name.endswith("_s") else f"{value:,}"
    return f"{value:.3f}" if isinstance(value, float) else escaped(str(value))


def note(line: str) -> None:
    """Write a message to standard error, with control characters escaped."""
    if sys.stderr is not None:
        sys.stderr.write(f"{escaped(line)}\n")


def writable(file: str) -> Path:
    """Return the path of a file to write. Call this before long work, to report errors early.

    :raises SimhashError: the name is empty or ``-``, the path is a folder, or the parent folder is
        missing.
    """
    path = file_path(file)
    if file == "-":
        raise SimhashError("the result cannot go to standard output: name a file")
    if path.is_dir():
        raise SimhashError(f"{path} is a folder: name a file to write in it")
    if not path.parent.is_dir():
        raise SimhashError(f"{path} cannot be written: there is no folder {path.parent}")
    return path


def progress(items: Iterable[_Item], unit: str) -> Iterable[_Item]:
    """Return the items. Their reader shows a progress bar if standard error is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return items
    from tqdm import tqdm

    bar: Iterable[_Item] = tqdm(
        items, unit=f" {unit}", delay=_PROGRESS_AFTER_S, dynamic_ncols=True, leave=False
    )
    return bar


def shown_fingerprint(fingerprint: int | None, bits: int) -> str | None:
    """Return a fingerprint in hexadecimal digits, or None for None (a skipped page)."""
    from scrapy_simhash.fingerprint import to_hex

    return None if fingerprint is None else to_hex(fingerprint, bits)


def shown_time(seconds: int, separator: str = " ") -> str:
    """Return a Unix time as text in UTC, such as ``2026-01-31 18:00:07+00:00``."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(separator)


def reason_of(found: Any, limits: Any, names: tuple[str, str] = ("", "")) -> str:
    """Return why a page is a copy or not, see `explain`.

    :param found: a match or log line, with the attributes `against`, `distance` and `similarity`.
    :param limits: an index or its manifest, with `max_distance` and `confirmation`.
    """
    from scrapy_simhash.reasons import explain

    return explain(
        found.against,
        distance=found.distance,
        similarity=found.similarity,
        max_distance=limits.max_distance,
        confirmation=limits.confirmation,
        names=names,
    )
