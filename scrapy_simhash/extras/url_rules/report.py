"""The section of the report that lists the rules of URLs."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from scrapy_simhash.extras.url_rules.listing import known_rules
from scrapy_simhash.report.page import make_environment

if TYPE_CHECKING:
    from scrapy_simhash.maintenance.sources import Source


def section(source: Source) -> tuple[str, str, str] | None:
    """Return (id, title, HTML) of the section; None if no rule applies anywhere.

    :raises SimhashError: a row is damaged.
    """
    rules = [rule for rule in known_rules(source.side_rows("notes")) if rule.holds]
    if not rules:
        return None
    template = files("scrapy_simhash.extras.url_rules").joinpath("report.html.j2")
    text = template.read_text(encoding="utf-8")
    html = make_environment().from_string(text).render(rules=rules)
    return "url-rules", "Rules of URLs", html
