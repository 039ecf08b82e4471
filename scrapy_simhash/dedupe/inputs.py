"""Read the input files of a run, all of one format, as one sequence of records."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from scrapy_simhash.dedupe.fields import find_fields
from scrapy_simhash.documents.csv_records import Layout, csv_parts, layout_of, parse_record
from scrapy_simhash.documents.decoding import decoded
from scrapy_simhash.documents.files import (
    GZIP_MARK,
    DamagedFile,
    files_in,
    import_extra,
    path_name,
    uncompressed,
)
from scrapy_simhash.documents.html import HTML_ENDINGS
from scrapy_simhash.documents.json_records import begins_as_array, json_parts
from scrapy_simhash.documents.lines import Part, Unreadable, ascii_lines, line_parts
from scrapy_simhash.documents.parquet import parquet_schema, row_parts
from scrapy_simhash.documents.warc import is_compressed_by_record, warc_parts
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.markup import begins_as_element

if TYPE_CHECKING:
    import io
    from collections.abc import Iterable, Iterator
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
    ".wet": "warc",
}
# The fields are found in at most this many records.
_SAMPLED_RECORDS = 100
_BUFFER_BYTES = 1 << 18
_SNIFFED_BYTES = 1 << 13


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
        self.is_output_compressed = paths.is_compressed
        self.damaged: dict[str, str] = {}
        """Name of a file that cannot be read to its end → reason."""
        self.passed_over = 0
        """Number of WARC records without a page, or of files that are no page."""
        self.layout: Layout | None = None
        self.is_array = False
        """The output of JSON is an array, as the first file is."""
        self._options = options
        self._file: io.BufferedReader | None = None
        self._bytes_before = 0
        names: list[str] | None = None
        if self.format == "warc":
            import_extra("warcio")
        for file in self.files:
            self._check_type(file)
        # JSON and CSV in UTF-16 are read as UTF-8.
        self.encoding = "utf-8"
        if self.format in ("json-lines", "json", "csv"):
            with self._lines(self.files[0].path) as (lines, self.encoding):
                self.is_array = self.format == "json" and begins_as_array(next(iter(lines), b""))
        if self.format == "csv":
            names = self._read_layouts()
        elif self.format == "parquet":
            names = self._read_schemas()
        self.columns = names or []
        self._read_columns = self.columns  # `_find_fields` needs all columns of Parquet files
        self.fields = self._find_fields(options.fields)
        used = (*self.fields.text, self.fields.html, self.fields.key, *(self.fields.names or ()))
        self._read_columns = list(dict.fromkeys(name for name in used if name))

    def parts(self) -> Iterator[tuple[int, Part]]:
        """Yield each part of all files, as (number of the file, from 0, part).

        A damaged file ends before the damage, and is added to `damaged`.
        """
        self._bytes_before = self.passed_over = 0
        for number, file in enumerate(self.files):
            try:
                for part in self._parts_of(file.path):
                    if not part.is_record and self.format in ("html", "warc"):
                        self.passed_over += 1
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

    def _parts_of(self, path: Path) -> Iterator[Part]:
        max_bytes = self._options.max_bytes
        if self.format == "html":
            for file in files_in([path]):
                yield Part(os.fsencode(file), file == path or _is_page(file))
        elif self.format == "parquet":
            yield from row_parts(path, self._read_columns, max_bytes)
        elif self.format == "warc":
            by_record = self.yields_compressed(path)
            opener = partial(self._open_raw if by_record else self._opened, path)
            yield from warc_parts(opener, max_bytes, by_record=by_record)
        else:
            with self._lines(path) as (lines, encoding):
                if self.layout is not None:
                    yield from csv_parts(lines, self.layout, max_bytes)
                elif self.format == "json":
                    yield from json_parts(lines, encoding, max_bytes)
                else:
                    yield from line_parts(lines, max_bytes)

    @contextmanager
    def _lines(self, path: Path) -> Iterator[tuple[Iterable[bytes], str]]:
        """Open a file, and yield its lines and their encoding."""
        with self._opened(path) as stream:
            yield ascii_lines(stream, self._options.encoding)

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

    def _read_layouts(self) -> list[str]:
        first = self.files[0]
        for file in self.files:
            try:
                layout = layout_of(
                    partial(self._csv_lines, file.path), self.encoding, self._options.delimiter
                )
            except Unreadable as error:
                raise SimhashError(
                    f"{file.name}: its first line cannot be read as names of columns "
                    f"({error.reason}); --encoding names its encoding"
                ) from None
            if not layout.columns:
                continue
            if self.layout is None:
                self.layout, first = layout, file  # earlier files are empty
            elif (layout.columns, layout.delimiter) != (self.layout.columns, self.layout.delimiter):
                raise _other_columns_error(file, first)
            elif layout.escapes:
                self.layout = self.layout._replace(escapes=True)
        self.layout = self.layout or Layout()
        return list(self.layout.columns)

    @contextmanager
    def _csv_lines(self, path: Path) -> Iterator[Iterable[bytes]]:
        with suppress(DamagedFile), self._lines(path) as (lines, _):
            yield lines

    def _read_schemas(self) -> list[str]:
        schema = parquet_schema(self.files[0].path)
        for file in self.files[1:]:
            if not parquet_schema(file.path).equals(schema):
                raise _other_columns_error(file, self.files[0])
        return list(schema.names)

    def _find_fields(self, asked: Fields) -> Fields:
        """Return the fields to use, found in the first records.

        Return `asked` if the format has no fields, or the files have no records.
        """
        if self.format in ("html", "warc"):
            return asked
        parts = (part for file in self.files for part in self._undamaged_parts(file))
        sample = list(islice((part for part in parts if part.is_record), _SAMPLED_RECORDS))
        records = [record for part in sample if (record := self._readable(part)) is not None]
        # Unreadable records are skipped, unless one is needed to find the fields.
        if sample and not records and not (asked.text or asked.html):
            raise SimhashError(
                f"{self.files[0].name}: no record can be read: is it {self.format} in "
                f"{self.encoding}? --format and --encoding name others"
            )
        if not records:
            return asked
        return find_fields(asked, self.columns or None, records, self.files[0].name)

    def _readable(self, part: Part) -> dict[str, Any] | None:
        if part.reason is not None:
            return None
        try:
            return parse_record(part.data, self.encoding, self.layout)
        except Unreadable:
            return None

    def _undamaged_parts(self, file: InputFile) -> Iterator[Part]:
        with suppress(DamagedFile):  # `parts` reports the damage later
            yield from self._parts_of(file.path)


def _is_page(file: Path) -> bool:
    """Return True for a file whose name or beginning is that of an HTML page."""
    if file.name.lower().endswith(HTML_ENDINGS):
        return True
    try:
        with file.open("rb") as stream:
            return begins_as_element(decoded(stream.read(_SNIFFED_BYTES)))
    except OSError:
        return False


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
