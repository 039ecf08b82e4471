"""``extract``: show the main text of a page, and how it was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._output import lines_of, note, show, show_json, shown_fingerprint
from scrapy_simhash.commands._pages import PAGE_METAVAR, load_pages, shown_name
from scrapy_simhash.commands._settings import FINGERPRINT_OPTIONS
from scrapy_simhash.documents.escaping import escaped

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.documents.reader import Document
    from scrapy_simhash.extraction import Selectors


_SKIP_REASONS = {
    "no_text": "it has no text",
    "script_data": "its text is a notice beside data that a script shows",
    "few_tokens": "its text has fewer tokens than SIMHASH_MIN_TOKENS",
    "unsupported_text": "the preset does not support its text",
    "extraction_error": "its extractor failed",
}


def _run(options: argparse.Namespace) -> None:
    found = []
    for loaded in load_pages(options.pages, options):
        if len(options.pages) > 1 and not options.json:
            show(f"==> {escaped(shown_name(loaded))} <==")
        found.append(_show(loaded, options))
    if options.json:
        show_json(found[0] if len(found) == 1 else {"pages": found})


def _show(loaded: Document, options: argparse.Namespace) -> dict[str, Any]:
    """Return the text of a page and how it was found, as values for JSON. Show both without
    ``--json``.
    """
    from scrapy_simhash.detector import Detector

    read, scheme = options.settings, options.settings.preset.scheme
    min_tokens = read("SIMHASH_MIN_TOKENS")
    detector = Detector(scheme, min_tokens=min_tokens, distinct=read.distinct_selectors)
    extraction, page = loaded.fingerprinted(detector)
    times = ("extraction_ms", "tokenization_ms", "fingerprint_ms")
    facts: dict[str, Any] = {
        "page": loaded.name,
        "url": loaded.url,
        "kind": "html" if loaded.is_html else "text",
        "preset": read("SIMHASH_PRESET")[0],
        "scheme": scheme.id,
        "extractor": scheme.extractor,
        "way": extraction.way,
        "selectors": _selector_counts(loaded.text, scheme.selectors) if loaded.is_html else [],
        "title": extraction.title,
        "heading": extraction.heading,
        "canonical": extraction.canonical,
        "distinct": extraction.distinct,
        "characters": len(extraction.text),
        "tokens": page.tokens,
        "min_tokens": min_tokens,
        "skipped": page.skipped,
        "error": page.error,
        "fingerprint": shown_fingerprint(page.fingerprint, scheme.bits),
        **{name: round(getattr(page, name), 3) for name in times},
    }
    tokens = scheme.tokens(extraction.text, extraction.title) if options.tokens else None
    if not options.json:
        for line in extraction.text.split("\n") if tokens is None else tokens:
            show(escaped(line))
        # The reason why a crawl would skip the page.
        skipped = page.skipped and f"{page.skipped}: {_SKIP_REASONS[page.skipped]}"
        distinct = {name: values or "nothing" for name, values in extraction.distinct.items()}
        for line in ("", *lines_of({**facts, "skipped": skipped, "distinct": distinct})):
            note(line)
    return facts | ({"text": extraction.text} if tokens is None else {"token_list": tokens})


def _selector_counts(html: str, selectors: Selectors) -> list[dict[str, Any]]:
    """Return how many elements each selector matches: of `remove` on the page, then of `select`
    without them.
    """
    from scrapy_simhash.extraction import Page, Selectors, prepared
    from scrapy_simhash.extraction.selectors import compiled_selector

    page, counts = prepared(html), []
    for use, removed in (("remove", ()), ("select", selectors.remove)):
        texts = getattr(selectors, use)
        elements = Page(page, Selectors(remove=removed)).elements if page and texts else None
        for selector in texts:
            found = [] if elements is None else compiled_selector(selector)(elements.root)
            counts.append({"use": use, "selector": selector, "elements": len(found)})
    return counts


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pages", metavar=PAGE_METAVAR, nargs="+", help="files, URLs, or standard input"
    )
    parser.add_argument(
        "--tokens", action="store_true", help="show the tokens instead of the text, one per line"
    )


COMMAND = Command(
    "extract",
    "show the main text of a page, and how it was found",
    """\
Writes the main text of pages, as a crawl extracts it, to standard output. Standard error shows how
the text was found: by your selectors, by readability, or by segments if readability found too
little. It also shows the title and heading of the page: copies on one site must agree in these.

  %(prog)s https://example.com/article
  %(prog)s --select article --remove .ad page.html
  curl -s https://example.com/article | %(prog)s --json -
  %(prog)s --json pages/*.html

Copy the values that work for you to settings.py.
""",
    _run,
    _arguments,
    settings=(*FINGERPRINT_OPTIONS, "max-bytes"),
)
