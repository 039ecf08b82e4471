"""Write the output from inputs and verdicts. Bytes of records are copied, except in Parquet, and
except for tagged rows of CSV.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
import sys
import zlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.dedupe.inputs import changed_error
from scrapy_simhash.dedupe.options import STANDARD_OUTPUT
from scrapy_simhash.documents.csv_records import parse_csv
from scrapy_simhash.documents.files import import_extra, path_name, sync_file
from scrapy_simhash.documents.parquet import parquet_schema, row_batches
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Generator,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from typing import TypeAlias

    from scrapy_simhash.dedupe.inputs import Inputs
    from scrapy_simhash.dedupe.options import DedupeOptions, DedupePaths
    from scrapy_simhash.documents.csv_records import Layout
    from scrapy_simhash.documents.lines import Part

    PlainVerdict: TypeAlias = Mapping[str, Any]
    KeptParts: TypeAlias = Iterable[tuple[int, Part, PlainVerdict | None]]
    Tagger: TypeAlias = Callable[[bytes, PlainVerdict], bytes]

_BLOCK_BYTES = 1 << 20
_GZIP_LEVEL = 6
_GZIP_WINDOW = 31
_PARQUET_ROWS = 4096
# CSV records that were skipped for these reasons get no tag columns: parsing may fail, or hang.
_NOT_PARSED = frozenset(
    "not_csv surplus_fields not_its_encoding too_large error timeout worker_died".split()
)


def write_output(
    inputs: Inputs,
    verdicts: Iterator[PlainVerdict],
    paths: DedupePaths,
    options: DedupeOptions,
    output: Path,
    *,
    threads: int,
) -> None:
    """Write the kept records to `output`, or to standard output if `paths` says so.

    :param verdicts: those of all records, in the same order. They are consumed, even if `paths` has
        no output.
    :param threads: number of threads that compress.
    :raises SimhashError: an input has changed, or two HTML files would get the same path.
    """
    is_standard_output = paths.output == STANDARD_OUTPUT
    tags = options.tags if options.action == "tag" else {}
    if paths.output is None or (is_standard_output and sys.stdout is None):
        deque(verdicts, maxlen=0)
    elif inputs.format == "parquet":
        _write_parquet([file.path for file in inputs.files], verdicts, output, tags)
    elif inputs.format == "html":
        _write_folder(inputs, _kept(inputs, verdicts), output)
    else:
        pieces = _pieces(inputs, verdicts, tags)
        if paths.is_compressed and inputs.format != "warc":
            pieces = _gzipped(pieces, threads)
        with closing(pieces):
            if is_standard_output:
                sys.stdout.buffer.writelines(pieces)
                sys.stdout.flush()
            else:
                with output.open("wb", buffering=1 << 20) as file:
                    file.writelines(pieces)
    if output.is_file():
        sync_file(output)


def _kept(inputs: Inputs, verdicts: Iterator[PlainVerdict]) -> KeptParts:
    """Yield (file number, part, verdict), but no dropped records. Only records have a verdict."""
    for number, part in inputs.parts():
        verdict = None
        if part.is_record:
            verdict = next(verdicts, None)
            if verdict is None or (
                inputs.format == "html" and verdict["key"] != path_name(_path_of(part))
            ):
                raise changed_error("an input")
            if verdict["dropped"]:
                continue
        yield number, part, verdict


def _pieces(
    inputs: Inputs, verdicts: Iterator[PlainVerdict], tags: Mapping[str, str]
) -> Generator[bytes, None, None]:
    """Yield the bytes of an output that is one file."""
    kept = _kept(inputs, verdicts)
    if inputs.format == "warc":
        yield from _warc_pieces(inputs, kept)
    elif inputs.layout is not None:
        yield from _csv_pieces(inputs, inputs.layout, kept, tags)
    else:
        tag = json_tagger(tags, inputs.encoding)
        yield from _json_pieces(kept, tag, is_array=inputs.is_array)


def _json_pieces(kept: KeptParts, tag: Tagger, *, is_array: bool) -> Iterator[bytes]:
    """Yield objects, each in lines of its own, and the brackets and commas of an array."""
    separator = b"[\n" if is_array else b""
    for _, part, verdict in kept:
        if verdict is not None:
            record = tag(part.data, verdict)
            yield separator + (record if record.endswith(b"\n") or is_array else record + b"\n")
            separator = b",\n" if is_array else b""
    if is_array:
        yield b"[\n]\n" if separator == b"[\n" else b"\n]\n"


def _csv_pieces(
    inputs: Inputs, layout: Layout, kept: KeptParts, tags: Mapping[str, str]
) -> Iterator[bytes]:
    """Yield the header and the records. With tags, those that can be read are written again."""
    line_end = "\r\n" if layout.head.endswith(b"\r\n") else "\n"

    def row(values: Iterable[Any]) -> bytes:
        out = io.StringIO(newline="")
        csv.writer(out, delimiter=layout.delimiter, lineterminator=line_end).writerow(values)
        return out.getvalue().encode(inputs.encoding, "backslashreplace")

    head = layout.head
    if head and tags:
        head = row((*layout.columns, *tags.values()))
    yield head if head.endswith(b"\n") or not head else head + b"\n"
    for _, part, verdict in kept:
        if verdict is None:
            continue
        data = part.data
        if tags and verdict["reason"] not in _NOT_PARSED:
            values = parse_csv(data, inputs.encoding, layout)
            values += [""] * (len(layout.columns) - len(values))
            is_skipped = verdict["kind"] == "skipped"
            data = row([*values, *(None if is_skipped else verdict.get(f) for f in tags)])
        yield data if data.endswith(b"\n") else data + b"\n"


def _warc_pieces(inputs: Inputs, kept: KeptParts) -> Iterator[bytes]:
    """Yield WARC records, compressed record by record if the output is compressed."""
    is_copied = [
        not inputs.is_output_compressed or inputs.yields_compressed(file.path)
        for file in inputs.files
    ]
    for number, part, _ in kept:
        if is_copied[number]:
            yield part.data
            yield from part.rest
        else:
            compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
            yield from map(compressor.compress, chain([part.data], part.rest))
            yield compressor.flush()


def _write_folder(inputs: Inputs, kept: KeptParts, folder: Path) -> None:
    """Copy kept files to a new folder. Of several inputs, each folder gets a subfolder."""
    folder.mkdir()
    for number, part, _ in kept:
        source, top = _path_of(part), inputs.files[number].path
        if source == top:
            inside = Path(source.name)
        else:
            inside = source.relative_to(top)
            if len(inputs.files) > 1:
                inside = Path(top.resolve().name, inside)
        target = folder / inside
        if target.exists():
            raise SimhashError(f"{target} would be written twice: rename one of its two inputs")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def _path_of(part: Part) -> Path:
    return Path(os.fsdecode(part.data))


def _write_parquet(
    paths: Sequence[Path], verdicts: Iterator[PlainVerdict], output: Path, tags: Mapping[str, str]
) -> None:
    """Write the kept rows, with a column for each tag."""
    arrow, parquet = import_extra("pyarrow"), import_extra("pyarrow.parquet")
    types = {"distance": arrow.int32(), "similarity": arrow.float64()}
    fields = {
        name: arrow.field(column, types.get(name, arrow.string())) for name, column in tags.items()
    }
    schema = parquet_schema(paths[0])
    for field in fields.values():
        schema = schema.append(field)
    with parquet.ParquetWriter(output, schema) as writer:
        for path in paths:
            for batch in row_batches(path, _PARQUET_ROWS):
                row_verdicts = list(islice(verdicts, batch.num_rows))
                if len(row_verdicts) < batch.num_rows:
                    raise changed_error("an input")
                table = arrow.Table.from_batches([batch])
                for name, field in fields.items():
                    values = [None if v["kind"] == "skipped" else v.get(name) for v in row_verdicts]
                    table = table.append_column(field, arrow.array(values, field.type))
                is_kept = arrow.array([not v["dropped"] for v in row_verdicts])
                writer.write_table(table.filter(is_kept))


def _gzipped(pieces: Iterable[bytes], threads: int) -> Generator[bytes, None, None]:
    """Compress pieces in several threads. Yield blocks, each a gzip member of its own."""
    waiting: deque[Future[bytes]] = deque()
    with ThreadPoolExecutor(threads) as executor:
        for block in _blocks(pieces):
            waiting.append(executor.submit(gzip.compress, block, _GZIP_LEVEL, mtime=0))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        for compressed in waiting:
            yield compressed.result()


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= _BLOCK_BYTES:
            yield bytes(block)
            block.clear()
    yield bytes(block)


def check_output(inputs: Inputs, paths: DedupePaths, options: DedupeOptions) -> None:
    """Check that the format can be written to the output, and tagged if the action is ``tag``.

    :raises SimhashError: it cannot, or a column has the name of a tag.
    """
    if paths.output == STANDARD_OUTPUT and inputs.format in ("html", "parquet"):
        raise SimhashError(f"{inputs.format} cannot go to standard output: name another output")
    if options.action != "tag":
        return
    if inputs.format in ("html", "warc"):
        raise SimhashError(
            f"{inputs.format} has no fields for tags: use --action drop and --verdicts FILE"
        )
    for name in options.tags.values():
        if name in inputs.columns:
            raise SimhashError(
                f"there is a column {name!r} already: name another in SIMHASH_ITEM_TAGS"
            )


def json_tagger(tags: Mapping[str, str], encoding: str = "utf-8") -> Tagger:
    """Return a function that adds tags at the end of a JSON object, and removes earlier tags."""
    names = [json.dumps(name).encode("ascii") for name in tags.values()]

    def tag(data: bytes, verdict: PlainVerdict) -> bytes:
        if not tags or verdict["kind"] == "skipped":
            return data
        record = data.rstrip()
        inside = record.removesuffix(b"}").rstrip()
        if any(name in record for name in names):  # an earlier run may have added a tag
            inside = _without(record.decode(encoding), tags.values()).encode(encoding)
        comma = b"" if inside.endswith(b"{") else b", "
        values = {name: verdict.get(field) for field, name in tags.items()}
        added = json.dumps(values).encode("ascii")[1:-1]
        return b"%b%b%b}%b" % (inside, comma, added, data[len(record) :])

    return tag


def _without(record: str, names: Collection[str]) -> str:
    """Return the text of a JSON object without the named fields and the closing brace."""
    decode = json.JSONDecoder().raw_decode
    at = _after_space(record, record.index("{") + 1)
    kept = [record[:at]]
    while record[at] != "}":
        start = at
        name, at = decode(record, at)
        _, at = decode(record, _after_space(record, at))
        at = _after_space(record, at)
        if name not in names:
            kept.append(record[start:at])
    return "".join(kept).rstrip().removesuffix(",").rstrip()


def _after_space(record: str, at: int) -> int:
    while record[at] in ":, \t\r\n":
        at += 1
    return at
