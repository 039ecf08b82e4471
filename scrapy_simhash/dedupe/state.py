"""The state of a run, from which it goes on after a kill at any moment.

A folder beside the output with

- ``spec.json``: what the run was asked to do. Only the same run goes on. It is written first and
  deleted first, so that a half-deleted state never matches a run.
- ``journal``: the verdicts so far. It is appended in batches, each before the index is changed. A
  batch ends with a line ``#CHECKSUM JSON``, which has the phase of the run, and what is needed to
  repeat the changes of the index. An incomplete batch at the end is cut off, and the changes of
  the last complete batch are repeated; repeating them is idempotent.
- ``index/``, unless the run was given one.
- ``known/``, an index of the files that the run compares with, if it does. It is made by a run of
  its own, whose state is ``known.dedupe/`` until the index is complete.
- ``output``, a file or folder, and ``verdicts.new``: complete in the phase ``written``, and then
  moved into place.
- ``lock``: exists as long as anything but an index that is kept.

A process that is killed leaves all that it has written. After a power loss, the journal may have
lost batches that the index still has: that is detected.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from scrapy_simhash.documents.files import discard, replaced
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typing_extensions import Self

_FORMAT = "scrapy-simhash dedupe 3"

Phase = Literal["judging", "judged", "written"]


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The end of a batch.

    :param phase: ``judging`` records; all are ``judged``; the output is ``written`` and has to be
        moved into place.
    :param records: number of verdicts before the batch.
    :param lines: verdicts of the batch.
    :param evidence: evidence of the records of the batch that are no near-duplicates, see
        `plain_evidence`.
    :param index_entries: entries of the index before the batch; None before the first batch.
    :param crawl_start: the number by which the index tells this run from earlier ones.
    :param damaged: files that cannot be read to their ends, with reasons.
    """

    phase: Phase = "judging"
    records: int = 0
    lines: bytes = b""
    evidence: list[list[Any]] = field(default_factory=list)
    index_entries: int | None = None
    crawl_start: int | None = None
    damaged: dict[str, str] = field(default_factory=dict)

    @property
    def records_after(self) -> int:
        """Return the number of verdicts up to the end of the batch."""
        return self.records + self.lines.count(b"\n")


class State:
    """The folder, locked by this process.

    :raises SimhashError: another process uses it, or it holds other files.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.index = directory / "index"
        self.known = directory / "known"
        self.known_state = directory / "known.dedupe"
        self.output = directory / "output"
        self.verdicts = directory / "verdicts.new"
        self._spec = directory / "spec.json"
        self._journal = directory / "journal"
        self._lock_file = directory / "lock"
        self._appended: BinaryIO | None = None
        directory.mkdir(mode=0o700, exist_ok=True)
        found = set(directory.iterdir())
        self.has_kept_index = found == {self.index}
        ours = {*self._files(), self.index, self._lock_file}
        if foreign := sorted(
            path.name
            for path in found - (ours if self._lock_file in found else {self.index})
            if not path.name.startswith(".simhash-")
        ):
            raise SimhashError(
                f"{directory} is needed for the state of this run, but holds other files "
                f"({foreign[0]}): move them away"
            )
        self._lock = self._lock_file.open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise SimhashError(f"another process uses it: {directory} is locked") from error

    def spec(self) -> dict[str, Any] | None:
        """Return what the interrupted run was asked to do; None if there is no such run."""
        try:
            content: dict[str, Any] = json.loads(self._spec.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            raise self.damaged() from None
        return content

    def begin(self, spec: dict[str, Any]) -> None:
        """Begin a run, and discard what is left of another."""
        self.clear()
        with replaced(self._spec) as temporary:
            temporary.write_text(json.dumps(spec, indent=2), encoding="ascii")

    def checkpoint(self) -> Checkpoint:
        """Return the end of the last complete batch, and cut off what follows it."""
        checkpoint = Checkpoint()
        end = 0
        if self._journal.exists():
            for checkpoint, end in self._batches():  # noqa: B007 - the last one counts
                pass
            os.truncate(self._journal, end)
        return checkpoint

    def append(self, checkpoint: Checkpoint) -> None:
        """Append a batch to the journal."""
        values = {**vars(checkpoint), "format": _FORMAT}
        del values["lines"]
        end = json.dumps(values).encode("ascii")
        if self._appended is None:
            self._appended = self._journal.open("ab")
        self._appended.write(b"%b#%08x %b\n" % (checkpoint.lines, _checksum(checkpoint, end), end))
        self._appended.flush()

    def verdict_lines(self) -> Iterator[bytes]:
        """Yield the verdicts of all records, as JSON lines."""
        with self._journal.open("rb") as journal:
            for line in journal:
                if not line.startswith(b"#"):
                    yield line

    def _batches(self) -> Iterator[tuple[Checkpoint, int]]:
        """Yield the complete batches, and where they end."""
        end = 0
        lines: list[bytes] = []
        with self._journal.open("rb") as journal:
            for line in journal:
                end += len(line)
                if not line.startswith(b"#"):
                    lines.append(line)
                    continue
                try:
                    checksum, values = int(line[1:9], 16), json.loads(line[10:])
                    if values.pop("format") != _FORMAT:
                        return
                    checkpoint = Checkpoint(**values, lines=b"".join(lines))
                except (ValueError, KeyError, TypeError):
                    return
                if checksum != _checksum(checkpoint, line[10:-1]):
                    return
                yield checkpoint, end
                lines.clear()

    def _files(self) -> tuple[Path, ...]:
        return (
            *(self._spec, self._journal, self.output, self.verdicts),
            *(self.known_state, self.known),
        )

    def clear(self, *, keep_index: bool = False) -> None:
        """Delete everything but the lock."""
        self.close_journal()
        for path in (*self._files(), *self.directory.glob(".simhash-*")):
            discard(path)
        if not keep_index:
            discard(self.index)

    def remove(self, *, keep_index: bool = False) -> None:
        """Delete everything."""
        self.clear(keep_index=keep_index)
        discard(self._lock_file)
        with suppress(OSError):  # the index is in it
            self.directory.rmdir()

    def close_journal(self) -> None:
        """Close the journal, if it is open."""
        if self._appended is not None:
            self._appended.close()
            self._appended = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close_journal()
        self._lock.close()

    def damaged(self) -> SimhashError:
        """Return the error to raise if the journal and the index do not fit."""
        return SimhashError(
            f"{self.directory}: the state of the interrupted run is damaged, as after a power "
            "loss, or another run used its index: begin again with --restart"
        )


def _checksum(checkpoint: Checkpoint, end: bytes) -> int:
    return zlib.crc32(end, zlib.crc32(checkpoint.lines))
