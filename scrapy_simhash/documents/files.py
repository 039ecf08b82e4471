"""Find, open and replace files."""

from __future__ import annotations

import errno
import gzip
import io
import os
import secrets
import shutil
import sys
import zlib
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from scrapy_simhash.documents.masking import loggable
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GZIP_MARK = b"\x1f\x8b"
# The first bytes of files that are compressed in other ways, which are not read.
_OTHER_MARKS = (
    b"BZh91AY&SY",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"PK\x03\x04",
    b"7z\xbc\xaf\x27\x1c",
)
_BUFFER_BYTES = 1 << 18


class DamagedFile(SimhashError):
    """Raised for a file that cannot be read to its end."""


def file_path(name: str) -> Path:
    """Return the path of a file that a user has named.

    :raises SimhashError: the name is empty, or a URL: what is written there would be in a folder.
    """
    if not name:  # Path("") is the working directory
        raise SimhashError("the file name is empty: is a shell variable unset?")
    if "://" in name:
        advice = "a URL is read where one page is asked for, and begins with http:// or https://"
        raise SimhashError(f"{loggable(name)}: name a file; {advice}")
    return Path(name)


def standard_input() -> BinaryIO:
    """Return standard input. :raises SimhashError: it is closed."""
    if sys.stdin is None:
        raise SimhashError("standard input is closed: name a file")
    return sys.stdin.buffer


def files_in(paths: Iterable[Path], *, exclude: Path | None = None) -> Iterator[Path]:
    """Yield each path that is not a folder, and the files in each folder and its subfolders.

    The files of a folder come before those of its subfolders, both sorted by name. In folders,
    these are left out: hidden files and subfolders, special files, symlinks to folders and to files
    outside of the folder, and the folder `exclude`. Folders that cannot be read come last.
    """
    unread: list[OSError] = []
    excluded = exclude and exclude.resolve()
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        top = path.resolve()
        for folder, folders, names in os.walk(path, onerror=unread.append):
            inside = Path(folder)
            folders[:] = sorted(
                name
                for name in folders
                if not name.startswith(".") and (inside / name).resolve() != excluded
            )
            for name in sorted(names):
                file = inside / name
                if name.startswith(".") or not file.is_file():
                    continue
                if not file.is_symlink() or top in file.resolve().parents:
                    yield file
    yield from (Path(error.filename) for error in unread)


def path_name(path: Path) -> str:
    """Return a path as text that UTF-8 can encode, although file names may be any bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def real_path(path: Path) -> Path:
    """Return the absolute path without symlinks. It need not exist.

    :raises OSError: its symlinks form a loop.
    """
    real = Path(os.path.realpath(path))
    if real.is_symlink():  # only in a loop. For one, `Path.resolve` raises no OSError
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return real


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file; see `uncompressed`."""
    with path.open("rb", buffering=_BUFFER_BYTES) as file, uncompressed(file) as content:
        yield content


@contextmanager
def uncompressed(stream: BinaryIO) -> Iterator[io.BufferedReader]:
    """Yield a stream, decompressed if its content is gzip. `stream` need not be seekable.

    If the data is damaged, the stream ends before the damage.

    :raises DamagedFile: its content is compressed in another way; at exit, if the caller has read
        up to the damage.
    """
    buffered: Any = stream
    if not hasattr(stream, "peek"):
        buffered = io.BufferedReader(buffered)
    start = buffered.peek(len(max(_OTHER_MARKS, key=len)))
    if start.startswith(_OTHER_MARKS):
        raise DamagedFile("it is compressed, and not with gzip: decompress it first")
    if not start.startswith(GZIP_MARK):
        yield buffered
        return
    content = Gunzip(fileobj=buffered, mode="rb")
    yield io.BufferedReader(content, _BUFFER_BYTES)
    if content.damage is not None:
        raise DamagedFile(content.damage)


class Gunzip(gzip.GzipFile):
    """The content of all members of a gzip file up to its end, or up to the first damage.

    After the damage was reached, `damage` says what it is. Read it through a `BufferedReader`.
    """

    damage: str | None = None

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        try:
            # GzipFile's `read` would lose the bytes that it read before it raised an error.
            return b"" if self.damage is not None else self.read1(-1 if size is None else size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            self.damage = str(error)
            return b""

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into a buffer, and return their number; 0 at the end."""
        # That of GzipFile bypasses `read` since Python 3.14.
        content = self.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield a temporary path. Without an error, its file or folder replaces `path` atomically.

    Symlinks are followed. A pipe or a device cannot be replaced, so its own path is yielded.

    :raises OSError: `path` cannot be replaced, for example a folder that is not empty.
    """
    path = real_path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        yield path
        return
    # A name made from that of `path` could be too long.
    temporary = path.with_name(f".simhash-{secrets.token_hex(8)}")
    try:
        yield temporary
        sync_file(temporary)
        _rename(temporary, path)
    finally:
        discard(temporary)


def move_into_place(source: Path, path: Path) -> None:
    """Move a complete file or folder to `path` atomically. Symlinks are followed.

    :raises OSError: `path` cannot be replaced, for example a folder that is not empty.
    """
    try:
        _rename(source, real_path(path))
    except OSError as error:
        if error.errno != errno.EXDEV:  # another file system
            raise
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        with replaced(path) as temporary:
            copy(source, temporary)
        discard(source)


def _rename(source: Path, path: Path) -> None:
    if path.exists():
        shutil.copymode(path, source)
    source.replace(path)


def sync_file(path: Path) -> None:
    """Sync a file, or the list of files in a folder, to the disk, to survive a power loss."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def discard(path: Path) -> None:
    """Delete a file or a folder, if it exists."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def import_extra(module: str) -> Any:
    """Import and return a module that the extra ``files`` installs.

    :raises SimhashError: it cannot be imported.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise SimhashError(
            f"{module.partition('.')[0]} is needed for these files, but cannot be imported "
            f'({error}): pip install "scrapy-simhash[files]"'
        ) from error
