"""Inputs: files by their formats → frames, in one order."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from scrapy_simhash.dedupe import parquet
from scrapy_simhash.dedupe.extras import needed
from scrapy_simhash.dedupe.fields import find_fields
from scrapy_simhash.dedupe.frames import (
    Frame,
    Gunzip,
    array_frames,
    csv_delimiter,
    csv_frames,
    line_frames,
)
from scrapy_simhash.dedupe.records import Unreadable, read_csv, read_json
from scrapy_simhash.dedupe.warc_frames import (
    is_compressed_by_record,
    warc_frames,
    warc_gzip_frames,
)
from scrapy_simhash.documents.files import files_in, path_name
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scrapy_simhash.dedupe.options import DedupeOptions, Fields, Format

STANDARD_INPUT = "standard input"
GZIP_MARK = b"\x1f\x8b"
HTML_ENDINGS = (".html", ".htm", ".xhtml")
_ENDINGS: dict[str, Format] = {
    **dict.fromkeys((".jl", ".jsonl", ".jsonlines", ".ndjson"), "json-lines"),
    **dict.fromkeys(HTML_ENDINGS, "html"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    ".json": "json",
    ".warc": "warc",
}
_PROBED_RECORDS = 100
_BUFFER_BYTES = 1 << 18


@dataclass(frozen=True)
class InputFile:
    """A file or folder, as it was when the run began.

    :param digest: of the names, sizes and times of all files of a folder.
    """

    path: Path
    name: str
    size: int
    changed_ns: int
    digest: str = ""

    @classmethod
    def of(cls, path: Path, name: str | None = None) -> InputFile:
        """Return the file as it is now. :raises OSError: it is not there.

        :param name: to show, and for keys; the path, if absent.
        """
        name, stat = name or path_name(path), path.stat()
        if not path.is_dir():
            return cls(path, name, stat.st_size, stat.st_mtime_ns)
        size, changed_ns, digest = 0, 0, blake2b(digest_size=16)
        for file in files_in([path]):
            stat = file.stat()
            size += stat.st_size
            changed_ns = max(changed_ns, stat.st_mtime_ns)
            inside = os.fsencode(file.relative_to(path))
            digest.update(b"%b\0%d %d\n" % (inside, stat.st_size, stat.st_mtime_ns))
        return cls(path, name, size, changed_ns, digest.hexdigest())

    def state(self) -> list[int | str]:
        """By which a change is noticed."""
        return [self.size, self.changed_ns, self.digest]


def format_of(path: Path) -> Format | None:
    """What the name of a file says."""
    if path.is_dir():
        return "html"
    name = path.name.lower().removesuffix(".gz")
    return next((form for ending, form in _ENDINGS.items() if name.endswith(ending)), None)


class Inputs:
    """The records of all files.

    :param compressed: the output is compressed by gzip.
    :param standard_input: the file that holds what came on standard input.
    :raises SimhashError: they cannot be read, or not together.
    :raises OSError: one is not there.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        options: DedupeOptions,
        *,
        compressed: bool = False,
        standard_input: Path | None = None,
    ) -> None:
        self.files = [
            InputFile.of(path, STANDARD_INPUT if path == standard_input else None) for path in paths
        ]
        self._names = {file.path: file.name for file in self.files}
        self.format = options.format or self._known_format()
        self._max_bytes = options.max_bytes
        self._encoding = options.encoding
        self._compressed = compressed
        self._file: io.BufferedReader | None = None
        self._bytes_before = self._probed = self._unreadable = 0
        self.copies_members = False
        """Whether the frames of now are compressed as they stand in the file."""
        self.damaged: dict[str, str] = {}
        """Files that end before their end: name → why."""
        if self.format == "warc":
            needed("warcio")
        for file in self.files:
            self._check(file)
        self.header: list[str] = []
        self.header_line = b""
        self.delimiter = ","
        if self.format == "csv":
            self._read_headers()
        elif self.format == "parquet":
            parquet.check_same_columns(paths)
        self.fields = self._fields(options.fields)

    def frames(self) -> Iterator[tuple[int, Frame]]:
        """(number of the file, frame) of all."""
        self._bytes_before = 0
        for number, file in enumerate(self.files):
            for frame in self._frames(file.path):
                if frame.kind == "damage":
                    self.damaged[file.name] = frame.reason or ""
                else:
                    yield number, frame
            self._bytes_before += file.size

    def share_done(self) -> float | None:
        """How much of the files was read; None where nobody knows."""
        total = sum(file.size for file in self.files)
        if self._file is None or self._file.closed or not total:
            return None
        return (self._bytes_before + self._file.tell()) / total

    def unchanged_since(self) -> None:
        """:raises SimhashError: a file is not what it was when the run began."""
        for file in self.files:
            if InputFile.of(file.path, file.name) != file:
                raise SimhashError(f"{file.name} was changed meanwhile: begin anew, with --restart")

    def place_of(self, number: int, file: Path) -> Path:
        """Where a file of a folder belongs in a copy of all inputs."""
        top = self.files[number].path
        if top == file:
            return Path(file.name)
        inside = file.relative_to(top)
        return inside if len(self.files) == 1 else Path(top.resolve().name, inside)

    def opened_lines(self, path: Path) -> Iterator[Frame]:
        """The frames of a file of lines."""
        with self._opened(path) as stream:
            yield from self._line_framer(stream)(stream, self._max_bytes)

    def _frames(self, path: Path) -> Iterator[Frame]:
        if self.format == "html":
            for one in files_in([path]):
                is_page = one.name.lower().endswith(HTML_ENDINGS) or one == path
                yield Frame(os.fsencode(one), "record" if is_page else "other")
        elif self.format == "parquet":
            names = [*self.fields.text, self.fields.html, self.fields.key]
            columns = list(dict.fromkeys(name for name in names if name))
            yield from parquet.row_frames(path, columns, self._max_bytes)
        elif self.format == "warc" and self._compressed and self._is_by_record(path):
            with _open(path) as file:
                self._file, self.copies_members = file, True
                yield from warc_gzip_frames(file, self._max_bytes)
            self.copies_members = False
        else:
            yield from self.opened_lines(path)

    def _line_framer(self, stream: io.BufferedReader) -> Callable[..., Iterator[Frame]]:
        if self.format == "json":
            start = stream.peek(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
            return line_frames if start.startswith(b"{") else array_frames
        framers = {"json-lines": line_frames, "csv": csv_frames, "warc": warc_frames}
        return framers[self.format]

    @cached_property
    def is_array(self) -> bool:
        """Whether the records of the first file are those of a JSON array."""
        with self._opened(self.files[0].path) as stream:
            return self._line_framer(stream) is array_frames

    @contextmanager
    def _opened(self, path: Path) -> Iterator[io.BufferedReader]:
        """A file without its gzip compression, if it has one."""
        with _open(path) as file:
            self._file = file
            if file.peek(2)[:2] != GZIP_MARK:
                yield file
                return
            inside = Gunzip(file)
            yield io.BufferedReader(inside, _BUFFER_BYTES)
            if inside.damage is not None:
                self.damaged[self._names[path]] = inside.damage

    def _is_by_record(self, path: Path) -> bool:
        with path.open("rb") as stream:
            return (
                stream.read(2) == GZIP_MARK
                and not stream.seek(0)
                and is_compressed_by_record(stream)
            )

    def _known_format(self) -> Format:
        found = {format_of(file.path) for file in self.files}
        if len(found) == 1 and (only := found.pop()) is not None:
            return only
        unknown = [file.name for file in self.files if format_of(file.path) is None]
        if unknown:
            raise SimhashError(f"{unknown[0]}: its name does not say what it is: add --format")
        raise SimhashError(
            "the files are of different formats: de-duplicate those of each format by themselves, "
            "with the same --index and --incremental"
        )

    def _check(self, file: InputFile) -> None:
        if file.path.is_dir():
            if self.format != "html":
                raise SimhashError(f"{file.name} is a folder: only HTML is read from folders")
        elif not file.path.is_file():
            raise SimhashError(f"{file.name} is not a regular file: it is read twice")
        else:
            with file.path.open("rb"):
                pass  # it can be read

    def _read_headers(self) -> None:
        for file in self.files:
            frame = next(iter(self.opened_lines(file.path)), None)
            if frame is None:
                continue
            line = frame.data.removeprefix(b"\xef\xbb\xbf")
            delimiter = csv_delimiter(line)
            try:
                if frame.reason is not None:
                    raise Unreadable(frame.reason)
                header = read_csv(line, self._encoding, delimiter)
            except Unreadable as error:
                raise SimhashError(
                    f"{file.name}: its first line cannot be read as names of columns "
                    f"({error.reason})"
                ) from None
            if not self.header:
                self.header, self.header_line, self.delimiter = header, line, delimiter
            elif (header, delimiter) != (self.header, self.delimiter):
                raise SimhashError(
                    f"{file.name} has other columns than {self.files[0].name}: de-duplicate them "
                    "one by one, with the same --index and --incremental"
                )

    def _fields(self, asked: Fields) -> Fields:
        """Those that are asked for, or that the first records seem to have."""
        if self.format in ("html", "warc"):
            return asked
        names = self.header or None
        if self.format == "parquet":
            names = parquet.column_names(self.files[0].path)
        records = list(islice(self._first_records(names), _PROBED_RECORDS))
        if not self._probed:  # there is nothing to be found in them
            return asked
        if (
            self._unreadable
            and not records
            and (self.format == "json" or not (asked.text or asked.html))
        ):
            needed_so = (
                f"is it in {self._encoding}? --encoding names another"
                if self.format == "csv"
                else "an item in each line is needed, as Scrapy writes them "
                "(FEED_EXPORT_INDENT is 0), and the right --encoding"
            )
            raise SimhashError(f"{self.files[0].name}: no record of it can be read; {needed_so}")
        return find_fields(asked, names, records, self.files[0].name)

    def _first_records(self, names: list[str] | None) -> Iterator[dict[str, Any]]:
        for file in self.files:
            frames = (
                parquet.row_frames(file.path, names or [], self._max_bytes)
                if self.format == "parquet"
                else self.opened_lines(file.path)
            )
            for frame in islice((f for f in frames if f.kind == "record"), _PROBED_RECORDS):
                self._probed += 1
                try:
                    if frame.reason is None:
                        yield self._parsed(frame.content or frame.data)
                except Unreadable:
                    self._unreadable += 1

    def _parsed(self, content: bytes) -> dict[str, Any]:
        if self.format == "csv":
            return dict(
                zip(self.header, read_csv(content, self._encoding, self.delimiter), strict=False)
            )
        encoding = "utf-8" if self.format == "parquet" else self._encoding
        return read_json(content, encoding)


def _open(path: Path) -> io.BufferedReader:
    return cast("io.BufferedReader", path.open("rb", buffering=_BUFFER_BYTES))
