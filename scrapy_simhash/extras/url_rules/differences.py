"""Find the rules that make two URLs equal."""

from __future__ import annotations

from itertools import chain, product
from typing import TYPE_CHECKING

from scrapy_simhash.extras.url_rules.rewriting import (
    WORD_PLACES,
    Rule,
    Segments,
    Step,
    generalize,
    rank,
    rewrite,
    rewrite_step,
    stem_of,
    wider,
    words_at,
)

if TYPE_CHECKING:
    from scrapy_simhash.extras.url_rules.url_parts import UrlParts

_MAX_PARAMS = 8
_MAX_STEPS = 2
_MAX_REMOVED_SEGMENTS = 3
# Longer segments name a page, not a version of it such as print.
_MAX_SEGMENT_CHARACTERS = 32
_MAX_FOLDER_CHARACTERS = 64
_MAX_VALUE_CHARACTERS = 32


def rules_between(copy: UrlParts, original: UrlParts) -> list[Rule]:
    """Return the rules that make two URLs equal; none if they are equal or differ too much."""
    for source, target in ((copy, original), (original, copy)):
        step = _step_to_path(source, target)
        if step is not None:
            further = _rules_by_part(rewrite_step(step, source), target)
            return [(step, *steps) for steps in further]
    return [rule for rule in _rules_by_part(copy, original) if rule]


def _rules_by_part(copy: UrlParts, original: UrlParts) -> list[Rule]:
    """Return rules with a step for each part in which two URLs differ; ``[()]`` for equal URLs."""
    choices: list[list[Step]] = []
    if copy.origin != original.origin:
        # All rules keep the origin of lower rank, so that they never rewrite in a circle.
        origins = (copy.origin, original.origin)
        kept, replaced = sorted(origins, key=lambda origin: (rank(origin), origin))
        choices.append([("origin", replaced, kept)])
    if copy.segments != original.segments:
        choices.append(_path_steps(copy.segments, original.segments))
    if copy.params != original.params:
        choices.append(_param_steps(copy, original))
    if len(choices) > _MAX_STEPS:
        return []
    rules = [tuple(rule) for rule in product(*choices)]
    return [rule for rule in rules if rewrite(rule, copy) == rewrite(rule, original)]


def _step_to_path(source: UrlParts, target: UrlParts) -> Step | None:
    """Return the ``path`` step that makes the path of `target` from a parameter of `source`.

    Return None if there is none.
    """
    last = target.segments[-1]
    name = next((name for name, value in source.params if value and value == last), None)
    if name is None or source.segments == target.segments or name in dict(target.params):
        return None
    folder = "".join(f"{segment}/" for segment in target.segments[:-1])
    return ("path", "/".join(source.segments), name, folder)


def _param_steps(copy: UrlParts, original: UrlParts) -> list[Step]:
    """Return steps that remove the parameters in which two URLs differ, or their values."""
    one, other = set(copy.params), set(original.params)
    names = sorted({name for name, _ in one ^ other})
    if not 0 < len(names) <= _MAX_PARAMS:
        return []
    steps: list[Step] = [("drop", *names)]
    in_both = dict(copy.params).keys() & dict(original.params).keys()
    if in_both.issuperset(names):
        steps.append(("value", *names))
    differing = sorted(one ^ other)
    is_subset = one < other or other < one
    if is_subset and all(len(value) <= _MAX_VALUE_CHARACTERS for _, value in differing):
        steps.append(("default", *chain.from_iterable(differing)))
    return steps


def _path_steps(copy: Segments, original: Segments) -> list[Step]:
    """Return steps that make two paths equal."""
    steps = (
        _replacing_steps(copy, original)
        if len(copy) == len(original)
        else _extra_steps(*sorted((copy, original), key=len))
    )
    short = (s for s in steps if all(len(word) <= _MAX_SEGMENT_CHARACTERS for word in s[1:]))
    return [*_word_steps(copy, original), *short]


def _extra_steps(shorter: Segments, longer: Segments) -> list[Step]:
    """Return steps that remove up to three segments that only the longer path has."""
    pairs = zip(longer, shorter, strict=False)
    start = next((at for at, (one, other) in enumerate(pairs) if one != other), len(shorter))
    run = longer[start : start + len(longer) - len(shorter)]
    return _segment_steps(run) if len(run) <= _MAX_REMOVED_SEGMENTS else []


def _segment_steps(run: Segments) -> list[Step]:
    """Return steps that remove a run of segments.

    One step removes the run whatever its numbers and session ids, the other just this run.
    """
    exact = ("segment", "/".join(run))
    [wide] = wider((exact,))
    # Removing any number would make nearly all pages equal.
    return [step for step in dict.fromkeys((wide, exact)) if step[1] != "#"]


def _replacing_steps(copy: Segments, original: Segments) -> list[Step]:
    """Return steps that make two paths with the same number of segments equal."""
    steps: list[Step] = []
    differing = [at for at, one in enumerate(copy) if one != original[at]]
    if len(differing) != 1:
        return steps
    [at] = differing
    one, other = copy[at], original[at]
    if generalize(one) == generalize(other):
        if "*" in generalize(one):
            steps += _segment_steps((generalize(one),))
        # Two numbers, as in /album/7/boats and /album/8/boats. A final number names a page.
        elif 0 < at < len(copy) - 1 and not copy[at - 1].isdecimal():
            steps.append(("segment", f"{copy[at - 1]}/#"))
    shorter, longer = sorted((stem_of(one)[0], stem_of(other)[0]), key=len)
    suffix = longer[len(shorter) :] if shorter and longer.startswith(shorter) else ""
    # story-print.html may be a version of story.html, but boats.html is no version of boat.html.
    if suffix and not suffix[0].isalnum():
        steps.append(("suffix", suffix))
    if not any(map(str.isdigit, one + other)):
        kept, replaced = sorted((one, other))
        steps.append(("instead", replaced, kept))
    return steps


def _word_steps(copy: Segments, original: Segments) -> list[Step]:
    """Return steps that remove the words that one of the paths has beside a number."""
    steps: list[Step] = []
    for place in WORD_PLACES:
        found = words_at(copy, place) or words_at(original, place)
        if found is not None and len(found[0]) <= _MAX_FOLDER_CHARACTERS:
            steps.append(("words", found[0], place))
    return steps
