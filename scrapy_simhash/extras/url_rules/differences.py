"""Find the rules that make two URLs equal."""

from __future__ import annotations

import re
from itertools import chain, product
from typing import TYPE_CHECKING

from scrapy_simhash.extras.url_rules.rewriting import (
    WORD_PLACES,
    Rule,
    Step,
    generalize,
    rank,
    rewrite,
    wider,
)
from scrapy_simhash.extras.url_rules.url_parts import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAX_PARAMS = 8
_MAX_STEPS = 2
_MAX_REMOVED_SEGMENTS = 3
# Longer segments name a page, not a version of it such as print.
_MAX_SEGMENT_CHARACTERS = 32
_MAX_FOLDER_CHARACTERS = 64
_MAX_VALUE_CHARACTERS = 32


def rules_between(copy: str, original: str) -> list[Rule]:
    """Return the rules that make two plain URLs equal; none if they differ too much, or are equal.

    A rule has a step for each part in which the URLs differ: origin, path, parameters.
    """
    for source, target in ((copy, original), (original, copy)):
        step = _step_to_path(source, target)
        rest = source if step is None else rewrite((step,), source)
        if step is not None and rest != source:
            further = [()] if rest == target else rules_between(rest, target)
            return [(step, *steps) for steps in further]
    (origin, path, params), (other_origin, other_path, other_params) = map(
        parts_of, (copy, original)
    )
    choices: list[list[Step]] = []
    if origin != other_origin:
        # All rules keep the origin of lower rank, so that they never rewrite in a circle.
        kept, replaced = sorted((origin, other_origin), key=lambda origin: (rank(origin), origin))
        choices.append([("origin", replaced, kept)])
    if path != other_path:
        choices.append([*_path_steps(*sorted((path, other_path), key=len))])
    if params != other_params:
        choices.append([*_param_steps(params, other_params)])
    if not 0 < len(choices) <= _MAX_STEPS:
        return []
    rules: list[Rule] = [*dict.fromkeys(product(*choices))]
    return [rule for rule in rules if rewrite(rule, copy) == rewrite(rule, original)]


def _step_to_path(source: str, target: str) -> Step | None:
    """Return the step that makes the path of one URL from a parameter of the other; else None."""
    _, path, params = parts_of(source)
    _, target_path, target_params = parts_of(target)
    named = [name for name, value in params if value and [value] == target_path[-1:]]
    if not named or path == target_path or min(named) in dict(target_params):
        return None
    folder = "".join(f"{segment}/" for segment in target_path[:-1])
    return ("path", "/".join(path), min(named), folder)


def _param_steps(one: set[tuple[str, str]], other: set[tuple[str, str]]) -> Iterator[Step]:
    """Yield steps that may remove the parameters in which two URLs differ, or their values."""
    differing = sorted(one ^ other)
    names = sorted(dict(differing))
    if len(names) > _MAX_PARAMS:
        return
    yield ("drop", *names)
    yield ("value", *names)
    is_subset = one < other or other < one
    if is_subset and all(len(value) <= _MAX_VALUE_CHARACTERS for _, value in differing):
        yield ("default", *chain.from_iterable(differing))


def _path_steps(shorter: list[str], longer: list[str]) -> Iterator[Step]:
    """Yield steps that may make two paths equal."""
    for path, place in product((shorter, longer), WORD_PLACES):
        names = path[:-1] if path[-1:] == [""] else path
        folder = "/".join(map(generalize, names[:-1]))
        if len(folder) <= _MAX_FOLDER_CHARACTERS and (place != "*" or folder.endswith("#")):
            yield ("words", folder, place)
    differing = [at for at, one in enumerate(longer) if shorter[at : at + 1] != [one]]
    run = longer[differing[0] :][: len(longer) - len(shorter)]
    steps: Iterable[Step] = ()
    if run:
        steps = _segment_steps(run) if len(run) <= _MAX_REMOVED_SEGMENTS else ()
    elif len(differing) == 1:
        steps = _replacing_steps(longer, differing[0], shorter[differing[0]])
    for step in steps:
        if all(len(word) <= _MAX_SEGMENT_CHARACTERS for word in step[1:]):
            yield step


def _segment_steps(run: list[str]) -> list[Step]:
    """Return steps that remove a run of segments.

    One step removes the run whatever its numbers and session ids, the other just this run.
    """
    exact = ("segment", "/".join(run))
    [wide] = wider((exact,))
    # Removing any number would make nearly all pages equal.
    return [step for step in dict.fromkeys((wide, exact)) if step[1] != "#"]


def _replacing_steps(path: list[str], at: int, other: str) -> Iterator[Step]:
    """Yield steps for two paths with one different segment: `other` in place of that at `at`."""
    one = path[at]
    general = generalize(one)
    if general == generalize(other):
        if "*" in general:
            yield from _segment_steps([general])
        # Two numbers, as in /album/7/boats and /album/8/boats. A final number names a page.
        elif 0 < at < len(path) - 1 and not path[at - 1].isdecimal():
            yield ("segment", f"{path[at - 1]}/#")
    shorter, longer = sorted((re.sub(r"\.[^\W_]+\Z", "", name) for name in (one, other)), key=len)
    suffix = longer.removeprefix(shorter)
    # story-print.html may be a version of story.html, but boats.html is no version of boat.html.
    if shorter and suffix != longer and not suffix[:1].isalnum():
        yield ("suffix", suffix)
    if not any(map(str.isdigit, one + other)):
        kept, replaced = sorted((one, other))
        yield ("instead", replaced, kept)
