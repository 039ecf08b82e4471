"""Learn from near-duplicates which parts of a site's URLs do not change the content.

A *rule* is a rewriting of URLs, such as "without the parameter sid". Two URLs are equal by a rule
if it rewrites them to the same URL. `url_parts` takes URLs apart, `differences` finds rules,
`rewriting` applies them, and `path_patterns` divides a site into path patterns. `evidence` and
`site` count what speaks for and against each rule on each pattern. `learner` compares pages and
finds unneeded requests. `traps` uses no rules: it finds calendars and other pages without end.
"""
