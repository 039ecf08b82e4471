"""Read the input files of a run, all of one format, as one sequence of records."""

from __future__ import annotations

import codecs
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, cast

from scrapy_simhash.dedupe.fields import find_fields
from scrapy_simhash.documents.files import (
    GZIP_MARK,
    DamagedFile,
    files_in,
    import_extra,
    path_name,
    uncompressed,
)
from scrapy_simhash.documents.html import HTML_ENDINGS
from scrapy_simhash.documents.lines import (
    Part,
    Unreadable,
    array_parts,
    csv_delimiter,
    csv_parts,
    line_parts,
    parse_csv,
    parse_record,
)
from scrapy_simhash.documents.parquet import parquet_schema, row_parts
from scrapy_simhash.documents.warc import is_compressed_by_record, warc_parts
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from scrapy_simhash.dedupe.options import DedupeOptions, DedupePaths, Fields, Format

STANDARD_INPUT = "standard input"
_ENDINGS: dict[str, Format] = {
    **dict.fromkeys((".jl", ".jsonl", ".jsonlines", ".ndjson"), "json-lines"),
    **dict.fromkeys(HTML_ENDINGS, "html"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    ".json": "json",
    ".warc": "warc",
}
# The fields are found in at most this many records.
_SAMPLED_RECORDS = 100
_BUFFER_BYTES = 1 << 18


@dataclass(frozen=True)
class InputFile:
    """An input file or folder. If its content changes, so does `size`, `changed_ns` or `digest`.

    :param name: its name in messages and keys.
    :param size: in bytes; for a folder, the sum of its files.
    :param changed_ns: time of the last modification; for a folder, the latest one of its files.
    :param digest: for a folder, a hash of the paths, sizes and times of its files; else empty.
    """

    path: Path
    name: str
    size: int
    changed_ns: int
    digest: str = ""

    @classmethod
    def of(cls, path: Path, name: str | None = None) -> InputFile:
        """Return a file or folder as it is now.

        :raises OSError: it does not exist, or its size and time cannot be read.
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

    def version(self) -> list[int | str]:
        """Return size, time and digest, as values for JSON."""
        return [self.size, self.changed_ns, self.digest]


class Inputs:
    """The records of all files.

    :raises SimhashError: the format or the fields cannot be found, a package is missing, the files
        differ in format or columns, or a path is of the wrong type.
    :raises OSError: a file cannot be opened.
    """

    def __init__(self, paths: DedupePaths, options: DedupeOptions) -> None:
        self.files = [
            InputFile.of(path, STANDARD_INPUT if path == paths.standard_input else None)
            for path in paths.inputs
        ]
        self.format = options.format or self._known_format()
        self.encoding = "utf-8" if self.format == "parquet" else options.encoding
        self.damaged: dict[str, str] = {}
        """Name of a file that cannot be read to its end → reason."""
        self._max_bytes = options.max_bytes
        self.is_output_compressed = paths.is_compressed
        self._file: io.BufferedReader | None = None
        self._bytes_before = 0
        self.header: list[str] = []
        self.header_line = b""
        self.delimiter = ","
        if self.format == "warc":
            import_extra("warcio")
        for file in self.files:
            self._check_type(file)
        if self.format == "csv":
            self._read_headers()
        elif self.format == "parquet":
            self._read_schemas()
        self._columns = self.header  # `_find_fields` needs all columns of Parquet files
        self.fields = self._find_fields(options.fields)
        used = (*self.fields.text, self.fields.html, self.fields.key)
        self._columns = list(dict.fromkeys(name for name in used if name))

    @property
    def csv_header(self) -> list[str] | None:
        """Return the columns of CSV; None for other formats."""
        return self.header if self.format == "csv" else None

    def parts(self) -> Iterator[tuple[int, Part]]:
        """Yield each part of all files, as (number of the file, from 0, part).

        A damaged file ends before the damage, and is added to `damaged`.
        """
        self._bytes_before = 0
        for number, file in enumerate(self.files):
            try:
                for part in self._parts_of(file.path):
                    yield number, part
            except DamagedFile as error:
                self.damaged[file.name] = str(error)
            self._bytes_before += file.size

    def share_done(self) -> float | None:
        """Return the share of all bytes that was read; None for HTML and Parquet, or if unknown."""
        total = sum(file.size for file in self.files)
        if self._file is None or self._file.closed or not total:
            return None
        return (self._bytes_before + self._file.tell()) / total

    def check_unchanged(self) -> None:
        """Check that no file has changed since these inputs were opened.

        :raises SimhashError: a file has changed.
        :raises OSError: a file was deleted.
        """
        for file in self.files:
            if InputFile.of(file.path, file.name) != file:
                raise changed_error(file.name)

    def yields_compressed(self, path: Path) -> bool:
        """Return True if `parts` yields the records of a WARC file still compressed, to be copied.

        This needs a compressed output, and a file whose records are compressed one by one.
        """
        if not self.is_output_compressed:
            return False
        with self._open_raw(path) as stream:
            return stream.peek(2).startswith(GZIP_MARK) and is_compressed_by_record(stream)

    def is_array(self) -> bool:
        """Return True for JSON files if the first is an array. The output is then an array, too."""
        if self.format != "json":
            return False
        with self._opened(self.files[0].path) as stream:
            return self._splitter(stream) is array_parts

    def _parts_of(self, path: Path) -> Iterator[Part]:
        if self.format == "html":
            for file in files_in([path]):
                is_page = file.name.lower().endswith(HTML_ENDINGS) or file == path
                yield Part(os.fsencode(file), is_page)
        elif self.format == "parquet":
            yield from row_parts(path, self._columns, self._max_bytes)
        elif self.format == "warc":
            by_record = self.yields_compressed(path)
            opener = partial(self._open_raw if by_record else self._opened, path)
            yield from warc_parts(opener, self._max_bytes, by_record=by_record)
        else:
            with self._opened(path) as stream:
                yield from self._splitter(stream)(stream, self._max_bytes)

    def _splitter(self, stream: io.BufferedReader) -> Callable[..., Iterator[Part]]:
        if self.format == "csv":
            return csv_parts
        start = stream.peek(4096).removeprefix(codecs.BOM_UTF8).lstrip()
        return array_parts if self.format == "json" and not start.startswith(b"{") else line_parts

    @contextmanager
    def _opened(self, path: Path) -> Iterator[io.BufferedReader]:
        with self._open_raw(path) as file, uncompressed(file) as content:
            yield content

    def _open_raw(self, path: Path) -> io.BufferedReader:
        self._file = cast("io.BufferedReader", path.open("rb", buffering=_BUFFER_BYTES))
        return self._file

    def _known_format(self) -> Format:
        formats = set()
        for file in self.files:
            if (form := format_of(file.path)) is None:
                raise SimhashError(f"{file.name}: its name does not say its format: add --format")
            formats.add(form)
        if len(formats) > 1:
            raise SimhashError(
                "the files are of different formats: de-duplicate each format in its own run, with "
                "the same --index and --incremental"
            )
        return formats.pop()

    def _check_type(self, file: InputFile) -> None:
        if file.path.is_dir():
            if self.format != "html":
                raise SimhashError(f"{file.name} is a folder: only HTML is read from folders")
        elif not file.path.is_file():
            raise SimhashError(f"{file.name} is read twice, so it must be a regular file")
        else:
            file.path.open("rb").close()  # raises OSError if the file cannot be read

    def _read_headers(self) -> None:
        first = self.files[0]
        for file in self.files:
            part = next((part for part in self._undamaged_parts(file) if part.data.strip()), None)
            if part is None:
                continue
            line = part.data.removeprefix(codecs.BOM_UTF8)
            delimiter = csv_delimiter(line)
            try:
                if part.reason is not None:
                    raise Unreadable(part.reason)
                header = parse_csv(line, self.encoding, delimiter)
            except Unreadable as error:
                raise SimhashError(
                    f"{file.name}: its first line cannot be read as names of columns "
                    f"({error.reason})"
                ) from None
            if not self.header:
                self.header, self.header_line, self.delimiter = header, line, delimiter
                first = file  # earlier files are empty
            elif (header, delimiter) != (self.header, self.delimiter):
                raise _other_columns_error(file, first)

    def _read_schemas(self) -> None:
        schema = parquet_schema(self.files[0].path)
        for file in self.files[1:]:
            if not parquet_schema(file.path).equals(schema):
                raise _other_columns_error(file, self.files[0])
        self.header = list(schema.names)

    def _find_fields(self, asked: Fields) -> Fields:
        """Return the fields to use, found in the first records.

        Return `asked` if the format has no fields, or the files have no records.
        """
        if self.format in ("html", "warc"):
            return asked
        has_records = has_unreadable = False
        records = []
        parts = (part for file in self.files for part in self._undamaged_parts(file))
        for part in islice((part for part in parts if part.is_record), _SAMPLED_RECORDS):
            has_records = True
            if part.reason is None:
                try:
                    records.append(
                        parse_record(part.data, self.encoding, self.csv_header, self.delimiter)
                    )
                except Unreadable:
                    has_unreadable = True
        if not has_records:
            return asked
        # A JSON file without a readable record is most often an array in one line. In other
        # formats, unreadable records are skipped, unless one is needed to find the fields.
        needs_record = self.format == "json" or not (asked.text or asked.html)
        if has_unreadable and not records and needs_record:
            advice = (
                f"is it in {self.encoding}? --encoding names another"
                if self.format == "csv"
                else "an item in each line is needed: set FEED_EXPORT_INDENT = 0 in Scrapy. "
                f"Or is the file not in {self.encoding}? --encoding names another"
            )
            raise SimhashError(f"{self.files[0].name}: no record can be read; {advice}")
        return find_fields(asked, self.header or None, records, self.files[0].name)

    def _undamaged_parts(self, file: InputFile) -> Iterator[Part]:
        with suppress(DamagedFile):  # `parts` reports the damage later
            yield from self._parts_of(file.path)


def changed_error(name: str) -> SimhashError:
    """Return the error for an input that has changed since the run began."""
    return SimhashError(f"{name} has changed since the run began: begin again with --restart")


def _other_columns_error(file: InputFile, first: InputFile) -> SimhashError:
    return SimhashError(
        f"{file.name} has other columns than {first.name} (names, types, order or delimiter): "
        "de-duplicate each in its own run, with the same --index and --incremental"
    )


def format_of(path: Path) -> Format | None:
    """Return the format of a file by its name, or None if unknown; ``html`` for a folder."""
    if path.is_dir():
        return "html"
    name = path.name.lower().removesuffix(".gz")
    return next((form for ending, form in _ENDINGS.items() if name.endswith(ending)), None)
