"""Read and fingerprint records, in this process or in a worker."""

from __future__ import annotations

import os
import re
from collections import deque
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.dedupe.fields import INNER_FIELDS, value_of
from scrapy_simhash.detector import Detector, PageFingerprint, evidence_of
from scrapy_simhash.documents.decoding import decoded, is_html_response, without_surrogates
from scrapy_simhash.documents.files import DamagedFile, path_name, uncompressed
from scrapy_simhash.documents.lines import Unreadable, parse_json
from scrapy_simhash.documents.warc import read_page
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence
from scrapy_simhash.extraction import Extraction, plain_text
from scrapy_simhash.identities import IDENTITY_FIELDS, identities_of_record
from scrapy_simhash.markup import is_html, kind_of
from scrapy_simhash.names import names_of_record
from scrapy_simhash.sites import page_url
from scrapy_simhash.workers.pool import STEP_INTERVAL_S, Work, WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from concurrent.futures import Future

    from scrapy_simhash.dedupe.options import DedupeOptions, Fields, Format


_Read = tuple[str, str | Extraction | PageFingerprint, dict[str, list[str]]]
"""The key of a record, its page or text, and the values of `Fields.distinct`."""
_URL = re.compile(r"https?://", re.IGNORECASE)


class Job(NamedTuple):
    """Consecutive records of one file, or of a folder of files.

    :param name: name of the file; empty if each record is a file.
    :param first_number: number of the first record in the file, from 1.
    :param contents: for each record: bytes, its content (its path if each record is a file); or a
        string, why it is skipped.
    """

    name: str
    first_number: int
    contents: Sequence[bytes | str]

    def default_key(self, at: int) -> str:
        """Return the key of a record without one: its path, or FILE#NUMBER."""
        content = self.contents[at]
        if not self.name and isinstance(content, bytes):
            return path_name(Path(os.fsdecode(content)))
        return f"{self.name}#{self.first_number + at}"


class Fingerprinted(NamedTuple):
    """A record with its key, and with its fingerprint or the reason why it is skipped."""

    key: str
    fingerprint: int | None = None
    evidence: Evidence = NO_EVIDENCE
    skipped: str | None = None


class Fingerprinter:
    """The part of a run that reads records of one format and fingerprints them. It can be pickled.

    :param options: those of the run.
    :param fields: the fields to read.
    :param encoding: encoding of JSON.
    :param versions: a later run may compare a record with an earlier version.
    """

    def __init__(
        self,
        options: DedupeOptions,
        fields: Fields,
        *,
        record_format: Format = "json-lines",
        encoding: str = "utf-8",
        versions: bool = True,
    ) -> None:
        self.timeout_ms = options.timeout_ms
        self._fields = fields
        self._encoding = encoding
        self._max_bytes = options.max_bytes
        self._detector = Detector(
            options.scheme,
            min_tokens=options.min_tokens,
            sketches=options.confirmation != UNCONFIRMED,
            versions=versions,
            distinct=tuple(name for name in fields.distinct if not name.isidentifier()),
        )
        readers: dict[str, Callable[[bytes, str], _Read]] = {
            "html": self._html_file,
            "warc": self._warc_record,
        }
        self._read = readers.get(record_format, self._record)

    def fingerprint(self, job: Job) -> list[Fingerprinted]:
        """Return the fingerprints of the records of a job. A record with an error is skipped."""
        read = [self._read_record(job, at) for at in range(len(job.contents))]
        texts = [one[1] for one in read if not isinstance(one, Fingerprinted)]
        try:
            found = self._detector.fingerprint_extractions(texts)
        except (Exception, SystemExit):  # noqa: BLE001 - of one of them
            found = [self._fingerprinted_alone(text) for text in texts]
        pages = iter(found)
        return [
            one if isinstance(one, Fingerprinted) else _fingerprinted(one[0], next(pages))
            for one in read
        ]

    def _read_record(self, job: Job, at: int) -> Fingerprinted | tuple[str, Extraction]:
        """Return a record that is skipped or an HTML page; the key and the text of any other."""
        content, key = job.contents[at], job.default_key(at)
        if isinstance(content, str):
            return Fingerprinted(key, skipped=content)
        try:
            key, page, chosen = self._read(content, key)
            if isinstance(page, str):
                page = self._detector.fingerprint_page(page, chosen)
            if isinstance(page, PageFingerprint):
                return _fingerprinted(key, page)
        except Unreadable as error:
            return Fingerprinted(error.key or key, skipped=error.reason)
        except (Exception, SystemExit):  # noqa: BLE001 - no record may stop a run
            return Fingerprinted(key, skipped="error")
        return key, page

    def _fingerprinted_alone(self, text: Extraction) -> PageFingerprint:
        try:
            return self._detector.fingerprint_extraction(text)
        except (Exception, SystemExit):  # noqa: BLE001 - no record may stop a run
            return PageFingerprint(skipped="error")

    def _record(self, content: bytes, default_key: str) -> _Read:
        """Return the key of a record, and its page as HTML or its text as an `Extraction`."""
        fields = self._fields
        record = parse_json(content, self._encoding)
        key = _key(value_of(record, fields.key) if fields.key else None) or default_key
        names = names_of_record(_text_of(value_of(record, name)) for name in fields.names or ())
        chosen = {
            n: [text for value in _values(value_of(record, n)) if (text := str(value))]
            for n in fields.distinct
        }
        if fields.html is not None:
            value = value_of(record, fields.html)
            if value is None:
                raise Unreadable("no_field", key)
            html = without_surrogates(str(value))
            is_page = kind_of(html) != "text"
            text = html if is_page else plain_text(html)
        else:
            values = [value_of(record, field) for field in fields.text]
            texts = [_text_of(value) for value in values if value is not None]
            if not texts:
                raise Unreadable("no_field", key)
            is_page = False
            text = "\n".join(texts)
        own = {n: _text_of(value) for n, value in record.items() if n.lower() in IDENTITY_FIELDS}
        identities = tuple(identities_of_record(own, text))
        found = Extraction(text, *names, identities=identities, distinct=chosen)
        if is_page:
            return key, self._detector.fingerprint_page(text, chosen, found), chosen
        return key, found, chosen

    def _html_file(self, content: bytes, key: str) -> _Read:
        try:
            with Path(os.fsdecode(content)).open("rb") as file, uncompressed(file) as stream:
                body = stream.read(self._max_bytes + 1)
        except (OSError, DamagedFile):
            raise Unreadable("unreadable", key) from None
        return key, self._page(key, body, None), {}

    def _warc_record(self, content: bytes, _default_key: str) -> _Read:
        page = read_page(content, self._max_bytes)
        key = page_url(without_surrogates(page.url))
        content_type = page.content_type or "text/plain"
        is_text = content_type.startswith("text/") and not content_type.startswith("text/html")
        if page.kind == "conversion" and is_text:
            return key, Extraction(self._page(key, page.body, page.content_type)), {}
        # In a folder or a crawl, too, an empty body is of no type.
        if page.body and not is_html_response(
            page.body, page.url, page.content_type, page.disposition
        ):
            raise Unreadable("not_html", key)
        html = self._page(key, page.body, page.content_type)
        if not (page.is_decoded or is_html(html)):
            raise Unreadable("content_encoding", key)
        return key, html, {}

    def _page(self, key: str, body: bytes, content_type: str | None) -> str:
        if not body:
            raise Unreadable("empty", key)
        if len(body) > self._max_bytes:
            raise Unreadable("too_large", key)
        return decoded(body, content_type)


