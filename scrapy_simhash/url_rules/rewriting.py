"""Rules as rewritings of URLs: apply one, or find those that make two URLs equal.

A rule is a tuple of *steps*, nearly always of one. A step is a tuple of words:

===================  ==========================================================================
step                 what it does
===================  ==========================================================================
``drop`` a b …       removes the parameters a, b, …
``value`` a b …      removes their values: only their presence matters
``origin`` a b       puts the scheme and host b in place of a
``segment`` a        removes the path segment a; an empty a removes a trailing slash
``instead`` a b      puts the path segment b in place of a
``suffix`` a         removes a from the end of the last segment, before a file name extension
``path`` a b c       turns the path a with a parameter b into the path c with its value at the end,
                     as in ``/index.php?title=X`` and ``/wiki/X``
``case``             turns the path into lower case
===================  ==========================================================================
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.url_rules.url_parts import UrlParts

Step: TypeAlias = tuple[str, ...]
Rule: TypeAlias = tuple[Step, ...]

_MAX_NAMES = 8
_MAX_STEPS = 2
# Longer segments are names of pages, not of versions.
_MAX_SEGMENT_CHARACTERS = 32
STEP_WORDS = {"origin": 2, "segment": 1, "instead": 2, "suffix": 1, "path": 3, "case": 0}
"""Number of words that follow a step's name; `drop` and `value` have one or more."""


def rewrite(rule: Rule, parts: UrlParts) -> UrlParts:
    """Return what a rule makes of a URL: the same object if it changes nothing."""
    for step in rule:
        parts = _rewrite(step, parts)
    return parts


def _rewrite(step: Step, parts: UrlParts) -> UrlParts:
    kind = step[0]
    if kind in ("drop", "value"):
        return _without(step[1:], parts, keep_names=kind == "value")
    if kind == "origin":
        return parts._replace(origin=step[2]) if parts.origin == step[1] else parts
    if kind == "path":
        return _to_path(step, parts)
    segments = _rewritten(step, parts.segments)
    return parts if segments == parts.segments else parts._replace(segments=segments)


def _without(names: Sequence[str], parts: UrlParts, *, keep_names: bool) -> UrlParts:
    params = parts.params
    if not params or not any(name in names and (value or not keep_names) for name, value in params):
        return parts
    kept = [param for param in params if param[0] not in names]
    if keep_names:
        present = {name for name, _ in params if name in names}
        kept = sorted([*kept, *((name, "") for name in present)])
    return parts._replace(params=tuple(kept))


def _to_path(step: Step, parts: UrlParts) -> UrlParts:
    _, path, name, folder = step
    if "/".join(parts.segments) != path:
        return parts
    values = [value for known, value in parts.params if known == name]
    if len(values) != 1 or not values[0]:
        return parts
    params = tuple(param for param in parts.params if param[0] != name)
    return parts._replace(segments=(*folder.split("/")[:-1], values[0]), params=params)


def _rewritten(step: Step, segments: tuple[str, ...]) -> tuple[str, ...]:
    kind, *words = step
    if kind == "case":
        return tuple(segment.lower() for segment in segments)
    if kind == "instead":
        return tuple(words[1] if segment == words[0] else segment for segment in segments)
    if kind == "segment":
        return tuple(segment for segment in segments if segment != words[0]) or ("",)
    if not segments:
        return segments
    stem, dot, extension = _stem(segments[-1])
    if not stem.endswith(words[0]) or stem == words[0]:
        return segments
    return (*segments[:-1], stem.removesuffix(words[0]) + dot + extension)


def _stem(segment: str) -> tuple[str, str, str]:
    """Return (name, dot, extension) of a path segment; the last two may be empty."""
    name, dot, extension = segment.rpartition(".")
    return (name, dot, extension) if dot and extension.isalnum() else (segment, "", "")


def touched_by(rule: Rule, parts: UrlParts) -> tuple[object, ...]:
    """Return what a rule looks at in a URL: two URLs that agree in it say nothing of the rule."""
    touched: list[object] = []
    for kind, *names in rule:
        if kind in ("drop", "value"):
            touched.append(tuple(param for param in parts.params if param[0] in names))
        else:
            touched.append(parts.origin if kind == "origin" else parts.segments)
    return tuple(touched)


