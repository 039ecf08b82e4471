"""Show results: standard output has the result, standard error everything else."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.escaping import escaped
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_simhash.confirmation import Confirmation, Evidence
    from scrapy_simhash.index import Match

# Shorter commands show no progress bar.
_PROGRESS_AFTER_S = 0.5


def show(line: str = "") -> None:
    """Write a line of the result, unless standard output is closed."""
    if sys.stdout is not None:
        sys.stdout.write(f"{line}\n")


def show_json(result: dict[str, Any]) -> None:
    """Write a result as one JSON document."""
    show(json.dumps(result, indent=2))


def note(line: str) -> None:
    """Write a message to standard error."""
    if sys.stderr is not None:
        sys.stderr.write(f"{escaped(line)}\n")


def flush() -> None:
    """Flush standard output.

    :raises OSError: it cannot be written.
    """
    if sys.stdout is not None:
        sys.stdout.flush()


def is_standard(name: str) -> bool:
    """Return True if a file name stands for standard output, such as ``-`` or /dev/stdout."""
    if name == "-":
        return True
    try:
        return os.path.samestat(Path(name).stat(), os.fstat(sys.stdout.fileno()))
    except (AttributeError, OSError, ValueError):  # missing, closed, or not a file
        return False


def show_bytes(content: bytes) -> None:
    """Write a binary result, regardless of the encoding of the terminal."""
    if sys.stdout is not None:
        sys.stdout.buffer.write(content)


def never_fail_on_a_character() -> None:
    """Escape characters that the encoding of a terminal or file cannot represent."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural if needed."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def writable(file: str) -> Path:
    """Return the path of a file to write, checked before work that may take long.

    :raises SimhashError: the name is empty or a folder's, or its folder does not exist.
    """
    path = Path(file)
    if not file:  # Path("") is the working directory
        raise SimhashError("a file without a name: name a file to write")
    if path.is_dir():
        raise SimhashError(f"{path} is a folder: name a file to write in it")
    if not path.parent.is_dir():
        raise SimhashError(f"{path} cannot be written: there is no folder {path.parent}")
    return path


def write_file(path: Path, text: str) -> None:
    """Write a text to a file in UTF-8, with its line ends as they are.

    :raises SimhashError: the file cannot be written, as on a full disk.
    """
    try:
        path.write_bytes(text.encode())
    except OSError as error:
        raise SimhashError(
            f"{path} cannot be written: {error.strerror}: choose another file"
        ) from error


def bar(count: int, most: int, characters: int) -> str:
    """Return a bar of a chart, which is visible for any count above 0.

    :param characters: the length of the bar of `most`.
    """
    return "█" * max(round(count / most * characters), 1) if count else ""


def percent(share: float) -> str:
    """Return per cent, rounded down so that no value reaches a bound by rounding."""
    return f"{int(share * 100 + 1e-9)} %"


@contextmanager
def progress(unit: str, total: int | None = None) -> Iterator[Callable[..., Any]]:
    """Show a progress bar if standard error is a terminal; yield a function that advances it.

    Call the function without arguments for one step, or with (done, total).

    :param total: None if it is not known.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda *_done: None
        return
    from tqdm import tqdm

    with tqdm(
        total=total, unit=f" {unit}", delay=_PROGRESS_AFTER_S, dynamic_ncols=True, leave=False
    ) as bar:

        def advance(done: int | None = None, of: int | None = None) -> None:
            if of is not None:
                bar.total = of
            bar.update(1 if done is None else done - bar.n)

        yield advance


DIFFERENT_NAMES = "they are pages of one site, and their names differ"


def unconfirmed_because(confirmation: Confirmation, one: Evidence, other: Evidence) -> list[str]:
    """Return the reasons against a copy; an empty list for a copy."""
    from scrapy_simhash.confirmation import names_agree

    [(similarity, confirmed)] = confirmation.similarities(one, [other])
    if confirmed:
        return []
    reasons = []
    if similarity is not None and similarity < confirmation.min_resemblance:
        reasons.append(_below(confirmation))
    if confirmation.same_name and not names_agree(one, other):
        reasons.append(DIFFERENT_NAMES)
    return reasons


def shown_fingerprint(fingerprint: int | None, bits: int) -> str | None:
    """Return a fingerprint in hexadecimal digits, or None for a page that has none."""
    from scrapy_simhash.fingerprint import to_hex

    return None if fingerprint is None else to_hex(fingerprint, bits)


def match_unconfirmed_because(confirmation: Confirmation, match: Match) -> str:
    """Return why a match is only similar; an empty string for a copy."""
    if match.confirmed:
        return ""
    similarity = match.similarity
    if similarity is not None and similarity < confirmation.min_resemblance:
        return _below(confirmation)
    return DIFFERENT_NAMES


def _below(confirmation: Confirmation) -> str:
    """Return the reason for a similarity that is too low."""
    return f"their similarity is below {percent(confirmation.min_resemblance)}"


def shown_time(seconds: int) -> str:
    """Return a Unix time in UTC, to the second."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(sep=" ", timespec="seconds")
