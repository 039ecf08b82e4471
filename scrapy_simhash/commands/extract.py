"""``extract``: show the main text of a page, and how it was found."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.commands._options import (
    add_command,
    add_scheme_options,
    scheme_and_distance,
    whole_number,
)
from scrapy_simhash.commands._output import counted, note, show, show_json, shown_fingerprint
from scrapy_simhash.commands._pages import add_page_arguments, load_page
from scrapy_simhash.documents.escaping import escaped

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.commands._pages import LoadedPage
    from scrapy_simhash.commands._settings import SchemeSettings
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.extraction import Extraction
    from scrapy_simhash.inspection import SelectorCount

_DESCRIPTION = """\
Writes the main text of a page, as a crawl extracts it, to standard output. Standard error shows how
the text was found: by your selectors, by readability, or by segments if readability found too
little. It also shows the title and heading, which must agree in copies on one site.

  {program} extract https://example.com/article
  {program} extract --select article --remove .comments page.html
  curl -s https://example.com/article | {program} extract --json -
  {program} extract --features 20 page.html

Options override the settings of the project. Copy the values that work for you to
SIMHASH_EXTRACTOR, SIMHASH_CONTENT_SELECT and SIMHASH_CONTENT_REMOVE.
"""
_SKIP_REASONS = {
    "no_text": "it has no text",
    "few_tokens": "its text is shorter than --min-tokens (SIMHASH_MIN_TOKENS)",
    "unsupported_text": "the preset does not support its text",
    "extraction_error": "its extractor failed",
}


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``extract``."""
    parser = add_command(
        subparsers, "extract", _DESCRIPTION, "show the main text of a page, and how it was found"
    )
    add_page_arguments(parser)
    parser.add_argument("--json", action="store_true", help="show the text and all facts as JSON")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--tokens", action="store_true", help="show the tokens instead of the text, one a line"
    )
    instead.add_argument(
        "--features",
        metavar="N",
        type=whole_number(1),
        help="show the N heaviest features instead, with their weights",
    )
    add_scheme_options(parser, max_distance=False)


class _Extracted(NamedTuple):
    loaded: LoadedPage
    chosen: SchemeSettings
    extraction: Extraction
    page: PageFingerprint
    selectors: list[SelectorCount]


def run(options: argparse.Namespace) -> int:
    """Show the main text, and return the exit code."""
    extracted = _extract(options)
    if options.json:
        show_json(_as_json(extracted, options))
        return 0
    if options.tokens:
        for token in _tokens(extracted):
            show(escaped(token))
    elif options.features:
        for feature, weight in _features(extracted)[: options.features]:
            show(f"{weight:>10.4f}  {escaped(feature)}")
    else:
        for line in extracted.extraction.text.split("\n"):
            show(escaped(line))
    _explain(extracted)
    return 0


def _extract(options: argparse.Namespace) -> _Extracted:
    from scrapy_simhash.detector import Detector
    from scrapy_simhash.errors import ExtractionError
    from scrapy_simhash.extraction import Extraction, extract
    from scrapy_simhash.inspection import selector_counts

    chosen = scheme_and_distance(options)
    loaded = load_page(options.page, options)
    scheme = chosen.scheme
    detector = Detector(scheme, min_tokens=chosen.min_tokens)
    if not loaded.is_html:
        extraction = Extraction(loaded.text)
        page = detector.fingerprint_extraction(extraction)
        return _Extracted(loaded, chosen, extraction, page, [])
    started = time.thread_time()
    try:
        extraction = extract(loaded.text, scheme.extractor, scheme.selectors)
    except ExtractionError:
        # Extract again, so that the page has the error that a crawl would record.
        extraction, page = Extraction(""), detector.fingerprint_page(loaded.text)
    else:
        page = detector.fingerprint_extraction(extraction, (time.thread_time() - started) * 1000)
    counts = selector_counts(loaded.text, scheme.selectors)
    return _Extracted(loaded, chosen, extraction, page, counts)


def _why(extracted: _Extracted) -> str:
    """Return why the text was found this way."""
    extraction, scheme = extracted.extraction, extracted.chosen.scheme
    if not extracted.loaded.is_html:
        return "it is plain text: all of it counts"
    if extracted.page.error:
        return extracted.page.error
    if extraction.way == "selected":
        return "the selectors found the content"
    prefix = "no selector found anything; " if scheme.select else ""
    if scheme.extractor != "readability":
        return f"{prefix}the extractor is {scheme.extractor}"
    if extraction.way == "readability":
        return f"{prefix}readability found enough of the page"
    return f"{prefix}readability found too little of the page"


def _tokens(extracted: _Extracted) -> list[str]:
    return extracted.chosen.scheme.tokens(extracted.extraction.text, extracted.extraction.title)


def _features(extracted: _Extracted) -> list[tuple[str, float]]:
    features = extracted.chosen.scheme.features(_tokens(extracted))
    return sorted(features.items(), key=lambda feature: (-feature[1], feature[0]))


def _as_json(extracted: _Extracted, options: argparse.Namespace) -> dict[str, Any]:
    loaded, chosen, extraction, page, selectors = extracted
    report: dict[str, Any] = {
        "page": loaded.name,
        "url": loaded.url,
        "kind": "html" if loaded.is_html else "text",
        "preset": chosen.preset,
        "scheme": chosen.scheme.id,
        "extractor": chosen.scheme.extractor,
        "way": extraction.way,
        "why": _why(extracted),
        "selectors": [count._asdict() for count in selectors],
        "title": extraction.title,
        "heading": extraction.heading,
        "canonical": extraction.canonical,
        "characters": len(extraction.text),
        "tokens": page.tokens,
        "min_tokens": chosen.min_tokens,
        "skipped": page.skipped,
        "error": page.error,
        "fingerprint": shown_fingerprint(page.fingerprint, chosen.scheme.bits),
        "extraction_ms": round(page.extraction_ms, 3),
        "tokenization_ms": round(page.tokenization_ms, 3),
        "fingerprint_ms": round(page.fingerprint_ms, 3),
    }
    if options.tokens:
        report["token_list"] = _tokens(extracted)
    elif options.features:
        report["features"] = [
            {"feature": feature, "weight": weight}
            for feature, weight in _features(extracted)[: options.features]
        ]
    else:
        report["text"] = extraction.text
    return report


def _explain(extracted: _Extracted) -> None:
    loaded, chosen, extraction, page, selectors = extracted
    note("")
    note(f"page       {loaded.shown_name}")
    note(f"way        {extraction.way or 'none'}: {_why(extracted)}")
    for count in selectors:
        elements = counted(count.elements, "element")
        note(f"           --{count.use} {count.selector!r} finds {elements}")
    for name in ("title", "heading", "canonical"):
        value = getattr(extraction, name)
        if value:
            note(f"{name:<10} {value}")
    note(
        f"text       {len(extraction.text):,} characters, {page.tokens:,} tokens "
        f"({chosen.preset}, {chosen.scheme.tokenizer})"
    )
    if page.skipped:
        few = f": {page.tokens:,} of {chosen.min_tokens:,}" if page.skipped == "few_tokens" else ""
        note(f"skipped    {page.skipped}: {_SKIP_REASONS[page.skipped]}{few}")
    if loaded.is_html:
        note(f"extraction {page.extraction_ms:.1f} ms of CPU time")
