"""Read files and folders as documents, each with a name and a text.

A text file or an HTML page is one document. A JSON file has a document in each line, or in each
item of a list. For a file or document that cannot be read, `Skipped` says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from scrapy_simhash.documents.decoding import (
    HTML_ENDINGS,
    begins_as_html_bytes,
    decoded,
    decoded_file,
    without_surrogates,
)
from scrapy_simhash.documents.files import DamagedFile, files_in, path_name, uncompressed
from scrapy_simhash.documents.lines import (
    Unreadable,
    ascii_lines,
    json_parts,
    line_parts,
    parse_json,
)
from scrapy_simhash.errors import ExtractionError
from scrapy_simhash.markup import begins_as_html, is_html

if TYPE_CHECKING:
    import io
    from collections.abc import Iterable, Iterator
    from pathlib import Path

DEFAULT_MAX_BYTES = 64 << 20
_JSON_ENDINGS = (".jsonl", ".jl", ".ndjson", ".json")
_SHOWN_FIELDS = 8


class Document(NamedTuple):
    """A named text.

    :param text: HTML if `is_html`, else plain text.
    :param url: URL of a page that was downloaded, after redirects.
    """

    name: str
    text: str
    is_html: bool = False
    url: str | None = None

    def main_text(self) -> str:
        """Return a plain text as it is, and the main text of a page.

        :raises ExtractionError: it cannot be extracted.
        """
        if not self.is_html:
            return self.text
        from scrapy_simhash.extraction import extract

        return extract(self.text).text


class Skipped(NamedTuple):
    """A file or document that could not be read; for `reason` and `detail` see `Unreadable`.

    :param place: name of the file, followed by ``:NUMBER`` for one of its documents.
    """

    place: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class DocumentReader:
    """A reader of documents.

    :param text_field: field of a JSON object that contains the text of the document.
    :param name_field: field with its name; None for ``url`` or, if that is missing, ``id``. The
        default name is FILE:NUMBER, with the number of the line or item.
    :param max_bytes: upper limit of a document.
    """

    text_field: str = "text"
    name_field: str | None = None
    max_bytes: int = DEFAULT_MAX_BYTES

    def documents(
        self, paths: Iterable[Path], *, exclude: Path | None = None
    ) -> Iterator[Document | Skipped]:
        """Yield the documents of files, and of the files in folders that `files_in` yields."""
        for path in files_in(paths, exclude=exclude):
            yield from self.file(path)

    def file(self, path: Path) -> Iterator[Document | Skipped]:
        """Yield the documents of one file."""
        name = path_name(path)
        try:
            with path.open("rb", buffering=1 << 16) as stream:
                yield from self.stream(name, stream)
        except OSError as error:
            yield Skipped(name, "cannot be opened", error.strerror or str(error))

    def stream(self, name: str, stream: BinaryIO) -> Iterator[Document | Skipped]:
        """Yield the documents of a file: JSON by its name, HTML by its name or beginning."""
        lower = name.lower().removesuffix(".gz")
        is_json = lower.endswith(_JSON_ENDINGS)
        try:
            with uncompressed(stream) as content:
                if is_json:
                    yield from self._json(name, content)
                else:
                    whole = self._read_all(content)
            if not is_json:  # only after `uncompressed`, whose exit raises DamagedFile
                yield self._file_document(name, whole, html=lower.endswith(HTML_ENDINGS))
        except DamagedFile as error:
            yield Skipped(name, "damaged gzip", str(error))
        except Unreadable as error:
            yield Skipped(name, error.reason, error.detail)
        except OSError as error:
            yield Skipped(name, "cannot be read", error.strerror or str(error))

    def page(self, name: str, content: bytes, text: str, *, html: bool) -> Document | Skipped:
        """Return the document of a page that was downloaded.

        :param content: the page, and `text`: the same, decoded.
        :param html: True for HTML; False to detect HTML by the beginning.
        """
        if len(content) > self.max_bytes:
            return Skipped(name, self._too_long().reason, self._too_long().detail)
        return self._document(name, text, html=html)

    def _file_document(self, name: str, content: bytes, *, html: bool) -> Document | Skipped:
        is_page = html or begins_as_html_bytes(content)
        text = (decoded if is_page else decoded_file)(content)
        return self._document(name, text, html=html)

    def _read_all(self, stream: BinaryIO) -> bytes:
        content = stream.read(self.max_bytes + 1)
        if len(content) > self.max_bytes:
            raise self._too_long()
        return content

    def _too_long(self) -> Unreadable:
        return Unreadable(
            f"longer than {self.max_bytes:,} bytes", detail="SIMHASH_MAX_BYTES sets the limit"
        )

    def _json(self, name: str, stream: io.BufferedReader) -> Iterator[Document | Skipped]:
        """Yield the document of each line or, if the name ends in ``.json``, of each item."""
        lines, encoding = ascii_lines(stream, "utf-8")
        if name.lower().removesuffix(".gz").endswith(".json"):
            parts = json_parts(lines, encoding, self.max_bytes)
        else:
            parts = line_parts(lines, self.max_bytes)
        for number, part in enumerate(parts, 1):
            place = f"{name}:{number}"
            if part.reason == "too_large":
                yield Skipped(place, f"longer than {self.max_bytes:,} bytes")
            elif part.is_record:
                yield self._json_document(place, part.data, encoding)

    def _json_document(self, place: str, content: bytes, encoding: str) -> Document | Skipped:
        try:
            return self._object(place, parse_json(content, encoding))
        except Unreadable as error:
            if error.reason == "not_json":
                return Skipped(place, "not a JSON object")
            detail = f"it is not {encoding}"
            return Skipped(place, "not of its encoding", detail)

    def _object(self, place: str, value: dict[str, Any]) -> Document | Skipped:
        text = value.get(self.text_field)
        if not isinstance(text, str):
            if text is not None:
                return Skipped(place, f"field {self.text_field!r} is not text")
            names = ", ".join(list(value)[:_SHOWN_FIELDS])
            return Skipped(
                place,
                f"no field {self.text_field!r}",
                f"it has {names or 'none'}; name the one with the text with --text-field",
            )
        fields = ("url", "id") if self.name_field is None else (self.name_field,)
        values = (value.get(field) for field in fields)
        name = next((str(v) for v in values if isinstance(v, (str, int)) and str(v).strip()), place)
        text = without_surrogates(text)
        if not begins_as_html(text):
            from scrapy_simhash.extraction import plain_text

            try:
                text = plain_text(text)
            except ExtractionError as error:
                return Skipped(place, "no text could be extracted", str(error))
        return self._document(without_surrogates(name), text)

    def _document(self, name: str, text: str, *, html: bool = False) -> Document | Skipped:
        if html and not is_html(text):
            return Skipped(name, "not HTML")
        html = html or begins_as_html(text)
        if not text or text.isspace():
            return Skipped(name, "no text in it")
        return Document(name, text, is_html=html)
