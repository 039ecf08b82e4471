"""``extract``: show the main text of a page, and how it was found."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._options import (
    add_command,
    add_number,
    add_scheme_options,
    scheme_and_distance,
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
    from scrapy_simhash.scheme import Scheme

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
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--tokens", action="store_true", help="show the tokens instead of the text, one a line"
    )
    meaning = "show the N heaviest features instead, with their weights"
    add_number(instead, "--features", meaning, 1)
    add_scheme_options(parser, max_distance=False)


def run(options: argparse.Namespace) -> int:
    """Show the main text, and return the exit code."""
    chosen = scheme_and_distance(options)
    scheme, loaded = chosen.scheme, load_page(options.page, options)
    extraction, page = _extract(loaded, chosen)
    facts = _facts(loaded, chosen, extraction, page)
    content: dict[str, Any] = {"text": extraction.text}
    lines = extraction.text.split("\n")
    if options.tokens or options.features:
        lines = tokens = scheme.tokens(extraction.text, extraction.title)
        content = {"token_list": tokens}
    if options.features:
        features = scheme.features(tokens).items()
        heaviest = sorted(features, key=lambda item: (-item[1], item[0]))[: options.features]
        lines = [f"{weight:>10.4f}  {feature}" for feature, weight in heaviest]
        content = {"features": [{"feature": name, "weight": weight} for name, weight in heaviest]}
    if options.json:
        show_json(facts | content)
        return 0
    for line in lines:
        show(escaped(line))
    _explain(facts, loaded, scheme)
    return 0


def _extract(loaded: LoadedPage, chosen: SchemeSettings) -> tuple[Extraction, PageFingerprint]:
    from scrapy_simhash.detector import Detector
    from scrapy_simhash.errors import ExtractionError
    from scrapy_simhash.extraction import Extraction, extract

    scheme = chosen.scheme
    detector = Detector(scheme, min_tokens=chosen.min_tokens)
    if not loaded.is_html:
        extraction = Extraction(loaded.text)
        return extraction, detector.fingerprint_extraction(extraction)
    started = time.thread_time()
    try:
        extraction = extract(loaded.text, scheme.extractor, scheme.selectors)
    except ExtractionError:
        # Extract again, so that the page has the error that a crawl would record.
        return Extraction(""), detector.fingerprint_page(loaded.text)
    extraction_ms = (time.thread_time() - started) * 1000
    return extraction, detector.fingerprint_extraction(extraction, extraction_ms)


def _why(loaded: LoadedPage, scheme: Scheme, extraction: Extraction, page: PageFingerprint) -> str:
    """Return why the text was found this way."""
    if not loaded.is_html:
        return "it is plain text: all of it counts"
    if page.error:
        return page.error
    if extraction.way == "selected":
        return "the selectors found the content"
    prefix = "no selector found anything; " if scheme.select else ""
    if scheme.extractor != "readability":
        return f"{prefix}the extractor is {scheme.extractor}"
    amount = "enough" if extraction.way == "readability" else "too little"
    return f"{prefix}readability found {amount} of the page"


def _facts(
    loaded: LoadedPage, chosen: SchemeSettings, extraction: Extraction, page: PageFingerprint
) -> dict[str, Any]:
    """Return all facts but the text as values for JSON."""
    from scrapy_simhash.inspection import selector_counts

    scheme = chosen.scheme
    counts = selector_counts(loaded.text, scheme.selectors) if loaded.is_html else []
    times = ("extraction_ms", "tokenization_ms", "fingerprint_ms")
    return {
        "page": loaded.name,
        "url": loaded.url,
        "kind": "html" if loaded.is_html else "text",
        "preset": chosen.preset,
        "scheme": scheme.id,
        "extractor": scheme.extractor,
        "way": extraction.way,
        "why": _why(loaded, scheme, extraction, page),
        "selectors": [count._asdict() for count in counts],
        "title": extraction.title,
        "heading": extraction.heading,
        "canonical": extraction.canonical,
        "characters": len(extraction.text),
        "tokens": page.tokens,
        "min_tokens": chosen.min_tokens,
        "skipped": page.skipped,
        "error": page.error,
        "fingerprint": shown_fingerprint(page.fingerprint, scheme.bits),
        **{name: round(getattr(page, name), 3) for name in times},
    }


def _explain(facts: dict[str, Any], loaded: LoadedPage, scheme: Scheme) -> None:
    note("")
    note(f"page       {loaded.shown_name}")
    note(f"way        {facts['way'] or 'none'}: {facts['why']}")
    for count in facts["selectors"]:
        elements = counted(count["elements"], "element")
        note(f"           --{count['use']} {count['selector']!r} finds {elements}")
    for name in ("title", "heading", "canonical"):
        if facts[name]:
            note(f"{name:<10} {facts[name]}")
    note(
        f"text       {facts['characters']:,} characters, {facts['tokens']:,} tokens "
        f"({facts['preset']}, {scheme.tokenizer})"
    )
    if skipped := facts["skipped"]:
        few = f": {facts['tokens']:,} of {facts['min_tokens']:,}" * (skipped == "few_tokens")
        note(f"skipped    {skipped}: {_SKIP_REASONS[skipped]}{few}")
    if loaded.is_html:
        note(f"extraction {facts['extraction_ms']:.1f} ms of CPU time")
