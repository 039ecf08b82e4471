"""Read the input files of a run, all of one format, as one sequence of records."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from scrapy_simhash.dedupe.fields import find_fields
from scrapy_simhash.dedupe.options import ADVICE
from scrapy_simhash.documents.csv_records import Layout, csv_parts, layout_of
from scrapy_simhash.documents.decoding import START_BYTES, start_of
from scrapy_simhash.documents.files import (
    DamagedFile,
    files_in,
    import_extra,
    opened,
    path_name,
)
from scrapy_simhash.documents.formats import Format, format_of
from scrapy_simhash.documents.lines import (
    Part,
    Unreadable,
    ascii_lines,
    begins_as_array,
    begins_value,
    json_parts,
    line_parts,
    parse_json,
)
from scrapy_simhash.documents.parquet import parquet_schema, row_parts
from scrapy_simhash.documents.warc import warc_parts
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.markup import begins_as_element
from scrapy_simhash.names.identities import IDENTITY_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy_simhash.dedupe.fingerprinting import Record
    from scrapy_simhash.dedupe.options import DedupeOptions, DedupePaths, Fields

STANDARD_INPUT = "standard input"
# The fields are found in at most this many records.
_SAMPLED_RECORDS = 100


@dataclass(frozen=True)
class InputFile:
    """An input file or folder.

    :param name: its name in messages and keys.
    :param size: in bytes; for a folder, the sum of its files.
    :param version: changes with the content: a hash of the paths, sizes and times of all files.
    """

    path: Path
    name: str
    size: int
    version: str

    @classmethod
    def of(cls, path: Path, name: str | None = None) -> InputFile:
        """Return a file or folder as it is now.

        :raises OSError: it does not exist, or its size and time cannot be read.
        """
        size, digest = 0, blake2b(digest_size=16)
        for file in files_in([path]):
            stat = file.stat()
            size += stat.st_size
            inside = os.fsencode(file.relative_to(path))
            digest.update(b"%b\0%d %d\n" % (inside, stat.st_size, stat.st_mtime_ns))
        return cls(path, name or path_name(path), size, digest.hexdigest())


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
        self.damaged: dict[str, str] = {}
        """Name of a file that cannot be read to its end → reason."""
        self.passed_over = 0
        """Number of WARC records without a page, or of files that are no page, in what was read."""
        self.layout = Layout()
        self.is_array = False
        """The output of JSON is an array, as a file is one."""
        self.encoding = "utf-8"
        """The encoding of lines. JSON and CSV in UTF-16 are read as UTF-8."""
        self.record_encoding = "utf-8"
        """The encoding of the JSON objects that `records` yields."""
        self.columns: list[str] = []
        self.fields = options.fields
        self.missing = [name for name in options.fields.distinct if name.isidentifier()]
        """Fields that are to tell records apart, but that no sampled record has."""
        self._options = options
        if self.format == "warc":
            import_extra("warcio")
        for file in self.files:
            self._check_type(file)
        if self.format in ("json-lines", "json", "csv"):
            starts = {line: enc for line, enc in map(self._start, self.files) if line}
            starts = starts or {b"": options.encoding}
            self.encoding = next(iter(starts.values()))
            if self.format != "csv":
                self.record_encoding = self.encoding
            if self.format == "json-lines" and not options.format:
                self.format = "json" if any(map(begins_value, starts)) else "json-lines"
            self.is_array = self.format == "json" and any(map(begins_as_array, starts))
        if self.format in ("csv", "parquet"):
            self._find_columns()
        # To find the fields, all columns are needed.
        self._read_columns = self.columns
        if self.format not in ("html", "warc"):
            self.fields = fields = self._found_fields()
            used = (*fields.text, fields.html, fields.key, *(fields.names or ()), *fields.distinct)
            identities = (name for name in self.columns if name.lower() in IDENTITY_FIELDS)
            self._read_columns = list(dict.fromkeys(name for name in (*used, *identities) if name))

    def records(self) -> Iterator[Record]:
        """Yield the records of all files, with their places as keys: a path, or FILE#NUMBER."""
        for file in self.files:
            parts = (part for part in self._counted_parts(file) if part.is_record)
            for number, part in enumerate(parts, 1):
                key = f"{file.name}#{number}"
                if self.format == "html":
                    key = path_name(Path(os.fsdecode(part.data)))
                yield key, part.reason or part.data

    def parts(self) -> Iterator[tuple[InputFile, Part]]:
        """Yield each part of all files, to copy it: those of Parquet are missing, and the values of
        rows.
        """
        self._read_columns, self.passed_over = [], 0
        for file in self.files:
            for part in self._counted_parts(file):
                yield file, part

    def check_unchanged(self) -> None:
        """Check that no file has changed since these inputs were opened.

        :raises SimhashError: a file has changed.
        :raises OSError: a file was deleted.
        """
        for file in self.files:
            if InputFile.of(file.path, file.name) != file:
                raise changed_error(file.name)

    def _counted_parts(self, file: InputFile) -> Iterator[Part]:
        for part in self._parts_of(file):
            self.passed_over += self.format in ("html", "warc") and not part.is_record
            yield part

    def _parts_of(self, file: InputFile) -> Iterator[Part]:
        """Yield the parts of a file. If it is damaged, it ends before, and is put in `damaged`."""
        path, max_bytes = file.path, self._options.max_bytes
        try:
            if self.format == "html":
                for page in files_in([path]):
                    yield Part(os.fsencode(page), page == path or _is_page(page))
            elif self.format == "parquet":
                yield from row_parts(path, self._read_columns, max_bytes)
            elif self.format == "warc":
                yield from warc_parts(partial(opened, path), max_bytes)
            else:
                with self._lines(path) as (lines, encoding):
                    if self.format == "csv":
                        columns = self._read_columns
                        yield from csv_parts(lines, encoding, self.layout, columns, max_bytes)
                    elif self.format == "json":
                        yield from json_parts(lines, encoding, max_bytes)
                    else:
                        yield from line_parts(lines, max_bytes)
        except DamagedFile as error:
            self.damaged[file.name] = str(error)

    @contextmanager
    def _lines(self, path: Path) -> Iterator[tuple[Iterable[bytes], str]]:
        """Open a file, and yield its lines and their encoding."""
        with opened(path) as stream:
            yield ascii_lines(stream, self._options.encoding)

    def _start(self, file: InputFile) -> tuple[bytes, str]:
        """Return the first line of a file that is not blank, if there is one, and the encoding."""
        with suppress(DamagedFile), self._lines(file.path) as (lines, encoding):
            return next(filter(bytes.strip, lines), b""), encoding
        return b"", ""

    def _known_format(self) -> Format:
        formats = {file.name: format_of(file.path) for file in self.files}
        for name, found in formats.items():
            if found is None:
                raise SimhashError(
                    f"{name}: its name does not say its format: add --format, decompress it, or "
                    f"convert it to one of {', '.join(get_args(Format))}"
                )
        if len({*formats.values()}) > 1:
            raise SimhashError(
                "the files are of different formats: de-duplicate each format in its own run, with "
                "the same --index and --incremental; --against takes such an index, too"
            )
        return next(filter(None, formats.values()))

    def _check_type(self, file: InputFile) -> None:
        if file.path.is_dir():
            if self.format != "html":
                raise SimhashError(f"{file.name} is a folder: only HTML is read from folders")
        elif not file.path.is_file():
            raise SimhashError(f"{file.name} is read twice, so it must be a regular file")
        for each in files_in([file.path]):
            each.open("rb").close()  # raises OSError if it cannot be read

    def _find_columns(self) -> None:
        """Set the columns and the layout, which all files that are not empty share."""
        found: dict[str, tuple[Sequence[str], Any]] = {}
        for file in self.files:
            if self.format == "parquet":
                schema = parquet_schema(file.path)
                found[file.name] = schema.names, schema
            elif (layout := self._layout_of(file)).columns:
                found[file.name] = layout.columns, layout[:2]
                self.layout = layout if len(found) == 1 else self.layout
        for name, (names, columns) in found.items():
            first, self.columns = next(iter(found)), [*names]
            if columns != found[first][1]:
                raise SimhashError(
                    f"{name} has other columns than {first} (names, types, order or delimiter): "
                    "de-duplicate each in its own run, with the same --index and --incremental"
                )

    def _layout_of(self, file: InputFile) -> Layout:
        try:
            with suppress(DamagedFile), self._lines(file.path) as (lines, encoding):
                return layout_of(lines, encoding, self._options.delimiter)
        except Unreadable as error:
            raise SimhashError(
                f"{file.name}: its first line cannot be read as names of columns "
                f"({error.reason}); --encoding names its encoding"
            ) from None
        return Layout()

    def _found_fields(self) -> Fields:
        """Return the fields to use, found in the first records; those of the options if there are
        no records.
        """
        asked, name = self._options.fields, self.files[0].name
        sample = [self._parsed(content) for _, content in islice(self.records(), _SAMPLED_RECORDS)]
        records = [record for record in sample if not isinstance(record, str)]
        known = {*self.columns, *chain.from_iterable(records)}
        self.missing = [field for field in self.missing if field not in known]
        if records:
            return find_fields(asked, self.columns, records, name)
        # Unreadable records are skipped, unless one is needed to find the fields.
        if not (asked.text or asked.html):
            for damaged, reason in self.damaged.items():
                raise SimhashError(f"{damaged}: no record can be read: {reason}")
            if sample:
                reasons = sorted({reason for reason in sample if isinstance(reason, str)})
                why = "; ".join(f"{reason}: {ADVICE[reason]}" for reason in reasons)
                raise SimhashError(
                    f"{name}: no record can be read: is it {self.format} in {self.encoding}? "
                    f"--format and --encoding name others ({why})"
                )
        return asked

    def _parsed(self, content: bytes | str) -> dict[str, Any] | str:
        """Return the fields of a record, or the reason why it cannot be read."""
        if isinstance(content, str):
            return content
        try:
            return parse_json(content, self.record_encoding)
        except Unreadable as error:
            return error.reason


def _is_page(file: Path) -> bool:
    """Return True for a file whose name or beginning is that of an HTML page."""
    if format_of(file) == "html":
        return True
    try:
        with opened(file) as content:
            return begins_as_element(start_of(content.read(START_BYTES)))
    except (OSError, DamagedFile):
        return False


def changed_error(name: str) -> SimhashError:
    """Return the error for an input that has changed since the run began."""
    return SimhashError(f"{name} has changed since the run began: begin again with --restart")
