"""Writing: the input and the verdicts → the output, without what was dropped, or with tags."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
import zlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from scrapy_simhash.dedupe import parquet
from scrapy_simhash.documents.files import path_name
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from scrapy_simhash.dedupe.frames import Frame
    from scrapy_simhash.dedupe.inputs import Inputs
    from scrapy_simhash.dedupe.options import DedupeOptions

    Verdict = Mapping[str, Any]

_BLOCK_BYTES = 1 << 20
_GZIP_LEVEL = 6
_GZIP_WINDOW = 31
# Reasons for which the fields of a record are not known.
_NOT_READ = ("not_csv", "not_its_encoding", "too_large", "error", "timeout", "worker_died")


class Writer(Protocol):
    """Takes the frames of all files in their order."""

    def frame(self, number: int, frame: Frame, verdict: Verdict | None) -> None:
        """A frame of the file of that number. `verdict` is None for what is no record."""

    def finish(self) -> None:
        """There are no more."""


def write_frames(inputs: Inputs, verdicts: Iterator[Verdict], writer: Writer) -> None:
    """All that is kept. :raises SimhashError: the verdicts are not those of the input."""
    verdict: Verdict | None = None
    for number, frame in inputs.frames():
        if frame.kind == "record":
            verdict = next(verdicts, None)
            if verdict is None or (inputs.format == "html" and verdict["key"] != _name_of(frame)):
                raise SimhashError("an input was changed meanwhile: begin anew, with --restart")
        elif frame.kind == "other":
            verdict = None
        if verdict is None or not verdict["dropped"]:
            writer.frame(number, frame, verdict)
    writer.finish()


def _name_of(frame: Frame) -> str:
    return path_name(Path(os.fsdecode(frame.data)))


class LineWriter:
    """JSON lines and CSV: records as they stand in the input, each ended by a line break.

    :param tagged: gives a record with its tags.
    :param head: the first line, if there is one.
    """

    def __init__(
        self, sink: Sink, tagged: Callable[[bytes, Verdict], bytes], head: bytes = b""
    ) -> None:
        self._sink = sink
        self._tagged = tagged
        self._open = False
        sink.write(head)

    def frame(self, _number: int, frame: Frame, verdict: Verdict | None) -> None:
        """See `Writer.frame`."""
        if frame.kind == "other":
            return
        data = frame.data
        if frame.kind == "record":
            self._end_line()
            if verdict is not None:
                data = self._tagged(data, verdict)
        self._sink.write(data)
        self._open = not data.endswith(b"\n")

    def finish(self) -> None:
        """See `Writer.finish`."""
        self._end_line()

    def _end_line(self) -> None:
        if self._open:
            self._sink.write(b"\n")
            self._open = False


class ArrayWriter:
    """A JSON array, a record in each line."""

    def __init__(self, sink: Sink, tagged: Callable[[bytes, Verdict], bytes]) -> None:
        self._sink = sink
        self._tagged = tagged
        self._before = b"[\n"

    def frame(self, _number: int, frame: Frame, verdict: Verdict | None) -> None:
        """See `Writer.frame`."""
        data = frame.data
        if frame.kind == "record":
            self._sink.write(self._before)
            self._before = b",\n"
            # Of what is too large this is a piece, and its white space may lie within the record.
            data = data if frame.reason == "too_large" else data.strip()
            if verdict is not None:
                data = self._tagged(data, verdict)
        self._sink.write(data)

    def finish(self) -> None:
        """See `Writer.finish`."""
        self._sink.write(b"[\n]\n" if self._before == b"[\n" else b"\n]\n")


class WarcWriter:
    """WARC records to the byte, compressed one by one if the file is to be.

    :param compressed: it is to be.
    """

    def __init__(self, sink: Sink, inputs: Inputs, *, compressed: bool) -> None:
        self._sink = sink
        self._inputs = inputs
        self._compressed = compressed
        self._compressor: Any = None

    def frame(self, _number: int, frame: Frame, _verdict: Verdict | None) -> None:
        """See `Writer.frame`."""
        if not self._compressed or self._inputs.copies_members:
            self.finish()
            self._sink.write(frame.data)
            return
        if frame.kind != "rest":
            self.finish()
            self._compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
        self._sink.write(self._compressor.compress(frame.data))

    def finish(self) -> None:
        """See `Writer.finish`."""
        if self._compressor is not None:
            self._sink.write(self._compressor.flush())
            self._compressor = None


class FolderWriter:
    """Files of folders, copied.

    :param folder: where to; it is made.
    """

    def __init__(self, inputs: Inputs, folder: Path) -> None:
        self._inputs = inputs
        self._folder = folder
        folder.mkdir()

    def frame(self, number: int, frame: Frame, _verdict: Verdict | None) -> None:
        """See `Writer.frame`."""
        source = Path(os.fsdecode(frame.data))
        target = self._folder / self._inputs.place_of(number, source)
        if target.exists():
            raise SimhashError(f"{target} would be written twice: two inputs have the same name")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)

    def finish(self) -> None:
        """See `Writer.finish`."""


class Sink(Protocol):
    """Where bytes go."""

    def write(self, data: bytes, /) -> object:
        """Write them."""


@contextmanager
def compressing(stream: BinaryIO, threads: int) -> Iterator[Sink]:
    """A sink that compresses by gzip, a member for each block, in several threads."""
    with ThreadPoolExecutor(threads) as executor:
        blocks = _Blocks(stream, executor, 2 * threads)
        yield blocks
        blocks.flush()


class _Blocks:
    def __init__(self, stream: BinaryIO, executor: ThreadPoolExecutor, most: int) -> None:
        self._stream = stream
        self._executor = executor
        self._most = most
        self._block = bytearray()
        self._compressed: deque[Future[bytes]] = deque()

    def write(self, data: bytes, /) -> None:
        self._block += data
        if len(self._block) >= _BLOCK_BYTES:
            self._submit()

    def flush(self) -> None:
        self._submit()
        while self._compressed:
            self._stream.write(self._compressed.popleft().result())

    def _submit(self) -> None:
        block, self._block = bytes(self._block), bytearray()
        self._compressed.append(self._executor.submit(gzip.compress, block, _GZIP_LEVEL, mtime=0))
        if len(self._compressed) > self._most:
            self._stream.write(self._compressed.popleft().result())


def check_tags(inputs: Inputs, options: DedupeOptions) -> None:
    """:raises SimhashError: there is no place for the tags that are asked for."""
    if options.action != "tag":
        return
    if inputs.format in ("html", "warc"):
        raise SimhashError(
            f"{inputs.format} has no fields for tags: --action drop, or --verdicts FILE"
        )
    is_parquet = inputs.format == "parquet"
    columns = parquet.column_names(inputs.files[0].path) if is_parquet else inputs.header
    for name in options.tags.values():
        if name in columns:
            raise SimhashError(
                f"there is a column {name!r} already: name another in SIMHASH_ITEM_TAGS"
            )


def tagged_json(
    tags: Mapping[str, str], encoding: str = "utf-8"
) -> Callable[[bytes, Verdict], bytes]:
    """Adds fields at the end of a JSON object, which is left as it is otherwise."""
    if not tags:
        return untagged
    names = [json.dumps(name).encode("ascii") for name in tags.values()]

    def tagged(data: bytes, verdict: Verdict) -> bytes:
        if verdict["reason"]:
            return data
        record = data.rstrip()
        inside = record.removesuffix(b"}").rstrip()
        if any(name in record for name in names):  # a tag of an earlier run, perhaps
            inside = _without(record.decode(encoding), tags.values()).encode(encoding)
        comma = b"" if inside.endswith(b"{") else b", "
        values = {name: verdict.get(field) for field, name in tags.items()}
        added = json.dumps(values).encode("ascii")[1:-1]
        return b"%b%b%b}%b" % (inside, comma, added, data[len(record) :])

    return tagged


def _without(record: str, names: Collection[str]) -> str:
    """The text of a JSON object without some of its fields, and without its end."""
    decoder = json.JSONDecoder()
    at = _behind_space(record, record.index("{") + 1)
    kept = [record[:at]]
    while record[at] != "}":
        start = at
        name, at = decoder.raw_decode(record, at)
        _, at = decoder.raw_decode(record, _behind_space(record, at))
        at = _behind_space(record, at)
        if name not in names:
            kept.append(record[start:at])
    return "".join(kept).rstrip().removesuffix(",").rstrip()


def _behind_space(record: str, at: int) -> int:
    while record[at] in ":, \t\r\n":
        at += 1
    return at


class CsvTags:
    """Adds columns at the end of CSV records, which are left as they are otherwise."""

    def __init__(self, inputs: Inputs, tags: Mapping[str, str], encoding: str) -> None:
        self._columns = len(inputs.header)
        self._delimiter = inputs.delimiter
        self._encoding = encoding
        self._tags = tags

    def head(self, line: bytes) -> bytes:
        """The names of the columns."""
        return self._joined(line, list(self._tags.values()), self._columns)

    def __call__(self, data: bytes, verdict: Verdict) -> bytes:
        """A record with its tags."""
        from scrapy_simhash.dedupe.records import read_csv

        if verdict["reason"] in _NOT_READ:
            return data
        count = len(read_csv(data, self._encoding, self._delimiter))
        values = [None if verdict["reason"] else verdict.get(field) for field in self._tags]
        return data if count > self._columns else self._joined(data, values, count)

    def _joined(self, data: bytes, values: list[Any], count: int) -> bytes:
        if not self._tags:
            return data
        out = io.StringIO(newline="")
        row = [""] * (self._columns - count) + ["" if v is None else str(v) for v in values]
        csv.writer(out, delimiter=self._delimiter, lineterminator="").writerow(row)
        record = data.rstrip(b"\r\n")
        added = (self._delimiter + out.getvalue()).encode(self._encoding, "backslashreplace")
        return record + added + data[len(record) :]


def untagged(data: bytes, _verdict: Verdict) -> bytes:
    """A record as it is."""
    return data
