"""Keep the state of a run, so that the run can go on after a kill at any moment.

The state is a folder with

- ``spec.json``: `FORMAT`, inputs, paths and options. Only a run with the same values goes on. This
  file is written first and deleted first, so that a half-deleted state never matches a run.
- ``journal``: the verdicts so far, in batches. A batch is appended before the index is changed. It
  ends with a line ``#CHECKSUM JSON``, which has the phase of the run, and the values that repeat
  the changes of the index. When a run goes on, an incomplete batch at the end is cut off, and the
  changes of the last complete batch are repeated. Repeating them is idempotent.
- ``index/``, unless `DedupePaths.index` names an index.
- ``known/``: an index of the files in `DedupePaths.against`. A separate run fills it first, and
  keeps its state in ``known.dedupe/`` until the index is complete.
- ``output``, a file or folder, and ``verdicts.new``: complete in the phase ``written``, and then
  moved into place.
- ``lock``: locked by the process; deleted last, because only a folder with this file is a state.

A kill loses nothing that was written. After a power loss, the journal may lack batches that the
index has. If the index then has too many entries, `Judge` raises an error. To tell, it needs the
first batch, which has no records and is synced before the index changes.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from scrapy_simhash.documents.files import discard, replaced, sync_file
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.manifest import sync_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typing_extensions import Self

FORMAT = "scrapy-simhash dedupe 7"
"""The format of the files. Only a release with the same one goes on with an interrupted run."""

Phase = Literal["judging", "judged", "written"]


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A batch of verdicts, and the values with which a run goes on after it.

    :param phase: ``judging`` while records remain, ``judged`` when all have verdicts, ``written``
        when the output is complete and has to be moved into place.
    :param records: number of verdicts before the batch.
    :param lines: verdicts of the batch.
    :param confirmed: key, fingerprint and evidence, both as hexadecimal digits, of the records that
        the batch adds to the index or finds unchanged there.
    :param index_entries: number of entries in the index before the batch; None without a batch.
    :param crawl_start: first sequence number of this run in the index; None without a batch.
    :param damaged: name of a file that cannot be read to its end → reason.
    """

    phase: Phase = "judging"
    records: int = 0
    lines: bytes = b""
    confirmed: list[tuple[str, str, str]] = field(default_factory=list)
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
        with suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        self._check_ours()
        # No truncation, and no symlink: somebody else may have put a file there.
        descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self._lock = os.fdopen(descriptor, "r+b")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise SimhashError(f"{directory} is locked: another process uses it") from error

    def _check_ours(self) -> None:
        """Raise SimhashError unless the folder and all of its files may be those of a run of this
        user. Otherwise the run would follow symlinks of other users, or delete other files.
        """
        directory = self.directory
        about = directory.lstat()
        is_shared = about.st_uid != os.geteuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if is_shared or not stat.S_ISDIR(about.st_mode):
            raise SimhashError(
                f"{directory} is needed for the state of this run, but is no folder, or others can "
                "write to it: move it away, or name another output"
            )
        existing = set(directory.iterdir())
        ours = {*self._files(), self._lock_file} if self._lock_file in existing else set()
        for path in sorted(existing):
            is_temporary = path.name.startswith(".simhash-")
            if path.is_symlink() or not (path in ours or is_temporary):
                raise SimhashError(
                    f"{directory} is needed for the state of this run, but holds other files "
                    f"({path.name}): move them away"
                )

    def spec(self) -> dict[str, Any] | None:
        """Return ``spec.json``; None if it does not exist. If it is damaged, raise SimhashError."""
        try:
            content: dict[str, Any] = json.loads(self._spec.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            raise self.damaged_error() from None
        return content

    def begin(self, spec: dict[str, Any]) -> None:
        """Delete the files of an earlier run, and write ``spec.json``."""
        self.clear()
        self._journal.touch()
        with replaced(self._spec) as temporary:
            temporary.write_text(json.dumps(spec, indent=2), encoding="ascii")

    def checkpoint(self) -> Checkpoint:
        """Return the last complete batch, or an empty one. Cut off the bytes that follow it."""
        checkpoint, end = Checkpoint(), 0
        lines: list[bytes] = []
        with self._journal.open("a+b") as journal:
            journal.seek(0)
            for line in journal:
                lines.append(line)
                if line.startswith(b"#"):
                    batch = _decoded(lines)
                    if batch is None:
                        break
                    checkpoint, end = batch, journal.tell()
                    lines.clear()
            journal.truncate(end)
        return checkpoint

    def has_results(self) -> bool:
        """Return True if there are verdicts, or records to compare with were indexed."""
        is_indexed = self.known.exists() or self.known_state.exists()
        return is_indexed or self.checkpoint().records_after > 0

    def append(self, checkpoint: Checkpoint) -> None:
        """Append a batch to the journal."""
        values = dict(vars(checkpoint))
        lines = values.pop("lines")
        end = json.dumps(values).encode("ascii")
        # Not "ab", which would begin another journal if somebody deleted this one.
        with self._journal.open("r+b") as journal:
            journal.seek(0, os.SEEK_END)
            journal.write(b"%b#%08x %b\n" % (lines, zlib.crc32(end, zlib.crc32(lines)), end))

    def sync(self) -> None:
        """Sync the journal and the list of files to the disk."""
        sync_file(self._journal)
        sync_directory(self.directory)

    def verdict_lines(self) -> Iterator[bytes]:
        """Yield the verdicts in the journal, as JSON lines in the order of the records."""
        with self._journal.open("rb") as journal:
            for line in journal:
                if not line.startswith(b"#"):
                    yield line

    def _files(self) -> tuple[Path, ...]:
        """Return all paths but the lock, in the order in which they are deleted."""
        files = (self._spec, self._journal, self.output, self.verdicts)
        return (*files, self.known_state, self.known, self.index)

    def clear(self) -> None:
        """Delete all files except the lock."""
        for path in (*self._files(), *self.directory.glob(".simhash-*")):
            discard(path)

    def remove(self) -> None:
        """Delete the folder."""
        self.clear()
        discard(self._lock_file)
        with suppress(OSError):
            self.directory.rmdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._lock.close()

    def damaged_error(self) -> SimhashError:
        """Return the error to raise if the state is damaged, or does not match the index."""
        return SimhashError(
            f"{self.directory}: the state of the interrupted run is damaged, as after a power "
            "loss, or another run has used the index: begin again with --restart"
        )


def _decoded(lines: list[bytes]) -> Checkpoint | None:
    """Return the batch in lines of the journal; None if it is damaged."""
    *verdicts, end = lines
    joined = b"".join(verdicts)
    try:
        values = json.loads(end[10:])
        is_valid = int(end[1:9], 16) == zlib.crc32(end[10:-1], zlib.crc32(joined))
        return Checkpoint(**values, lines=joined) if is_valid else None
    except (ValueError, TypeError):
        return None
