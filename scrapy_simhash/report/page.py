"""Render the data of a report as one HTML file that needs no other file and no network.

Names and texts of crawled pages are untrusted. The template escapes them, the script inserts them
as text, and only http and https URLs become links. The Content-Security-Policy allows the
script, style and data images of the file, and no request.
"""

from __future__ import annotations

import re
from base64 import b64encode
from datetime import datetime, timezone
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.escaping import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jinja2 import Template


_SCRIPTS = (
    "words", "pages", "grouping", "choice", "table", "resemblance", "difference", "runs", "rows",
    "compare", "main",
)  # fmt: skip
# The data of a report that the script gets unchanged.
_SCRIPT_DATA = ("left_out", "pages", "patterns", "sizes", "text_characters", "titles")
# (name in the facts of a crawl, label, meaning)
_VERDICTS = (
    ("new", "new", "content new to this crawl"),
    ("changed", "changed", "known pages with other content"),
    ("unchanged", "unchanged", "known pages with the same content"),
    ("near_duplicate", "near-duplicate", "content of another page"),
    ("error_page", "error-page", "errors with status 200"),
)


def render(report: Mapping[str, Any]) -> str:
    """Return the HTML page. It has no lone surrogates, so it can be encoded in UTF-8.

    :param report: the data from `scrapy_simhash.report.data.report_data`.
    """
    style = _asset("base.css") + _asset("page.css")
    # All parts are in one function, so that they share a strict scope.
    parts = "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{parts}}})();\n'
    rules = (
        "default-src 'none'",
        f"script-src '{_digest(script)}'",
        f"style-src '{_digest(style)}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        # Prevent even the page's own script from turning text into markup.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    crawl = report["crawl"]
    return _template().render(
        report=report,
        index=report["index"],
        crawl=crawl,
        verdicts=_verdict_rows(crawl) if crawl else [],
        policy="; ".join(rules),
        style=style,
        script=script,
        data={name: report[name] for name in _SCRIPT_DATA},
    )


def _verdict_rows(crawl: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each verdict. `start` and `width` of its part of the bar are in per cent.

    Error pages have a row only if the crawl found any, because few crawls look for them.
    """
    total = sum(crawl[name] for name, *_ in _VERDICTS) or 1
    rows: list[dict[str, Any]] = []
    before = 0
    for name, label, meaning in _VERDICTS:
        pages = crawl[name]
        if pages or name != "error_page":
            start, width = (round(100 * number / total, 3) for number in (before, pages))
            row = {"name": name, "label": label, "meaning": meaning, "pages": pages}
            rows.append({**row, "start": start, "width": width})
        before += pages
    return rows


def _digest(text: str) -> str:
    """Return the hash of a style or script in the form of a Content-Security-Policy."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return (files("scrapy_simhash.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    """Return the template, which has the formats below as filters."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(_asset),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    formats: tuple[Callable[..., str], ...] = (visible, address, count, share, moment)
    environment.filters.update({each.__name__: each for each in formats})
    return environment.get_template("page.html.j2")


_WEB_ADDRESS = re.compile(r"https?://[^\s\x00-\x20\x7f-\x9f\ud800-\udfff]+", re.IGNORECASE)
_MAX_SHOWN = 400
_SHOWN_AT_EACH_END = 190
_UNKNOWN = "\N{EN DASH}"
_YEAR_10000_S = 253_402_300_800


def visible(text: object) -> str:
    """Return a text with its invisible characters escaped, cut in the middle if longer than 400."""
    shown = str(text)
    if len(shown) > _MAX_SHOWN:
        shown = f"{shown[:_SHOWN_AT_EACH_END]}…{shown[-_SHOWN_AT_EACH_END:]}"
    return escaped(shown)


def address(text: object) -> str:
    """Return the text if it is an http or https URL without spaces, otherwise an empty string."""
    return text if isinstance(text, str) and _WEB_ADDRESS.fullmatch(text) else ""


def count(number: float) -> str:
    """Return a number with commas between thousands."""
    return f"{number:,}"


def share(part: float, whole: float) -> str:
    """Return a share in per cent, rounded down: only the whole is 100 %. A dash if `whole` is 0."""
    if whole <= 0:
        return _UNKNOWN
    tenths = int(1000 * min(max(part / whole, 0.0), 1.0) + 1e-9)
    shown = "< 0.1" if not tenths and part > 0 else f"{tenths / 10:.1f}".replace("100.0", "100")
    return f"{shown}\N{NO-BREAK SPACE}%"


def moment(seconds: float, *, precise: bool = False) -> str:
    """Return a Unix time in UTC, to the minute or, if `precise`, second; a dash if out of range."""
    if not 0 <= seconds < _YEAR_10000_S:
        return _UNKNOWN
    return datetime.fromtimestamp(seconds, timezone.utc).strftime(
        "%Y-%m-%d %H:%M:%S" if precise else "%Y-%m-%d %H:%M"
    )
