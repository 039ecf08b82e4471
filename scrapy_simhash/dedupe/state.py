"""Keep the state of a run, so that the run can go on after a kill at any moment.

The state is a folder beside the output with

- ``spec.json``: inputs, paths and options. Only a run with the same ones goes on. This file is
  written first and deleted first, so that a half-deleted state never matches a run.
- ``journal``: the verdicts so far, in batches. A batch is appended before the index is changed. It
  ends with a line ``#CHECKSUM JSON``, which has the phase of the run, and what is needed to repeat
  the changes of the index. When a run goes on, an incomplete batch at the end is cut off, and the
  changes of the last complete batch are repeated. Repeating them is idempotent.
- ``index/``, unless the run was given an index.
- ``known/``: an index of the files in `DedupePaths.against`. A run of its own makes it, with its
  state in ``known.dedupe/`` until the index is complete.
- ``output``, a file or folder, and ``verdicts.new``: complete in the phase ``written``, and then
  moved into place.
- ``lock``: locked by the process; deleted last, so that it marks the folder as ours.

A process that is killed leaves all that it has written. After a power loss, the journal may lack
batches that the index has. This is detected.
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
    """A batch of verdicts, and the state of the run at its end.

    :param phase: ``judging`` while records remain, ``judged`` when all have verdicts, ``written``
        when the output is complete and has to be moved into place.
    :param records: number of verdicts before the batch.
    :param lines: verdicts of the batch.
    :param evidence: evidence of the records that the batch adds to the index, see
        `plain_evidence`.
    :param index_entries: entries of the index before the batch; None before the first batch.
    :param crawl_start: the number by which the index tells this run from earlier ones.
    :param damaged: name of a file that cannot be read to its end → reason.
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
    """The folder with the state, locked by this process.

    :raises SimhashError: another process has locked the folder, or it holds other files.
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
            raise SimhashError(f"{directory} is locked: another process uses it") from error

    def spec(self) -> dict[str, Any] | None:
        """Return the content of ``spec.json``, or None. If it is damaged, raise SimhashError."""
        try:
            content: dict[str, Any] = json.loads(self._spec.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            raise self.damaged_error() from None
        return content

    def begin(self, spec: dict[str, Any]) -> None:
        """Begin a run, and delete what an earlier run left."""
        self.clear()
        with replaced(self._spec) as temporary:
            temporary.write_text(json.dumps(spec, indent=2), encoding="ascii")

    def checkpoint(self) -> Checkpoint:
        """Return the last complete batch, or an empty one, and cut off what follows it."""
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
        """Yield (batch, position of its end) of all complete batches."""
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
        """Delete everything but the lock, and the index if it is kept."""
        self.close_journal()
        for path in (*self._files(), *self.directory.glob(".simhash-*")):
            discard(path)
        if not keep_index:
            discard(self.index)

    def remove(self, *, keep_index: bool = False) -> None:
        """Delete everything, but the index if it is kept."""
        self.clear(keep_index=keep_index)
        discard(self._lock_file)
        with suppress(OSError):  # the folder holds the index
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

    def damaged_error(self) -> SimhashError:
        """Return the error to raise if the state is damaged, or the index does not match it."""
        return SimhashError(
            f"{self.directory}: the state of the interrupted run is damaged, as after a power "
            "loss, or another run used its index: begin again with --restart"
        )


def _checksum(checkpoint: Checkpoint, end: bytes) -> int:
    return zlib.crc32(end, zlib.crc32(checkpoint.lines))