def _fingerprinted(key: str, page: PageFingerprint) -> Fingerprinted:
    return Fingerprinted(key, page.fingerprint, evidence_of(key, page), page.skipped)


def _text_of(value: Any) -> str:
    """Return the text of a field, as `SIMHASH_ITEM_FIELDS` reads it; of an object, that inside."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return "\n".join(_text_of(part) for part in value if part is not None)
    if isinstance(value, dict):
        value = next((value[name] for name in INNER_FIELDS if value.get(name)), value)
    return plain_text(without_surrogates(str(value)))


def _values(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _key(value: Any) -> str | None:
    """Return the value of a field as a key, or None. URLs lose their anchors, as in a crawl."""
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    key = without_surrogates(str(value)).strip()
    if not _URL.match(key):
        return key or None
    try:
        return page_url(key)
    except ValueError:
        return key


# Jobs that are queued or at work for each worker, so that none waits for the oldest job.
_JOBS_AHEAD = 6


class Workers:
    """Worker processes that fingerprint the records of jobs."""

    def __init__(self, fingerprinter: Fingerprinter, count: int) -> None:
        work: Work[Job, list[Fingerprinted] | str] = Work(
            serve=attrgetter("fingerprint"),
            spec=fingerprinter,
            result_classes=(Fingerprinted, Evidence),
            timeout_ms=fingerprinter.timeout_ms,
            lost_result=str,
            without_workers="use --workers 1, which starts no process",
        )
        self.pool = WorkerPool(work, count)
        self._max_waiting = _JOBS_AHEAD * count

    def fingerprints(self, jobs: Iterable[Job]) -> Generator[list[Fingerprinted], None, None]:
        """Yield the fingerprints of each job, in the order of the jobs.

        :raises WorkerError: no worker can be started, or a job failed in a worker.
        """
        waiting: deque[tuple[Job, Future[list[Fingerprinted] | str]]] = deque()
        for job in jobs:
            if len(waiting) == self._max_waiting:
                yield self._result(*waiting.popleft())
            waiting.append((job, self._submit(job)))
            self.pool.step()
        while waiting:
            yield self._result(*waiting.popleft())

    def close(self) -> None:
        """Kill the workers at once."""
        self.pool.close()

    def _submit(self, job: Job) -> Future[list[Fingerprinted] | str]:
        return self.pool.submit(lambda: job)

    def _result(self, job: Job, future: Future[list[Fingerprinted] | str]) -> list[Fingerprinted]:
        """Return the fingerprints of a job. If it was lost, try its records one by one."""
        while not future.done():
            self.pool.step(STEP_INTERVAL_S)
        result = future.result()
        if not isinstance(result, str):
            return result
        if len(job.contents) == 1:  # `result` is the reason
            return [Fingerprinted(job.default_key(0), skipped=result)]
        singles = (
            Job(job.name, number, [content])
            for number, content in enumerate(job.contents, job.first_number)
        )
        return list(chain.from_iterable(self.fingerprints(singles)))
