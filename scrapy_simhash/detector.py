"""`Detector`: the facade of the core, from a page and its key to a verdict.

`fingerprint_page` takes milliseconds and needs the page alone, so it may run in any thread. `judge`
asks the index, which takes microseconds unless the index is in Redis.
"""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING

from scrapy_simhash.confirmation import site_number
from scrapy_simhash.content import capitalized, content_bytes
from scrapy_simhash.errors import EmptyText, ExtractionError, UnsupportedText
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence, label_of
from scrapy_simhash.extraction import Extraction, extract, plain_text
from scrapy_simhash.hashes import token_hashes
from scrapy_simhash.lazy import np
from scrapy_simhash.markup import is_html
from scrapy_simhash.names.identities import chosen_identity, identities_of_record, identity_bytes
from scrapy_simhash.names.names import NAME_FIELDS, Names, names_of_record, page_names
from scrapy_simhash.sites import site_of
from scrapy_simhash.sketch import links_sketch, sketch, sketches
from scrapy_simhash.tokens.folding import visible
from scrapy_simhash.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index import Index, Observation
    from scrapy_simhash.scheme import Scheme

DEFAULT_MIN_TOKENS = 30
DEFAULT_MAX_BYTES = 8_000_000  # of a page in a crawl, or of a record
_EXCERPT_CHARACTERS = 400
_TITLE_CHARACTERS = 200
_NO_RECORD = Extraction("")


@dataclass(kw_only=True)  # not frozen: creating a frozen object takes three times as long
class PageFingerprint:
    """The fingerprint of a page, or why there is none.

    :param tokens: number of tokens.
    :param way: how the text was extracted, see `Extraction`.
    :param evidence: what an index needs, besides the fingerprint, to find and confirm copies.
    :param skipped: ``not_html`` (see `scrapy_simhash.markup`), ``no_text``, ``script_data``,
        ``few_tokens``, ``unsupported_text`` or ``extraction_error``; from
        workers also ``timeout``, ``memory`` or ``worker_died``, and from dedupe why a record cannot
        be read.
        None if there is a fingerprint, and for a page that the crawl recognized as an error page.
    :param error: message of the ExtractionError; None if the extraction did not fail.
    :param canonical: canonical URL of the page, as the page writes it, or empty.
    :param excerpt: the first 400 characters of the text.
    :param text: the whole text of a record; that of a page only if the detector keeps texts.
    :param title: the whole title if the detector keeps texts, else its first 200 characters.
    :param unmatched: selectors of the scheme that matched nothing; for a record, empty fields.
    :param extraction_ms: CPU time of the thread, like the other two times. Wall-clock time would
        include the work of other threads.
    """

    fingerprint: int | None = None
    tokens: int = 0
    way: str = ""
    evidence: Evidence = NO_EVIDENCE
    skipped: str | None = None
    error: str | None = None
    canonical: str = ""
    excerpt: str = ""
    text: str = ""
    title: str = ""
    unmatched: tuple[str, ...] = ()
    extraction_ms: float = 0.0
    tokenization_ms: float = 0.0
    fingerprint_ms: float = 0.0


