"""What commands write: results on standard output, all else on standard error."""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What takes less time shows no progress.
_PROGRESS_AFTER_S = 0.5


def show(line: str = "") -> None:
    """A line of the result. Where standard output is closed, nobody wants it."""
    if sys.stdout is not None:
        sys.stdout.write(f"{line}\n")


def note(line: str) -> None:
    """A line for people, on standard error."""
    if sys.stderr is not None:
        sys.stderr.write(f"{escaped(line)}\n")


def escaped(line: str) -> str:
    """A line without control characters: names and texts come from anywhere."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def flush() -> None:
    """Bring out what was written. :raises OSError: it cannot be."""
    if sys.stdout is not None:
        sys.stdout.flush()


def is_standard(name: str) -> bool:
    """Whether a file of that name is standard output: ``-``, or such as /dev/stdout."""
    if name == "-":
        return True
    try:
        return os.path.samestat(Path(name).stat(), os.fstat(sys.stdout.fileno()))
    except (AttributeError, OSError, ValueError):  # it is not there, or closed, or no file
        return False


def show_bytes(content: bytes) -> None:
    """The result where it is a file, whatever the encoding of the terminal."""
    if sys.stdout is not None:
        sys.stdout.buffer.write(content)


def never_fail_on_a_character() -> None:
    """What the encoding of a terminal or file lacks is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def percent(share: float) -> str:
    """Rounded down: only equal texts have 100 %, and no bound is reached by rounding."""
    return f"{int(share * 100 + 1e-9)} %"


@contextmanager
def progress(unit: str, total: int | None = None) -> Iterator[Callable[..., Any]]:
    """A bar on standard error, if that is a terminal. Yields what moves it forward.

    :param total: None where it is not known; call with (done, total), or with nothing for one.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda *_done: None
        return
    from tqdm import tqdm

    with tqdm(
        total=total, unit=f" {unit}", delay=_PROGRESS_AFTER_S, dynamic_ncols=True, leave=False
    ) as bar:

        def move(done: int | None = None, of: int | None = None) -> None:
            if of is not None:
                bar.total = of
            bar.update(1 if done is None else done - bar.n)

        yield move
