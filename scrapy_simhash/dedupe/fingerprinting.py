"""Read and fingerprint records, in this process or in a worker."""

from __future__ import annotations

import os
import re
from collections import deque
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.detector import Detector, PageFingerprint, evidence_of
from scrapy_simhash.documents.decoding import decoded, is_html_response, without_surrogates
from scrapy_simhash.documents.files import DamagedFile, opened
from scrapy_simhash.documents.lines import Unreadable, parse_json
from scrapy_simhash.documents.values import text_of, value_of
from scrapy_simhash.documents.warc import WarcPage, read_page
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence
from scrapy_simhash.extraction import Extraction, plain_text
from scrapy_simhash.markup import is_html, kind_of
from scrapy_simhash.names.identities import IDENTITY_FIELDS, identities_of_record
from scrapy_simhash.names.names import names_of_record
from scrapy_simhash.sites import page_url
from scrapy_simhash.workers.pages import warm_up
from scrapy_simhash.workers.pool import STEP_INTERVAL_S, WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from concurrent.futures import Future

    from scrapy_simhash.dedupe.options import DedupeOptions, Fields
    from scrapy_simhash.documents.formats import Format


Record: TypeAlias = "tuple[str, bytes | str]"
"""The key of a record that names none, and its content as bytes (the path of an HTML file); or a
string, why it is skipped.
"""
_Content: TypeAlias = "Extraction | PageFingerprint"
"""The text of a record, or the fingerprint of its page."""
_URL = re.compile(r"https?://", re.IGNORECASE)


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
        self.detector = Detector(
            options.scheme,
            min_tokens=options.min_tokens,
            sketches=options.confirmation != UNCONFIRMED,
            versions=versions,
            distinct=tuple(name for name in fields.distinct if not name.isidentifier()),
        )
        readers = {"html": self._html_file, "warc": self._warc_record}
        self._open = readers.get(record_format, self._record)

    def fingerprint(self, records: Sequence[Record]) -> list[Fingerprinted]:
        """Return the fingerprints of records. A record with an error is skipped."""
        return self._fingerprinted([self._read(*record) for record in records])

    def lost(self, key: str, content: bytes | str, reason: str) -> Fingerprinted:
        """Return the result for a record that takes its worker with it: only its key is read."""
        if isinstance(content, bytes):
            with suppress(Exception):  # it cannot be read
                key, _ = self._open(content, key)
        return Fingerprinted(key, skipped=reason)

    def _fingerprinted(self, read: Sequence[tuple[str, _Content]]) -> list[Fingerprinted]:
        texts = [page for _, page in read if isinstance(page, Extraction)]
        results = []
        try:
            pages_of_texts = iter(self.detector.fingerprint_extractions(texts))
            for key, found in read:
                page = next(pages_of_texts) if isinstance(found, Extraction) else found
                evidence = evidence_of(key, page)
                results.append(Fingerprinted(key, page.fingerprint, evidence, page.skipped))
        except (Exception, SystemExit):  # noqa: BLE001 - no record may stop a run
            if len(read) > 1:
                return [self._fingerprinted([one])[0] for one in read]
            return [Fingerprinted(read[0][0], skipped="error")]
        return results

    def _read(self, key: str, content: bytes | str) -> tuple[str, _Content]:
        """Return the key of a record and its content. If that has an error, the key remains."""
        if isinstance(content, str):
            return key, PageFingerprint(skipped=content)
        try:
            key, read_content = self._open(content, key)
            return key, read_content()
        except Unreadable as error:
            return error.key or key, PageFingerprint(skipped=error.reason)
        except (Exception, SystemExit):  # noqa: BLE001 - no record may stop a run
            return key, PageFingerprint(skipped="error")

    def _record(self, content: bytes, default_key: str) -> tuple[str, Callable[[], _Content]]:
        record, field = parse_json(content, self._encoding), self._fields.key
        key = _key(value_of(record, field) if field else None) or default_key
        return key, partial(self._content, record)

    def _content(self, record: dict[str, Any]) -> _Content:
        fields = self._fields
        names = names_of_record(text_of(value_of(record, name)) for name in fields.names or ())
        distinct = {name: _values(value_of(record, name)) for name in fields.distinct}
        values = [
            value
            for name in ([fields.html] if fields.html else fields.text)
            if (value := value_of(record, name)) is not None
        ]
        if not values:
            raise Unreadable("no_field")
        if fields.html:
            parts = values[0] if isinstance(values[0], list) else values[:1]
            html = without_surrogates("\n".join(map(str, parts)))
            is_page = kind_of(html) != "text"
            text = html if is_page else plain_text(html)
        else:
            is_page = False
            text = "\n".join(map(text_of, values))
        own = {n: text_of(value) for n, value in record.items() if n.lower() in IDENTITY_FIELDS}
        identities = tuple(identities_of_record(own, text))
        found = Extraction(text, *names, identities=identities, distinct=distinct)
        if is_page:
            return self.detector.fingerprint_page(text, distinct, found)
        return found

    def _html_file(self, content: bytes, path: str) -> tuple[str, Callable[[], _Content]]:
        return path, partial(self._html_page, content)

    def _html_page(self, content: bytes) -> _Content:
        try:
            with opened(Path(os.fsdecode(content))) as stream:
                body = stream.read(self._max_bytes + 1)
        except (OSError, DamagedFile):
            raise Unreadable("unreadable") from None
        return self.detector.fingerprint_page(self._page(body, None))

    def _warc_record(self, content: bytes, _key: str) -> tuple[str, Callable[[], _Content]]:
        page = read_page(content, self._max_bytes)
        return page_url(without_surrogates(page.url)), partial(self._warc_page, page)

    def _warc_page(self, page: WarcPage) -> _Content:
        content_type = page.content_type or "text/plain"
        is_text = content_type.startswith("text/") and not content_type.startswith("text/html")
        if page.kind == "conversion" and is_text:
            return Extraction(self._page(page.body, page.content_type))
        # In a folder or a crawl, too, an empty body is of no type.
        if page.body and not is_html_response(
            page.body, page.url, page.content_type, page.disposition
        ):
            raise Unreadable("not_html")
        html = self._page(page.body, page.content_type)
        if not (page.is_decoded or is_html(html)):
            raise Unreadable("content_encoding")
        return self.detector.fingerprint_page(html)

    def _page(self, body: bytes, content_type: str | None) -> str:
        if not body:
            raise Unreadable("empty")
        if len(body) > self._max_bytes:
            raise Unreadable("too_large")
        return decoded(body, content_type)