def rules_between(copy: UrlParts, original: UrlParts) -> list[Rule]:
    """Return the rules that make two URLs equal; none if they differ too much."""
    for one, other in ((copy, original), (original, copy)):
        step = _step_to_path(one, other)
        if step is not None:
            rest = _differences(_rewrite(step, one), other)
            return [(step, *steps) for steps in rest]
    return [rule for rule in _differences(copy, original) if rule]


def _differences(copy: UrlParts, original: UrlParts) -> list[Rule]:
    """Return the rules that treat each part of two URLs by itself; an empty one for equal URLs."""
    choices: list[list[Step]] = []
    if copy.origin != original.origin:
        # One direction for all pairs: rules never turn in a circle.
        kept, other = sorted((copy.origin, original.origin), key=lambda one: (_rank(one), one))
        choices.append([("origin", other, kept)])
    if copy.segments != original.segments:
        choices.append(_path_steps(copy.segments, original.segments))
    if copy.params != original.params:
        choices.append(_param_steps(copy, original))
    if len(choices) > _MAX_STEPS:
        return []
    rules = [tuple(rule) for rule in product(*choices)]
    return [rule for rule in rules if rewrite(rule, copy) == rewrite(rule, original)]


def _step_to_path(one: UrlParts, other: UrlParts) -> Step | None:
    """Return the step that turns a parameter of a URL into the last path segment of another."""
    name = next((name for name, value in one.params if value and value == other.segments[-1]), None)
    if name is None or one.segments == other.segments or name in dict(other.params):
        return None
    folder = "".join(f"{segment}/" for segment in other.segments[:-1])
    return ("path", "/".join(one.segments), name, folder)


def in_order(rule: Rule) -> tuple[int, str]:
    """Return the key by which rules are sorted: an origin is rewritten before those that it is
    rewritten to.
    """
    step = rule[0]
    return (-1, "") if step[0] != "origin" else (-_rank(step[1]), step[1])


def _rank(origin: str) -> int:
    """Return the rank of an origin: the lower one is kept."""
    scheme, _, host = origin.partition("://")
    return 2 * len(host) + (scheme != "https") + 100 * (not host.startswith("www."))


def _param_steps(copy: UrlParts, original: UrlParts) -> list[Step]:
    one, other = set(copy.params), set(original.params)
    names = sorted({name for name, _ in one ^ other})
    if not 0 < len(names) <= _MAX_NAMES:
        return []
    steps: list[Step] = [("drop", *names)]
    if all({name for name, _ in some}.issuperset(names) for some in (one, other)):
        steps.append(("value", *names))
    return steps


def _path_steps(copy: tuple[str, ...], original: tuple[str, ...]) -> list[Step]:
    steps: list[Step] = []
    if len(copy) != len(original):
        longer, shorter = sorted((copy, original), key=len, reverse=True)
        extra = next(
            (one for one, other in zip(longer, shorter, strict=False) if one != other), longer[-1]
        )
        steps.append(("segment", extra))
    else:
        if [one.lower() for one in copy] == [one.lower() for one in original]:
            steps.append(("case",))
        differing = [pair for pair in zip(copy, original, strict=True) if pair[0] != pair[1]]
        if len(differing) == 1:
            [(one, other)] = differing
            steps += _suffix_steps(one, other)
            if not any(map(str.isdigit, one + other)):
                steps.append(("instead", max(one, other), min(one, other)))
    return [
        step for step in steps if all(len(word) <= _MAX_SEGMENT_CHARACTERS for word in step[1:])
    ]


def _suffix_steps(one: str, other: str) -> list[Step]:
    stems = sorted((_stem(one)[0], _stem(other)[0]), key=len)
    suffix = stems[1].removeprefix(stems[0])
    # A suffix begins with a sign, as in story-print.html; otherwise plain names would have some.
    if suffix and len(suffix) < len(stems[1]) and not suffix[0].isalnum():
        return [("suffix", suffix)]
    return []


def described(rule: Rule) -> str:
    """Return a rule in words."""
    return " and ".join(map(_described, rule))


def _described(step: Step) -> str:
    kind, *words = step
    listed = ", ".join(words)
    if kind == "segment" and words == [""]:
        return "without a trailing slash"
    return {
        "drop": f"without {listed}",
        "value": f"without the value of {listed}",
        "segment": f"without /{listed}/ in the path",
        "suffix": f"without {listed} at the end of the file name",
        "case": "path in lower case",
        "path": "/{2}… instead of /{0}?{1}=…".format(*words) if kind == "path" else "",
    }.get(kind) or " instead of ".join(f"{word or '(nothing)'}" for word in reversed(words))
