"""Reading: files and folders → documents with a name and a text, one after the other.

Text files and HTML pages are a document each, JSON has one in each line. What cannot be read is
told apart from what can, with the reason, and reading goes on.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, cast

from scrapy_simhash.decoding import (
    NotReadable,
    byte_order_encoding,
    decoded,
    decoded_as,
    decoded_file,
    without_surrogates,
)
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DEFAULT_MAX_BYTES = 64 << 20
_GZIP = b"\x1f\x8b"
_HTML_ENDINGS = (".html", ".htm", ".xhtml")
_JSON_ENDINGS = (".jsonl", ".jl", ".ndjson", ".json")
_HTML_START = re.compile(
    r"\ufeff?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
# Bytes that the decoder of lines took for none of its encoding.
_UNDECODED = re.compile("[\udc80-\udcff]")
_HTML_START_CHARACTERS = 4096
_SHOWN_FIELDS = 8

Kind = Literal["text", "html", "json"]


class Document(NamedTuple):
    """A text to add or to check."""

    name: str
    text: str


class HtmlDocument(Document):
    """One whose text is a whole page, see `Reading.keep_html`."""

    __slots__ = ()


class Skipped(NamedTuple):
    """What could not be read, and why. `reason` is the same for all of its kind."""

    place: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files are read.

    :param text_field: of a JSON object: its text.
    :param name_field: its name; None for ``url``, else ``id``. FILE:LINE where it has none.
    :param encoding: of all files; None to find it out.
    :param max_bytes: of a document; 0 for any number.
    :param keep_html: give pages as they are, instead of their main text.
    """

    text_field: str = "text"
    name_field: str | None = None
    encoding: str | None = None
    max_bytes: int = DEFAULT_MAX_BYTES
    keep_html: bool = False

    def documents(
        self, paths: Iterable[Path], *, but: Path | None = None
    ) -> Iterator[Document | Skipped]:
        """The documents of files, and of all files in folders.

        :param but: a folder that is left out, the index itself.
        """
        for path in files_in(paths, but=but):
            yield from self.file(path)

    def file(self, path: Path) -> Iterator[Document | Skipped]:
        """The documents of one file."""
        name = readable_name(path)
        try:
            with path.open("rb", buffering=1 << 16) as stream:
                yield from self.stream(name, stream)
        except OSError as error:
            yield Skipped(name, "cannot be opened", error.strerror or str(error))

    def stream(self, name: str, stream: BinaryIO) -> Iterator[Document | Skipped]:
        """The documents of what is open; its name says what kind it is, or else its content."""
        try:
            with unpacked(stream) as content:
                kind = _kind(name)
                if kind == "json":
                    yield from self._json(name, content)
                else:
                    yield self._one(name, self._limited(content), kind)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            yield Skipped(name, "damaged gzip", str(error))
        except NotReadable as error:
            yield Skipped(name, error.reason, error.detail)
        except UnicodeError as error:  # of lines in UTF-16, of which the rest is lost, too
            yield Skipped(name, "not of its encoding", str(error))
        except OSError as error:
            yield Skipped(name, "cannot be read", error.strerror or str(error))

    def page(self, name: str, content: bytes, text: str, *, html: bool) -> Document | Skipped:
        """Return the document of a page that was downloaded.

        :param text: as it was decoded already; without effect if `encoding` is set.
        """
        try:
            if self.max_bytes and len(content) > self.max_bytes:
                raise self._too_long()
            if self.encoding is not None:
                text = decoded_as(content, self.encoding)
        except NotReadable as error:
            return Skipped(name, error.reason, error.detail)
        return self._document(name, text, html=html)

    def _one(self, name: str, content: bytes, kind: Kind) -> Document | Skipped:
        if self.encoding is not None:
            text = decoded_as(content, self.encoding)
        else:
            text = (decoded if _is_html(content, kind) else decoded_file)(content)
        return self._document(name, text, html=kind == "html")

    def _limited(self, stream: BinaryIO) -> bytes:
        if not self.max_bytes:
            return stream.read()
        content = stream.read(self.max_bytes + 1)
        if len(content) > self.max_bytes:
            raise self._too_long()
        return content

    def _too_long(self) -> NotReadable:
        return NotReadable(f"longer than {self.max_bytes:,} bytes", "--max-bytes sets the limit")

    def _json(self, name: str, stream: BinaryIO) -> Iterator[Document | Skipped]:
        """A JSON object in each line; or, where the first line is none, one JSON value of all."""
        lines = _Lines(stream, self.encoding, self.max_bytes)
        try:
            yield from self._lines(name, lines)
        finally:
            lines.leave()

    def _lines(self, name: str, lines: _Lines) -> Iterator[Document | Skipped]:
        first = True
        for number, line in enumerate(lines, 1):
            place = f"{name}:{number}"
            if line is None:
                yield Skipped(place, f"longer than {self.max_bytes:,} bytes")
                continue
            if not line.isascii() and _UNDECODED.search(line):
                yield Skipped(
                    place, "not of its encoding", "UTF-8, unless --encoding names another"
                )
                continue
            if not line.strip():
                continue
            whole = first and name.lower().removesuffix(".gz").endswith(".json")
            first = False
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                if whole:
                    yield from self._whole(name, line, lines)
                    return
                yield Skipped(place, "not JSON", str(error))
                continue
            if whole and isinstance(value, list):  # in one line
                yield from self._whole(name, line, lines)
                return
            yield self._object(place, value)

    def _whole(self, name: str, first: str, lines: _Lines) -> Iterator[Document | Skipped]:
        text = first + lines.rest()
        if self.max_bytes and len(text) > self.max_bytes:
            raise NotReadable(
                f"longer than {self.max_bytes:,} bytes", "JSON lines are read one by one"
            )
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            yield Skipped(name, "not JSON", str(error))
            return
        for number, item in enumerate(value if isinstance(value, list) else [value], 1):
            yield self._object(f"{name}:{number}", item)

    def _object(self, place: str, value: Any) -> Document | Skipped:
        if not isinstance(value, dict):
            return Skipped(place, "not a JSON object")
        text = value.get(self.text_field)
        if not isinstance(text, str):
            if text is not None:
                return Skipped(place, f"field {self.text_field!r} is not text")
            names = ", ".join(list(value)[:_SHOWN_FIELDS])
            return Skipped(
                place,
                f"no field {self.text_field!r}",
                f"it has {names or 'none'}; --text-field names the one with the text",
            )
        fields = ("url", "id") if self.name_field is None else (self.name_field,)
        found = (value.get(field) for field in fields)
        name = next((str(n) for n in found if isinstance(n, (str, int)) and str(n).strip()), place)
        return self._document(without_surrogates(name), without_surrogates(text))

    def _document(self, name: str, text: str, *, html: bool = False) -> Document | Skipped:
        html = html or _HTML_START.match(text[:_HTML_START_CHARACTERS]) is not None
        if html and not self.keep_html:
            from scrapy_simhash.extraction import extract

            try:
                text = extract(text).text
            except SimhashError as error:
                return Skipped(name, "no text could be extracted", str(error))
        if not text or text.isspace():
            return Skipped(name, "no text in it")
        return (HtmlDocument if html and self.keep_html else Document)(name, text)