def _values(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for one in values if one is not None and (text := str(one))]


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


def serve_records(
    fingerprinter: Fingerprinter,
) -> Callable[[Sequence[Record]], list[Fingerprinted]]:
    """Return a function that fingerprints the records of a job. Runs in a worker."""
    with suppress(Exception):  # each record may have its own error
        warm_up(fingerprinter.detector, fingerprinter.timeout_ms)
    return fingerprinter.fingerprint


# Jobs that are queued or at work for each worker, so that none waits for the oldest job.
_JOBS_AHEAD = 6


class Workers:
    """Worker processes that fingerprint the records of jobs."""

    def __init__(self, fingerprinter: Fingerprinter, count: int) -> None:
        self._fingerprinter = fingerprinter
        self.pool = WorkerPool(
            serve_records,
            fingerprinter,
            count,
            result_classes=(Fingerprinted, Evidence),
            timeout_ms=fingerprinter.timeout_ms,
            lost_result=str,
            without_workers="use --workers 1, which starts no process",
        )
        self._max_waiting = _JOBS_AHEAD * count

    def fingerprints(
        self, jobs: Iterable[Sequence[Record]]
    ) -> Generator[list[Fingerprinted], None, None]:
        """Yield the fingerprints of each job, in the order of the jobs.

        :raises WorkerError: no worker can be started, or a job failed in a worker.
        """
        waiting: deque[tuple[Sequence[Record], Future[list[Fingerprinted] | str]]] = deque()
        for job in jobs:
            if len(waiting) == self._max_waiting:
                yield self._result(*waiting.popleft())
            waiting.append((job, self.pool.submit(partial(list, job))))
            self.pool.step()
        while waiting:
            yield self._result(*waiting.popleft())

    def close(self) -> None:
        """Kill the workers at once."""
        self.pool.close()

    def _result(
        self, job: Sequence[Record], future: Future[list[Fingerprinted] | str]
    ) -> list[Fingerprinted]:
        """Return the fingerprints of a job. If it was lost, try its records one by one."""
        while not future.done():
            self.pool.step(STEP_INTERVAL_S)
        result = future.result()
        if not isinstance(result, str):
            return result
        if len(job) == 1:  # `result` is the reason
            return [self._fingerprinter.lost(*job[0], result)]
        return [one for of_one in self.fingerprints([record] for record in job) for one in of_one]
