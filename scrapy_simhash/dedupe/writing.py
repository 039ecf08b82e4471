"""Write the output from inputs and verdicts. JSON and WARC records without tags are copied."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zlib
from collections import deque
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.dedupe.inputs import changed_error
from scrapy_simhash.dedupe.options import STANDARD_OUTPUT
from scrapy_simhash.documents.csv_records import written_row
from scrapy_simhash.documents.files import import_extra, path_name, sync_file
from scrapy_simhash.documents.lines import parse_json
from scrapy_simhash.documents.parquet import parquet_schema, row_batches
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from scrapy_simhash.dedupe.inputs import InputFile, Inputs
    from scrapy_simhash.dedupe.options import DedupeOptions, DedupePaths
    from scrapy_simhash.documents.lines import Part

    PlainVerdict: TypeAlias = Mapping[str, Any]
    KeptParts: TypeAlias = Iterable[tuple[InputFile, Part, PlainVerdict | None]]
    Tagger: TypeAlias = Callable[[bytes, PlainVerdict], bytes]

_GZIP_LEVEL = 6
_GZIP_WINDOW = 31
_PARQUET_ROWS = 4096
# Rows of CSV that were skipped for these reasons have no columns to add tags to.
_UNREADABLE = frozenset({"not_csv", "surplus_fields", "not_its_encoding"})


def write_output(
    inputs: Inputs,
    verdicts: Iterator[PlainVerdict],
    paths: DedupePaths,
    options: DedupeOptions,
    output: Path,
) -> None:
    """Write the kept records to `output`, or to standard output if `paths` says so.

    :param verdicts: those of all records, in the same order. They are consumed, even if `paths` has
        no output.
    :raises SimhashError: an input has changed.
    """
    is_standard_output = paths.output == STANDARD_OUTPUT
    tags = options.tags if options.action == "tag" else {}
    if paths.output is None or (is_standard_output and sys.stdout is None):
        deque(verdicts, maxlen=0)
    elif inputs.format == "parquet":
        _write_parquet([file.path for file in inputs.files], verdicts, output, tags)
    elif inputs.format == "html":
        _write_folder(inputs, verdicts, output)
    else:
        chunks = _chunks(inputs, verdicts, tags, compressed=paths.output.name.endswith(".gz"))
        if is_standard_output:
            sys.stdout.buffer.writelines(chunks)
            sys.stdout.flush()
        else:
            with output.open("wb", buffering=1 << 20) as file:
                file.writelines(chunks)
    if output.is_file():
        sync_file(output)


def _kept(inputs: Inputs, verdicts: Iterator[PlainVerdict]) -> KeptParts:
    """Yield (file, part, verdict), but no dropped records. Only records have a verdict."""
    for file, part in inputs.parts():
        verdict = None
        if part.is_record:
            verdict = next(verdicts, None)
            if verdict is None or (
                inputs.format == "html" and verdict["key"] != path_name(_path_of(part))
            ):
                raise changed_error("an input")
            if verdict["dropped"]:
                continue
        yield file, part, verdict


def _chunks(
    inputs: Inputs, verdicts: Iterator[PlainVerdict], tags: Mapping[str, str], *, compressed: bool
) -> Iterator[bytes]:
    """Yield the bytes of an output that is one file; WARC is compressed record by record."""
    kept = _kept(inputs, verdicts)
    if inputs.format == "warc":
        for _, part, _ in kept:
            record = chain([part.data], part.rest)
            yield from compressed_by_gzip(record) if compressed else record
        return
    records = ((part, verdict) for _, part, verdict in kept if verdict is not None)
    write = _csv_pieces if inputs.format == "csv" else _json_pieces
    pieces = write(inputs, records, tags)
    yield from compressed_by_gzip(pieces) if compressed else pieces


def compressed_by_gzip(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield bytes, compressed."""
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    yield from map(compressor.compress, pieces)
    yield compressor.flush()


def _json_pieces(
    inputs: Inputs, records: Iterable[tuple[Part, PlainVerdict]], tags: Mapping[str, str]
) -> Iterator[bytes]:
    """Yield lines, or an array."""
    tag = json_tagger(tags, inputs.encoding)
    pieces = (tag(part.data, verdict) for part, verdict in records)
    if not inputs.is_array:
        yield from (piece if piece.endswith(b"\n") else piece + b"\n" for piece in pieces)
        return
    yield b"["
    for at, piece in enumerate(pieces):
        yield (b",\n" if at else b"\n") + piece
    yield b"\n]\n"


def _csv_pieces(
    inputs: Inputs, records: Iterable[tuple[Part, PlainVerdict]], tags: Mapping[str, str]
) -> Iterator[bytes]:
    """Yield the header and the rows. Rows that cannot be read get no tags."""
    layout, encoding = inputs.layout, inputs.encoding
    width = len(layout.columns)
    if width:
        yield layout.head.encode(encoding)
        yield written_row((*layout.columns, *tags.values()), layout, encoding)
    for part, verdict in records:
        row: Sequence[object] | str = part.row
        if tags and verdict["reason"] not in _UNREADABLE:
            added = ["" if verdict["kind"] == "skipped" else verdict.get(f) for f in tags]
            row = [*part.row[:width], *[""] * (width - len(part.row)), *added]
        yield written_row(row, layout, encoding)


def _write_folder(inputs: Inputs, verdicts: Iterator[PlainVerdict], folder: Path) -> None:
    """Copy kept files to a new folder, those of each of several folders to a subfolder."""
    folder.mkdir()
    names: dict[Path, str] = {}
    for number, path in enumerate((file.path for file in inputs.files), 1):
        name = path.resolve().name if path.is_dir() else path.name
        while name in names.values():
            name = f"{number}-{name}"
        names.setdefault(path, name)
    for file, part, _ in _kept(inputs, verdicts):
        source, top = _path_of(part), file.path
        is_only_folder = source != top and len(inputs.files) == 1
        target = folder / ("" if is_only_folder else names[top]) / source.relative_to(top)
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
    """Return a function that adds tags to a JSON object.

    The object keeps its bytes, unless it has tags of an earlier run, or a comma stands behind it:
    then it is written again.
    """
    names = [json.dumps(name)[1:-1].encode("ascii") for name in tags.values()]

    def tag(data: bytes, verdict: PlainVerdict) -> bytes:
        if not tags or verdict["kind"] == "skipped":
            return data
        record = data.rstrip()
        line_end = data[len(record) :]
        values = {name: verdict.get(field) for field, name in tags.items()}
        if not record.endswith(b"}") or any(name in record for name in names):
            fields = parse_json(data, encoding)
            others = {name: value for name, value in fields.items() if name not in values}
            text = json.dumps(others | values, ensure_ascii=encoding != "utf-8")
            return text.encode(encoding, "backslashreplace") + line_end
        inside = record.removesuffix(b"}").rstrip()
        comma = b"" if inside.endswith(b"{") else b", "
        return b"%b%b%b%b" % (inside, comma, json.dumps(values).encode("ascii")[1:], line_end)

    return tag
