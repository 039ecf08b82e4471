"""Rules as rewritings of URLs, and how to apply one.

A rule is a tuple of *steps*, nearly always of one. A step is a tuple of words:

===================  ==========================================================================
step                 what it does
===================  ==========================================================================
``drop`` a b …       removes the parameters a, b, …
``default`` a b …    removes the parameter a if its value is b; further pairs may follow
``value`` a b …      removes the values of the parameters a, b, …: only their presence matters
``origin`` a b       puts the scheme and host b in place of a
``segment`` a        removes the path segment a, or several, as in ``page/1``; ``#`` stands for any
                     number, ``*`` for a session id; an empty a removes needless slashes
``instead`` a b      puts the path segment b in place of a
``suffix`` a         removes a from the end of the last segment, before a file name extension
``words`` a b        removes the words beside a number in the folder a; b is their place
                     (`scrapy_simhash.extras.url_rules.rewriting.WORD_PLACES`)
``path`` a b c       turns the path a with a parameter b into the path c with the value of b at the
                     end: ``/index.php?title=X`` becomes ``/wiki/X``
===================  ==========================================================================
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.extras.url_rules.url_parts import UrlParts


Step: TypeAlias = tuple[str, ...]
Rule: TypeAlias = tuple[Step, ...]

WORDS_IN_STEP = {
    "origin": 2,
    "segment": 1,
    "instead": 2,
    "suffix": 1,
    "words": 2,
    "path": 3,
}
"""Number of words after the name of a step. `PARAM_STEPS` take any number but none."""
PARAM_STEPS = ("drop", "default", "value")


def rewrite(rule: Rule, parts: UrlParts) -> UrlParts:
    """Return what a rule makes of a URL: the same object if it changes nothing."""
    for step in rule:
        parts = rewrite_step(step, parts)
    return parts


def rewrite_step(step: Step, parts: UrlParts) -> UrlParts:
    """Return what one step makes of a URL: the same object if it changes nothing."""
    kind = step[0]
    if kind in PARAM_STEPS:
        return _rewrite_params(step, parts)
    if kind == "origin":
        return parts._replace(origin=step[2]) if parts.origin == step[1] else parts
    if kind == "path":
        return _to_path(step, parts)
    segments = rewrite_segments(step, parts.segments)
    return parts if segments == parts.segments else parts._replace(segments=segments)


def _rewrite_params(step: Step, parts: UrlParts) -> UrlParts:
    words = step[1:]
    removed = [param for param in parts.params if param[0] in words]
    if not removed:  # most URLs have none of them
        return parts
    if step[0] == "default":
        defaults = set(zip(words[::2], words[1::2], strict=True))
        removed = [param for param in removed if param in defaults]
    kept = [param for param in parts.params if param not in removed]
    if step[0] == "value":
        kept = sorted([*kept, *{(name, "") for name, _ in removed}])
    params = tuple(kept)
    return parts if params == parts.params else parts._replace(params=params)


def _to_path(step: Step, parts: UrlParts) -> UrlParts:
    _, path, name, folder = step
    if "/".join(parts.segments) != path:
        return parts
    values = [value for param, value in parts.params if param == name]
    if len(values) != 1 or not values[0]:
        return parts
    params = tuple((param, value) for param, value in parts.params if param != name)
    return parts._replace(segments=(*folder.split("/")[:-1], values[0]), params=params)


def touched_by(rule: Rule, parts: UrlParts) -> tuple[object, ...]:
    """Return the parts of a URL that a rule may change. URLs equal in them are no evidence."""
    touched: list[object] = []
    for step in rule:
        if step[0] in PARAM_STEPS:
            touched.append(_params_of(step, parts))
        else:
            touched.append(parts.origin if step[0] == "origin" else parts.segments)
    return tuple(touched)


def values_in(rule: Rule, parts: UrlParts) -> tuple[object, ...]:
    """Return the parameters of a URL that a rule names, as a tuple for each step on parameters."""
    return tuple(_params_of(step, parts) for step in rule if step[0] in PARAM_STEPS)


def _params_of(step: Step, parts: UrlParts) -> tuple[tuple[str, str], ...]:
    names = step[1::2] if step[0] == "default" else step[1:]
    return tuple(param for param in parts.params if param[0] in names)


def wider(rule: Rule) -> Rule:
    """Return a rule for any value in place of the values that the given rule names."""
    return tuple(map(_wider, rule))


def _wider(step: Step) -> Step:
    if step[0] == "default":
        return ("drop", *step[1::2])
    if step[0] == "segment":
        return ("segment", "/".join(map(generalize, step[1].split("/"))))
    return step


def sort_key(rule: Rule) -> tuple[int, str]:
    """Return the sort key of a rule: rules that replace origins come first, by falling rank."""
    step = rule[0]  # a later rule may replace the new origin again
    return (-1, "") if step[0] != "origin" else (-rank(step[1]), step[1])


def rank(origin: str) -> int:
    """Return the rank of an origin. Rules keep the lower: www. first, then short, then https."""
    scheme, _, host = origin.partition("://")
    return 2 * len(host) + (scheme != "https") + 100 * (not host.startswith("www."))


def describe(rule: Rule) -> str:
    """Return a rule in words."""
    return " and ".join(map(_describe_step, rule))


def _describe_step(step: Step) -> str:
    kind, *words = step
    if kind == "segment" and words == [""]:
        return "without a trailing slash"
    if kind == "path":
        return "/{2}… instead of /{0}?{1}=…".format(*words)
    if kind in ("origin", "instead"):
        return "{1} instead of {0}".format(*(word or "(nothing)" for word in words))
    if kind == "default":
        words = ["=".join(pair) for pair in zip(words[::2], words[1::2], strict=True)]
    listed = ", ".join(words)
    return {
        "drop": f"without {listed}",
        "default": f"without {listed}",
        "value": f"without the value of {listed}",
        "segment": f"without /{listed}/ in the path",
        "words": f"without words at * in /{'/'.join(filter(None, words))}",
        "suffix": f"without {listed} at the end of the file name",
    }[kind]


Segments: TypeAlias = tuple[str, ...]

# Where `words_at` looks for words: in the segment after that of a number, or in the same segment,
# after the number or before it.
WORD_PLACES = ("*", "#*", "*#")
# The names of pages are seldom so long without a separator.
_SESSION_ID = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*\d)[A-Za-z0-9]{16,}")
_NUMBER_BESIDE_WORDS = {"#*": re.compile(r"(\d+)\D.*"), "*#": re.compile(r".*\D(\d+)")}


@lru_cache(maxsize=4096)
def generalize(segment: str) -> str:
    """Return ``#`` for a number, else the segment with ``*`` for each session id in it."""
    return "#" if segment.isdecimal() else _SESSION_ID.sub("*", segment)


