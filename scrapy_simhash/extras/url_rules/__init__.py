"""Learn from near-duplicates which parts of a site's URLs do not change the content.

A *rule* is a rewriting of URLs, such as "without the parameter sid". Two URLs are equal by a rule
if it rewrites them to the same URL. The *form* of a URL is the URL that the rules which apply make
of it. A *path pattern* is a part of a site, such as ``/shop/*``: a rule may apply to some patterns
of a site and not to others.

`url_parts` writes URLs in a plain form, on which rules are regular expressions, and divides a site.
`differences` finds rules, `rewriting` applies them, and `evidence` counts what speaks for and
against each on each pattern. `site` has the rules of a site, and `learner` compares pages and finds
unneeded requests. `traps` uses no rules: it finds calendars and other pages without end.
"""

from __future__ import annotations

from scrapy_simhash.setting import Setting, choice, off_or
from scrapy_simhash.slices import Slice

_HERE = "scrapy_simhash.extras.url_rules"
SLICE = Slice(
    switch="SIMHASH_URL_RULES",
    settings=(
        Setting(
            "SIMHASH_URL_RULES",
            off_or(choice("learn", "apply")),
            default=False,
            meaning=(
                '`"learn"` learns which parts of a site\'s URLs do not change the content, and '
                'counts the requests that it could spare. `"apply"` spares them.'
            ),
        ),
    ),
    components=(
        ("DOWNLOADER_MIDDLEWARES", f"{_HERE}.requests.RequestRules", 41),
        ("SPIDER_MIDDLEWARES", f"{_HERE}.requests.RulesSpiderMiddleware", -999_999),
    ),
    needs_pages=True,
    command=f"{_HERE}.command.COMMAND",
)