@dataclass(eq=False)
class Detector:
    """The steps from page to verdict.

    :param min_tokens: skip texts with fewer tokens, because small edits change many of their bits.
    :param keep_text: return the whole text and title of a page with its fingerprint.
    :param sketches: make the sketches and names that `scrapy_simhash.confirmation` compares.
    :param versions: also make what tells whether a page has changed since an earlier crawl. An
        index that one run uses needs it no more than one without sketches.
    :param distinct: selectors of values that tell pages apart (SIMHASH_DISTINCT_BY).
    """

    scheme: Scheme
    _: KW_ONLY
    min_tokens: int = DEFAULT_MIN_TOKENS
    keep_text: bool = False
    sketches: bool = True
    versions: bool = True
    distinct: tuple[str, ...] = ()

    def fingerprint_page(
        self,
        html: str,
        distinct: Mapping[str, Sequence[str]] | None = None,
        record: Extraction = _NO_RECORD,
    ) -> PageFingerprint:
        """Return the fingerprint of a page's main text.

        :param distinct: further values that tell pages apart, see `fingerprint_fields`.
        :param record: names and identities of the record that contains the page.
        :raises SchemeError: see `extract`.
        """
        return self.extract_and_fingerprint(html, distinct, record)[1]

    def extract_and_fingerprint(
        self,
        html: str,
        distinct: Mapping[str, Sequence[str]] | None = None,
        record: Extraction = _NO_RECORD,
    ) -> tuple[Extraction, PageFingerprint]:
        """Return what was extracted from a page, which is empty if this failed, and the result of
        `fingerprint_page`.
        """
        started = time.thread_time()
        if not is_html(html):
            return Extraction(""), PageFingerprint(skipped="not_html")
        try:
            selectors = replace(self.scheme.selectors, distinct=tuple(self.distinct))
            extraction = extract(html, self.scheme.extractor, selectors)
            if distinct:
                found = {name: values for name, values in extraction.distinct.items() if values}
                extraction = replace(extraction, distinct={**distinct, **found})
            if record.title or record.identities:
                extraction = _in_record(extraction, record)
        except ExtractionError as error:
            return Extraction(""), PageFingerprint(
                skipped="extraction_error", error=str(error), extraction_ms=_cpu_ms_since(started)
            )
        return extraction, self.fingerprint_extraction(extraction, _cpu_ms_since(started))

    def fingerprint_text(self, text: str) -> PageFingerprint:
        """Return the fingerprint of a plain text."""
        return self.fingerprint_extraction(Extraction(text))

    def fingerprint_fields(
        self,
        fields: Mapping[str, Sequence[str]],
        beside: Mapping[str, Sequence[str]] | None = None,
        distinct: Mapping[str, Sequence[str]] | None = None,
    ) -> PageFingerprint:
        """Return the fingerprint of a record: the fields of an item, which make up one text.

        A field such as ``title`` is the name of the record, see `names_of_record`, and one such as
        ``sku`` its identity.

        :param fields: field → its texts, with or without markup.
        :param beside: further fields, which may be the name or the identity, but are not part of
            the text.
        :param distinct: fields whose values tell records apart (SIMHASH_DISTINCT_BY).
        """
        started = time.thread_time()
        try:
            texts = {name: "\n".join(map(plain_text, parts)) for name, parts in fields.items()}
            more = {n: "\n".join(map(plain_text, parts)) for n, parts in (beside or {}).items()}
        except ExtractionError as error:
            return PageFingerprint(skipped="extraction_error", error=str(error))
        text = "\n".join(filter(None, texts.values()))
        named = {**texts, **more}
        extraction = Extraction(
            text,
            *names_of_record(named.get(name, "") for name in NAME_FIELDS),
            identities=tuple(identities_of_record(named, text)),
            distinct=distinct or {},
        )
        page = self.fingerprint_extraction(extraction, _cpu_ms_since(started), record=texts)
        empty = tuple(name for name, text in texts.items() if not text.strip())
        return replace(page, text=text, unmatched=empty)

    def fingerprint_extraction(
        self,
        extraction: Extraction,
        extraction_ms: float = 0.0,
        *,
        record: Mapping[str, str] | None = None,
    ) -> PageFingerprint:
        """Return the fingerprint of a page from its extracted text.

        :param record: field → text, for schemes with `field_weights`; None for a page.
        """
        started = time.thread_time()
        tokens = self.scheme.tokens(extraction.text, extraction.title)
        tokenization_ms = _cpu_ms_since(started)
        started = time.thread_time()
        fingerprint = None
        evidence = NO_EVIDENCE
        skipped = self._why_skipped(tokens, extraction)
        if skipped is None:
            try:
                fingerprint, evidence = self._fingerprint(tokens, extraction, record)
            except EmptyText:
                skipped = "no_text"
            except UnsupportedText:
                skipped = "unsupported_text"
        return PageFingerprint(
            fingerprint=fingerprint,
            evidence=evidence,
            tokens=len(tokens),
            way=extraction.way,
            skipped=skipped,
            canonical=extraction.canonical,
            excerpt=extraction.text[:_EXCERPT_CHARACTERS],
            text=extraction.text if self.keep_text else "",
            title=extraction.title if self.keep_text else extraction.title[:_TITLE_CHARACTERS],
            unmatched=extraction.unmatched,
            extraction_ms=extraction_ms,
            tokenization_ms=tokenization_ms,
            fingerprint_ms=_cpu_ms_since(started),
        )

    def fingerprint_extractions(self, extractions: Sequence[Extraction]) -> list[PageFingerprint]:
        """Return the fingerprint and the evidence of several pages, or why they are skipped, in
        less time than `fingerprint_extraction` does it one by one.
        """
        if not (self.sketches and self.scheme.uses_token_hashes):
            return [self.fingerprint_extraction(extraction) for extraction in extractions]
        texts = [(self.scheme.tokens(one.text, one.title), one) for one in extractions]
        pages = [PageFingerprint(skipped=self._why_skipped(*text)) for text in texts]
        judged = [at for at, page in enumerate(pages) if page.skipped is None]
        if not judged:
            return pages
        hashes = [token_hashes(texts[at][0]) for at in judged]
        made = zip(self.scheme.fingerprints_of_hashes(hashes), sketches(hashes), strict=True)
        for at, of_tokens, (found, sketched) in zip(judged, hashes, made, strict=True):
            evidence = self._evidence(*texts[at], of_tokens, found.certainty, sketched)
            pages[at] = PageFingerprint(fingerprint=found.value, evidence=evidence)
        return pages

    def _why_skipped(self, tokens: Sequence[str], extraction: Extraction) -> str | None:
        if not any(tokens):  # for no text, the tokenizer simhash-package returns an empty token
            return "no_text"
        if extraction.is_notice:
            return "script_data"
        return "few_tokens" if len(tokens) < self.min_tokens else None

    def _fingerprint(
        self, tokens: Sequence[str], extraction: Extraction, record: Mapping[str, str] | None
    ) -> tuple[int, Evidence]:
        hashes = token_hashes(tokens) if self.sketches else None
        if record is not None and self.scheme.field_weights:
            value, certainty = self.scheme.certain_record(record)
        else:
            value, certainty = self.scheme.certain_fingerprint(tokens, hashes)
        if hashes is None:
            label = label_of(extraction.heading or extraction.title)
            chosen = chosen_identity(extraction.distinct)
            return value, Evidence(certainty=certainty, identity=chosen, label=label)
        return value, self._evidence(tokens, extraction, hashes, certainty, sketch(hashes))

    def _evidence(
        self,
        tokens: Sequence[str],
        extraction: Extraction,
        hashes: NDArray[np.uint64],
        certainty: bytes,
        sketched: bytes,
    ) -> Evidence:
        names = extraction.names or Names(extraction.title, (extraction.heading,))
        title, heading = page_names(names, extraction.text, len(tokens))
        content = b""
        if self.versions:
            beside = [*map(visible, extraction.states), capitalized(visible(extraction.text))]
            said_hashes = np.concatenate((hashes, token_hashes(beside)))
            content = content_bytes([*tokens, *beside], said_hashes)
        return Evidence(
            sketch=sketched,
            site=site_number(extraction.site),
            title=title,
            heading=heading,
            certainty=certainty,
            content=content,
            links=links_sketch(extraction.targets),
            identity=identity_bytes(extraction.identities) + chosen_identity(extraction.distinct),
            label=label_of(extraction.heading or extraction.title),
        )

    def judge(
        self,
        index: Index,
        key: str,
        page: PageFingerprint,
        *,
        in_scope: Callable[[str], bool] | None = None,
    ) -> Verdict:
        """Return the verdict on a fingerprinted page; ``skipped`` if it has no fingerprint.

        For `in_scope`, pending pages and exceptions see `Index.observe`.
        """
        if page.fingerprint is None:
            return Verdict(kind="skipped", key=key, bits=self.scheme.bits, reason=page.skipped)
        started = time.perf_counter()
        observation = index.observe(
            key, page.fingerprint, evidence_of(key, page), in_scope=in_scope
        )
        return self.verdict(observation, (time.perf_counter() - started) * 1000)

    def verdict(self, observation: Observation, index_ms: float) -> Verdict:
        """Return the verdict on an observed page. For `index_ms` see `Verdict`."""
        return Verdict(
            kind=observation.kind,
            key=observation.key,
            bits=self.scheme.bits,
            fingerprint=observation.fingerprint,
            representative=observation.representative,
            distance=observation.distance,
            similarity=observation.similarity,
            similar_to=observation.similar_to,
            reason=observation.reason or None,
            index_ms=index_ms,
            observation=observation,
        )

    def check(self, index: Index, key: str, html: str) -> Verdict:
        """Return the verdict on a page, and store the page unless it is a copy or skipped.

        A crawl calls `judge` instead, because it stores a page only after its callback succeeded.
        For exceptions, see `Index.observe`.
        """
        return self._check(index, key, self.fingerprint_page(html))

    def check_text(self, index: Index, key: str, text: str) -> Verdict:
        """Do the same as `check` for a plain text."""
        return self._check(index, key, self.fingerprint_text(text))

    def _check(self, index: Index, key: str, page: PageFingerprint) -> Verdict:
        verdict = self.judge(index, key, page)
        if verdict.observation is not None:
            index.confirm(verdict.observation)
        return verdict


def evidence_of(key: str, page: PageFingerprint) -> Evidence:
    """Return a page's evidence, with the site of the key's URL if there are a sketch and a URL."""
    evidence = page.evidence
    if evidence.sketch and (site := site_of(key)):
        return evidence._replace(site=site_number(site))
    return evidence


def _in_record(page: Extraction, record: Extraction) -> Extraction:
    """Return a page with the names and identities of the record that contains it."""
    names = page.names or Names(page.title, (page.heading,))
    texts = dict.fromkeys(filter(None, (names.title, record.title, record.heading)))
    title, *others = *texts, ""
    names = names._replace(title=title, headings=(*others, *names.headings))
    return replace(page, names=names, identities=(*page.identities, *record.identities))


def _cpu_ms_since(started: float) -> float:
    return (time.thread_time() - started) * 1000