def without_run(segments: Segments, run: Sequence[str]) -> Segments:
    """Return a path without a run of segments, wherever the path contains it.

    :param run: consecutive segments, each as it is or as `generalize` returns it.
    """
    kept: list[str] = []
    at, length = 0, len(run)
    while at < len(segments):
        if all(
            removed in (segment, generalize(segment))
            for removed, segment in zip(run, segments[at : at + length], strict=False)
        ) and at + length <= len(segments):
            at += length
        else:
            kept.append(segments[at])
            at += 1
    return tuple(kept) or ("",)


def words_at(segments: Segments, place: str) -> tuple[str, Segments] | None:
    """Return (folder, path without the words) of a path with words beside a number; else None.

    :param place: one of `WORD_PLACES`. In ``/questions/17/how-to-row`` the words are at ``*``, in
        ``/q/17-how-to-row.html`` at ``#*``, in ``/q/how-to-row-17.html`` at ``*#``.
    :return: the segments of the folder are generalized, as in ``questions/#``.
    """
    slash: Segments = ("",) if segments[-1:] == ("",) else ()
    names = segments[: len(segments) - len(slash)]
    if not names:
        return None
    *folders, last = names
    if place == "*":
        if not folders or not folders[-1].isdecimal():
            return None
        rest = (*folders, *slash)
    else:
        name, dot, extension = stem_of(last)
        number = _NUMBER_BESIDE_WORDS[place].fullmatch(name)
        if number is None:
            return None
        rest = (*folders, f"{number[1]}{dot}{extension}", *slash)
    return "/".join(map(generalize, folders)), rest


def stem_of(segment: str) -> tuple[str, str, str]:
    """Return (stem, dot, extension) of a path segment; without an extension, both are empty."""
    name, dot, extension = segment.rpartition(".")
    return (name, dot, extension) if dot and extension.isalnum() else (segment, "", "")


def rewrite_segments(step: tuple[str, ...], segments: Segments) -> Segments:
    """Return a path as a step rewrites it; see `scrapy_simhash.extras.url_rules.rewriting`."""
    kind, *words = step
    if kind == "instead":
        return tuple(words[1] if segment == words[0] else segment for segment in segments)
    if kind == "segment":
        return without_run(segments, words[0].split("/"))
    if kind == "words":
        found = words_at(segments, words[1])
        return found[1] if found is not None and found[0] == words[0] else segments
    stem, dot, extension = stem_of(segments[-1])  # the step is a suffix
    shorter = stem.removesuffix(words[0])
    return (*segments[:-1], shorter + dot + extension) if shorter else segments
