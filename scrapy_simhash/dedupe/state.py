"""The state of a run, from which it goes on after an interruption at any moment.

A directory beside the output, with

- ``order.json``: what the run was asked for. Only the same one goes on.
- ``verdicts.jsonl``: the verdicts on all records so far, in their order.
- ``journal-0`` and ``journal-1``: how far it has come. Each batch of verdicts is first written to
  one of them, with the evidence of its representatives, then to ``verdicts.jsonl``, then its
  representatives to the index; the next batch goes to the other. After an interruption, the
  youngest batch that is whole is replayed; replaying is idempotent.
- ``index/``, unless the run was given one.
- ``output``, a file or folder, and ``verdicts.new``: what is written, until it is whole and gets
  its name.
- ``lock``, as long as anything else but an index that is kept is there.

A process that is killed leaves all that it has written. A power loss may leave files that are
too short, which is noticed.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from scrapy_simhash.dedupe.places import discard
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

_FORMAT = "scrapy-simhash dedupe 2"
_INDEX = "index"
_LOCK = "lock"
_OURS = {
    *("order.json", "order.new", "verdicts.jsonl", "journal-0", "journal-1", _INDEX, _LOCK),
    *("output", "verdicts.new"),
}

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
    :param evidence: of the pages of this batch that are not near-duplicates, in their order, see
        `scrapy_simhash.dedupe.evidence`.
    :param damaged: see `State.damaged`, which `State.write` puts in its place.
    """

    phase: Phase = "judging"
    records: int = 0
    log_bytes: int = 0
    began: int | None = None
    lines: bytes = b""
    evidence: list[list[Any]] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)


class State:
    """The directory, held by one process.

    :raises SimhashError: another process has it, or it is somebody else's.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "verdicts.jsonl"
        self.index = directory / _INDEX
        self.output = directory / "output"
        self.new_verdicts = directory / "verdicts.new"
        self.damaged: dict[str, str] = {}
        """Files that end before their end, as far as they were read; kept with checkpoints."""
        self._slots = (directory / "journal-0", directory / "journal-1")
        self._descriptors: list[int | None] = [None, None]
        self._number = -1
        self._order = directory / "order.json"
        self._new_order = directory / "order.new"
        directory.mkdir(mode=0o700, exist_ok=True)
        names = {path.name for path in directory.iterdir()}
        if foreign := sorted(names - (_OURS if _LOCK in names else {_INDEX})):
            raise SimhashError(
                f"{directory} is needed for the state of this run, and holds other things "
                f"({foreign[0]}): move them away"
            )
        self._lock_file = directory / _LOCK
        self._lock = self._lock_file.open("w")
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
        self._new_order.write_text(json.dumps(order, indent=2), encoding="ascii")
        self._new_order.replace(self._order)

    def checkpoint(self) -> Checkpoint:
        """Where the run stopped. :raises SimhashError: nobody can say."""
        found: list[tuple[int, Checkpoint]] = []
        sizes = [slot.stat().st_size if slot.exists() else 0 for slot in self._slots]
        for slot, size in zip(self._slots, sizes, strict=True):
            if size:
                with suppress(ValueError, KeyError, TypeError, AttributeError):
                    found.append(_decoded(slot.read_bytes()))
        if not found:
            if sizes[1]:
                raise self._damaged()
            return Checkpoint()  # killed while the first one was written
        self._number, checkpoint = max(found, key=lambda pair: pair[0])
        size = self.log.stat().st_size if self.log.exists() else 0
        if size < checkpoint.log_bytes:
            raise self._damaged()
        self.damaged.update(checkpoint.damaged)
        return checkpoint

    def write(self, checkpoint: Checkpoint) -> None:
        """Put it in the place of the one before the last: one of them is whole at any moment.

        In place, for a file system that is careful with files that are replaced takes
        milliseconds for it.
        """
        self._number += 1
        slot = self._number % 2
        descriptor = self._descriptors[slot]
        if descriptor is None:
            descriptor = os.open(self._slots[slot], os.O_WRONLY | os.O_CREAT, 0o600)
            self._descriptors[slot] = descriptor
        checkpoint = replace(checkpoint, damaged=self.damaged)
        os.pwrite(descriptor, _encoded(self._number, checkpoint), 0)

    def clear(self) -> None:
        """Forget the run. Interrupted, it is one of which nobody asks for the same."""
        if self._order.exists():
            self.begin({})
        self._discard(*self._slots, self.index, *self._written(), self._new_order, self._order)

    def _written(self) -> tuple[Path, ...]:
        return self.output, self.new_verdicts, self.log

    def _discard(self, *paths: Path) -> None:
        self._close_slots()
        for path in paths:
            discard(path)

    def _close_slots(self) -> None:
        for descriptor in self._descriptors:
            if descriptor is not None:
                os.close(descriptor)
        self._descriptors = [None, None]
        self._number = -1

    def close(self) -> None:
        """Let others have it."""
        self._close_slots()
        self._lock.close()

    def remove(self, *, keep_index: bool = False) -> None:
        """Delete it, at the end. Interrupted, it is one whose output is in its place, or none."""
        if not keep_index:
            self._discard(self.index)
        self._discard(self._order, self._new_order, *self._written(), *self._slots)
        self._discard(self._lock_file)
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


def _encoded(number: int, checkpoint: Checkpoint) -> bytes:
    """A line of JSON, and the verdicts; what an earlier one left behind them is not read."""
    values: dict[str, Any] = {**vars(checkpoint), "format": _FORMAT, "number": number}
    values["lines"] = len(checkpoint.lines)
    head = json.dumps(values).encode("ascii")
    return b"%08x %b\n%b" % (zlib.crc32(checkpoint.lines, zlib.crc32(head)), head, checkpoint.lines)


def _decoded(content: bytes) -> tuple[int, Checkpoint]:
    """:raises ValueError, KeyError, TypeError, AttributeError: it is not whole."""
    head, _, lines = content.partition(b"\n")
    values = json.loads(head[9:])
    lines = lines[: values.pop("lines")]
    if zlib.crc32(lines, zlib.crc32(head[9:])) != int(head[:8], 16):
        raise ValueError("its check is wrong")
    if values.pop("format") != _FORMAT:
        raise ValueError("of another version")
    return values.pop("number"), Checkpoint(**values, lines=lines)
