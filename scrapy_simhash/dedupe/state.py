"""The state of a run, from which it goes on after an interruption at any moment.

A directory beside the output, with

- ``order.json``: what the run was asked for. Only the same one goes on.
- ``verdicts.jsonl``: the verdicts on all records so far, in their order.
- ``journal``: how far it has come. Each batch of verdicts is first written here, then to
  ``verdicts.jsonl``, then its representatives to the index; the journal of the next batch takes
  its place. What was interrupted on the way is done again from it, which changes nothing where it
  had been done.
- ``index/``, unless the run was given one.

A process that is killed leaves all that it has written. A power loss may leave files that are
too short, which is noticed.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

_FORMAT = "scrapy-simhash dedupe 1"
_OURS = ("order.json", "verdicts.jsonl", "journal", "journal.new", "index", "lock")

Phase = Literal["judging", "judged", "written"]


@dataclass(frozen=True)
class Checkpoint:
    """How far a run has come.

    :param phase: ``judging`` records; all are ``judged``; the output is ``written``, and only has
        to be put in its place.
    :param records: that were judged.
    :param log_bytes: of ``verdicts.jsonl`` before `lines`.
    :param began: see `ObservingIndex.began`.
    :param lines: verdicts of the last batch.
    """

    phase: Phase = "judging"
    records: int = 0
    log_bytes: int = 0
    began: int | None = None
    lines: bytes = b""


class State:
    """The directory, held by one process.

    :raises SimhashError: another process has it, or it is somebody else's.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "verdicts.jsonl"
        self.index = directory / "index"
        self._journal = directory / "journal"
        self._order = directory / "order.json"
        directory.mkdir(mode=0o700, exist_ok=True)
        if foreign := [path.name for path in directory.iterdir() if path.name not in _OURS]:
            raise SimhashError(
                f"{directory} is needed for the state of this run, and holds other things "
                f"({foreign[0]}): move them away"
            )
        self._lock = (directory / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise SimhashError(f"another process is at it: {directory} is locked") from error

    def order(self) -> dict[str, Any] | None:
        """What the interrupted run was asked for; None if there is none."""
        try:
            told = json.loads(self._order.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            raise self._damaged() from None
        return dict(told)

    def begin(self, order: dict[str, Any]) -> None:
        """Begin a run."""
        new = self.directory / "journal.new"
        new.write_text(json.dumps(order, indent=2), encoding="ascii")
        new.replace(self._order)

    def checkpoint(self) -> Checkpoint:
        """Where the run stopped. :raises SimhashError: nobody can say."""
        try:
            head, _, lines = self._journal.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return Checkpoint()
        try:
            told = json.loads(head)
            if told.pop("format") != _FORMAT or told.pop("check") != zlib.crc32(lines):
                raise self._damaged()
            found = Checkpoint(**told, lines=lines)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._damaged() from None
        if found.log_bytes and self.log.stat().st_size < found.log_bytes:
            raise self._damaged()
        return found

    def write(self, checkpoint: Checkpoint) -> None:
        """Put it in the place of the one before."""
        values = {**vars(checkpoint), "format": _FORMAT, "check": zlib.crc32(checkpoint.lines)}
        del values["lines"]
        head = json.dumps(values).encode("ascii")
        new = f"{self._journal}.new"
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, b"%b\n%b" % (head, checkpoint.lines))
        finally:
            os.close(descriptor)
        os.replace(new, self._journal)  # noqa: PTH105 - a thousand times a second

    def clear(self) -> None:
        """Forget the run."""
        for path in (self._journal, self._order, self.log, self.directory / "journal.new"):
            path.unlink(missing_ok=True)
        if self.index.exists():
            shutil.rmtree(self.index)

    def close(self) -> None:
        """Let others have it."""
        self._lock.close()

    def remove(self, *, keep_index: bool = False) -> None:
        """Delete it, at the end."""
        if keep_index and self.index.exists():
            for path in (self._journal, self.log, self.directory / "journal.new"):
                path.unlink(missing_ok=True)
            self._order.unlink(missing_ok=True)
        else:
            self.clear()
        (self.directory / "lock").unlink(missing_ok=True)
        with suppress(OSError):  # the index is in it
            self.directory.rmdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _damaged(self) -> SimhashError:
        return SimhashError(
            f"{self.directory}: the state of the interrupted run is damaged, as after a power "
            "loss: begin anew, with --restart"
        )