def files_in(paths: Iterable[Path], *, but: Path | None = None) -> Iterator[Path]:
    """Files as they are named, and those of folders in the order of their names; of these, hidden
    ones and what is no file are left out, and links to folders are not followed.
    """
    for path in paths:
        if path.is_dir():
            for folder, folders, names in os.walk(path):
                inside = Path(folder)
                folders[:] = sorted(
                    name
                    for name in folders
                    if not name.startswith(".") and (but is None or not _same(inside / name, but))
                )
                for name in sorted(names):
                    if not name.startswith(".") and (inside / name).is_file():
                        yield inside / name
        else:
            yield path


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def readable_name(path: Path) -> str:
    """A path as text that can be written anywhere: names of files may be any bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


@contextmanager
def unpacked(stream: BinaryIO) -> Iterator[BinaryIO]:
    """A stream without its gzip compression, if it has one. It need not be seekable."""
    buffered = stream if hasattr(stream, "peek") else io.BufferedReader(cast("Any", stream))
    if not cast("Any", buffered).peek(2).startswith(_GZIP):
        yield buffered
        return
    with gzip.GzipFile(fileobj=buffered) as inside:
        yield io.BufferedReader(cast("Any", inside))


def _kind(name: str) -> Kind:
    name = name.lower().removesuffix(".gz")
    if name.endswith(_JSON_ENDINGS):
        return "json"
    return "html" if name.endswith(_HTML_ENDINGS) else "text"


def _is_html(content: bytes, kind: Kind) -> bool:
    start = content[:_HTML_START_CHARACTERS].decode("latin-1").replace("\0", "")
    return kind == "html" or _HTML_START.match(start.removeprefix("ï»¿")) is not None


class _Lines:
    """Lines of a stream, decoded; None for one that is too long."""

    def __init__(self, stream: BinaryIO, encoding: str | None, max_bytes: int) -> None:
        start = cast("Any", stream).peek(4)[:4]
        self._text = io.TextIOWrapper(
            stream,
            encoding=encoding or byte_order_encoding(start) or "utf-8-sig",
            errors="surrogateescape",
            newline="\n",
        )
        self._max_bytes = max_bytes

    def __iter__(self) -> Iterator[str | None]:
        most = self._max_bytes
        while line := self._text.readline(most + 1 if most else -1):
            if most and (len(line) > most or _size(line, most) > most):
                while not line.endswith("\n") and (line := self._text.readline(1 << 20)):
                    pass
                yield None
            else:
                yield line

    def leave(self) -> None:
        """Leave the stream open, for it is closed where it was opened."""
        self._text.detach()

    def rest(self) -> str:
        return self._text.read(self._max_bytes + 1 if self._max_bytes else -1)


def _size(line: str, enough: int) -> int:
    """Of a line in UTF-8; of short ones it does not matter."""
    return 0 if len(line) * 4 <= enough else len(line.encode("utf-8", "surrogatepass"))
