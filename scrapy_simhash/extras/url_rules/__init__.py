"""Learn from near-duplicates which parts of a site's URLs do not change the content.

A *rule* is a rewriting of URLs, such as "without the parameter sid". Two URLs are equal by a rule
if it rewrites them to the same URL. The *form* of a URL is the URL that the rules which apply make
of it. A *path pattern* is a part of a site, such as ``/shop/*``: a rule may apply to some patterns
of a site and not to others.

`url_parts` takes URLs apart, `differences` finds rules, `rewriting` applies them, and
`path_patterns` divides a site. `evidence` and `site` count what speaks for and against each rule on
each pattern. `learner` compares pages and finds unneeded requests. `traps` uses no rules: it finds
calendars and other pages without end.
"""
