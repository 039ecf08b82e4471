"""Read files and folders as documents, each with a name and a text.

A text file or an HTML page is one document. A JSON file has a document in each line, or in each
item of a list. For a file or document that cannot be read, `Unreadable` says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from scrapy_simhash.documents.decoding import (
    decoded,
    decoded_file,
    start_of,
    without_surrogates,
)
from scrapy_simhash.documents.files import DamagedFile, files_in, path_name, uncompressed
from scrapy_simhash.documents.formats import format_of
from scrapy_simhash.documents.lines import (
    Unreadable,
    ascii_lines,
    begins_value,
    json_parts,
    line_parts,
    parse_json,
)
from scrapy_simhash.errors import ExtractionError
from scrapy_simhash.markup import begins_as_html, is_html

if TYPE_CHECKING:
    import io
    from collections.abc import Iterable, Iterator

    from scrapy_simhash.detector import Detector, PageFingerprint
    from scrapy_simhash.extraction import Extraction

DEFAULT_MAX_BYTES = 64 << 20
_SHOWN_FIELDS = 8
_NO_TEXT, _NOT_EXTRACTED = "no text in it", "no text could be extracted"
_WORDS = {"not_json": "not a JSON object", "not_its_encoding": "not of its encoding"}


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

        :raises Unreadable: it cannot be extracted, or there is none.
        """
        from scrapy_simhash.extraction import extract

        try:
            text = extract(self.text).text if self.is_html else self.text
        except ExtractionError as error:
            raise Unreadable(_NOT_EXTRACTED, self.name, str(error)) from error
        if not text.strip():
            raise Unreadable(_NO_TEXT, self.name)
        return text

    def fingerprinted(self, detector: Detector) -> tuple[Extraction, PageFingerprint]:
        """Return what is extracted from a page, and its fingerprint as a crawl makes it; of a plain
        text, all.
        """
        from scrapy_simhash.detector import evidence_of
        from scrapy_simhash.extraction import Extraction

        if self.is_html:
            extraction, page = detector.extract_and_fingerprint(self.text)
        else:
            extraction = Extraction(self.text)
            page = detector.fingerprint_extraction(extraction)
        return extraction, replace(page, evidence=evidence_of(self.url or self.name, page))


@dataclass(frozen=True, kw_only=True)
class DocumentReader:
    """A reader of documents.

    :param text_field: field of a JSON object that contains the text of the document. One in another
        object has a dot in its name.
    :param name_field: field with its name, likewise; None for ``url`` or, if that is missing,
        ``id``. The default name is FILE:NUMBER, with the number of the line or item.
    :param max_bytes: upper limit of a document.
    """

    text_field: str = "text"
    name_field: str | None = None
    max_bytes: int = DEFAULT_MAX_BYTES

    def documents(
        self, paths: Iterable[Path], *, exclude: Path | None = None
    ) -> Iterator[Document | Unreadable]:
        """Yield the documents of files, and of the files in folders that `files_in` yields."""
        for path in files_in(paths, exclude=exclude):
            yield from self.file(path)

    def file(self, path: Path) -> Iterator[Document | Unreadable]:
        """Yield the documents of one file."""
        name = path_name(path)
        try:
            with path.open("rb", buffering=1 << 16) as stream:
                yield from self.stream(name, stream)
        except OSError as error:
            yield _unread(name, error)

    def stream(self, name: str, stream: BinaryIO) -> Iterator[Document | Unreadable]:
        """Yield the documents of a file: JSON by its name, HTML by its name or beginning."""
        found = format_of(Path(name))
        try:
            with uncompressed(stream) as content:
                if found in ("json", "json-lines"):
                    yield from self._json(name, content, is_json=found == "json")
                    return
                whole = content.read(self.max_bytes + 1)
            if found in ("csv", "parquet", "warc"):
                raise Unreadable(f"{found} is not read here", detail="write it as JSON lines")
            self._check_length(whole)
            is_html = found == "html"
            decode = decoded if is_html or begins_as_html(start_of(whole)) else decoded_file
            yield document_of(name, decode(whole), html=is_html)
        except DamagedFile as error:
            yield Unreadable("cannot be read to its end", name, str(error))
        except Unreadable as error:
            yield Unreadable(error.reason, name, error.detail)
        except OSError as error:
            yield _unread(name, error)

    def _check_length(self, content: bytes) -> None:
        if len(content) > self.max_bytes:
            reason = f"longer than {self.max_bytes:,} bytes"
            raise Unreadable(reason, detail="SIMHASH_MAX_BYTES sets the limit")

    def _json(
        self, name: str, stream: io.BufferedReader, *, is_json: bool
    ) -> Iterator[Document | Unreadable]:
        """Yield the document of each line or item."""
        lines, encoding = ascii_lines(stream, "utf-8")
        first = next(lines, b"")
        lines = chain([first], lines)
        if is_json or begins_value(first):
            parts = json_parts(lines, encoding, self.max_bytes)
        else:
            parts = line_parts(lines, self.max_bytes)
        for number, part in enumerate(parts, 1):
            place = f"{name}:{number}"
            try:
                self._check_length(part.data)
                if part.is_record:
                    yield self._object(place, parse_json(part.data, encoding))
            except Unreadable as error:
                yield Unreadable(_WORDS.get(error.reason, error.reason), place, error.detail)

    def _object(self, place: str, value: dict[str, Any]) -> Document:
        from scrapy_simhash.documents.values import text_of, value_of

        text = value_of(value, self.text_field)
        if text is None:
            names = ", ".join(list(value)[:_SHOWN_FIELDS]) or "none"
            detail = f"it has {names}; name the one with the text with --text-field"
            raise Unreadable(f"no field {self.text_field!r}", detail=detail)
        if not isinstance(text, (str, list, dict)):
            raise Unreadable(f"field {self.text_field!r} is not text")
        fields = ("url", "id") if self.name_field is None else (self.name_field,)
        values = (value_of(value, field) for field in fields)
        name = next((str(v) for v in values if isinstance(v, (str, int)) and str(v).strip()), place)
        if isinstance(text, str) and begins_as_html(text):
            text = without_surrogates(text)
        else:
            try:
                text = text_of(text)
            except ExtractionError as error:
                raise Unreadable(_NOT_EXTRACTED, detail=str(error)) from error
        return document_of(without_surrogates(name), text)


def document_of(name: str, text: str, *, html: bool = False, url: str | None = None) -> Document:
    """Return a document.

    :param html: True for HTML; False to detect HTML by the beginning.
    :raises Unreadable: it has no text, or is no HTML.
    """
    if html and not is_html(text):
        raise Unreadable("not HTML", name)
    if not text or text.isspace():
        raise Unreadable(_NO_TEXT, name)
    return Document(name, text, html or begins_as_html(text), url)


def _unread(name: str, error: OSError) -> Unreadable:
    return Unreadable("cannot be read", name, error.strerror or str(error))
