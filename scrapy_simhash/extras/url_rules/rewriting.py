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
``words`` a b        removes the words beside a number in the folder a; b is their place: ``*`` in
                     ``/questions/17/how-to-row``, ``#*`` in ``/q/17-how-to-row.html``, ``*#`` in
                     ``/q/how-to-row-17.html``
``path`` a b c       turns the path a with a parameter b into the folder c with the value of b at
                     the end: ``/index.php?title=X`` becomes ``/wiki/X``
===================  ==========================================================================

Each step is a regular expression for the plain form of URLs (`url_parts.plain_url`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Step: TypeAlias = tuple[str, ...]
Rule: TypeAlias = tuple[Step, ...]

PARAM_STEPS = ("drop", "default", "value")
WORD_PLACES = ("*", "#*", "*#")
# The names of pages are seldom so long without a separator.
_SESSION_ID = r"(?<![A-Za-z0-9])(?=[A-Za-z]*\d)[A-Za-z0-9]{16,}"
_ORIGIN = r"\A[^/]+//[^/?]+"
_SLASH = r"(?<!\Ahttp:)(?<!\Ahttp:/)(?<!\Ahttps:)(?<!\Ahttps:/)/"  # one of the path
_SEGMENT_END = r"(?=[/?])"
_EXTENSION = r"(?:\.[^\W_]+)?"
_NAME_END = rf"(?={_EXTENSION}/?\?)"


def rewrite(rule: Rule, plain: str) -> str:
    """Return what a rule makes of a plain URL.

    :raises ValueError: a step is unknown, or has the wrong number of words.
    """
    for step in rule:
        pattern, new = _substitution(step)
        plain = pattern.sub(new, plain)
    return plain


def touched_by(rule: Rule, plain: str) -> tuple[tuple[str, ...], ...]:
    """Return the parts of a plain URL that each step changes. URLs equal in them prove nothing."""
    return tuple(_changed_by(step, plain) for step in rule)


def _changed_by(step: Step, plain: str) -> tuple[str, ...]:
    matches = _substitution(step)[0].finditer(plain)
    changed = tuple(plain[found.end(1) : found.end()] for found in matches)
    # What `path` matches has parameters, too, that stay as they are.
    return step[:1] if changed and step[0] == "path" else changed


def values_in(rule: Rule, plain: str) -> tuple[tuple[str, ...], ...]:
    """Return the parameters that a rule changes, for each of its steps on parameters."""
    return touched_by(tuple(step for step in rule if step[0] in PARAM_STEPS), plain)


@lru_cache(maxsize=4096)
def _substitution(step: Step) -> tuple[re.Pattern[str], Callable[[re.Match[str]], str]]:
    """Return a pattern and its replacement. Group 1 is what the step keeps, in front of the rest.

    :raises ValueError: the step is unknown, or has the wrong number of words.
    """
    kept, changed, new = _expressions(step)
    # A template would be parsed for each URL, also for one without a match.
    return re.compile(f"({kept}){changed}"), lambda found: found.expand(rf"\g<1>{new}")


def _expressions(step: Step) -> tuple[str, str, str]:
    """Return regular expressions for what a step keeps and what it changes, and a replacement."""
    match step:
        case ("drop", _, *_):
            found = "", rf"&(?:{_any_of(step[1:])})=[^&]*", ""
        case ("value", _, *_):
            # A parameter may be repeated: `\1` is its name.
            found = rf"&(?:{_any_of(step[1:])})=", r"(?=[^&]|\1)[^&]*(?:\1[^&]*)*", ""
        case ("default", _, _, *more) if len(more) % 2 == 0:
            pairs = [f"{name}={value}" for name, value in zip(step[1::2], step[2::2], strict=True)]
            found = "", rf"&(?:{_any_of(pairs)})(?=&|\Z)", ""
        case ("origin", old, new):
            found = r"\A", re.escape(old) + _SEGMENT_END, _escaped(new)
        case ("segment", run):
            found = "", _path(run, _SLASH) + _SEGMENT_END, ""
        case ("instead", old, new):
            found = _SLASH, re.escape(old) + _SEGMENT_END, _escaped(new)
        case ("suffix", end):
            found = rf"{_ORIGIN}/[^?]*[^/?]", re.escape(end) + rf"(?={_EXTENSION}\?)", ""
        case ("words", folder, "*"):
            found = _ORIGIN + _path(folder), r"/[^/?]+(?=/?\?)", ""
        case ("words", folder, "#*"):
            number = rf"\d+(?!{_EXTENSION}/?\?)"
            found = f"{_ORIGIN}{_path(folder)}/{number}", rf"[^\d/?][^/?]*?{_NAME_END}", ""
        case ("words", folder, "*#"):
            before_extension = r"(?:[^/?.]|\.(?![^\W_]+/?\?))*(?<![\d/])"
            found = f"{_ORIGIN}{_path(folder)}/", rf"{before_extension}(\d+){_NAME_END}", r"\2"
        case ("path", path, name, folder):
            param = f"&{re.escape(name)}="
            old = f"{'/' if path else ''}{re.escape(path)}"
            only_one = f"(?!.*{param}.*{param})"
            changed = rf"{old}\?{only_one}(.*){param}([^&]+)(.*)"
            found = _ORIGIN, changed, rf"/{_escaped(folder)}\3?\2\4"
        case _:
            raise ValueError(f"{step} is no step of a rule")
    return found


def _any_of(words: list[str] | Step) -> str:
    return "|".join(map(re.escape, words))


def _escaped(text: str) -> str:
    """Return the replacement that inserts a text as it is."""
    return text.replace("\\", r"\\")


def _path(segments: str, slash: str = "/") -> str:
    """Return the expression for path segments that may be generalized (`generalize`)."""
    names = segments.split("/") if segments or slash != "/" else []
    expressions = [re.escape(name).replace(r"\*", _SESSION_ID) for name in names]
    return "".join(slash + (r"\d+" if name == r"\#" else name) for name in expressions)


@lru_cache(maxsize=4096)
def generalize(segment: str) -> str:
    """Return ``#`` for a number, else the segment with ``*`` for each session id in it."""
    return "#" if segment.isdecimal() else re.sub(_SESSION_ID, "*", segment)


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
    match step:
        case ("segment", ""):
            return "without a trailing slash"
        case ("path", path, name, folder):
            return f"/{folder}… instead of /{path}?{name}=…"
        case ("origin" | "instead", old, new):
            return f"{new or '(nothing)'} instead of {old}"
        case ("words", folder, place):
            return f"without words at * in /{folder}{'/' if folder else ''}{place}"
        case ("default", *_):
            words = ["=".join(pair) for pair in zip(words[::2], words[1::2], strict=True)]
    place = {"segment": " in the path", "suffix": " at the end of the file name"}.get(kind, "")
    of_value = "the value of " if kind == "value" else ""
    listed = f"/{words[0]}/" if kind == "segment" else ", ".join(words)
    return f"without {of_value}{listed}{place}"
