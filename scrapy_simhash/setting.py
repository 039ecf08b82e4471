"""`Setting`: a row of the table of settings, from which readers, the reference and hints come.

A *kind* parses the value of a setting. Values from a command line are text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_simhash.errors import SchemeError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Kind:
    """What a setting may be.

    :param words: ends the sentence "must be …".
    :param parse: returns the value in its type, or raises ValueError (of which the message of a
        SchemeError is shown), TypeError, KeyError or OverflowError.
    """

    words: str
    parse: Callable[[Any], Any]


def checked(value: _Value, is_allowed: object) -> _Value:
    """Return a value. :raises ValueError: it is not allowed."""
    if not is_allowed:
        raise ValueError
    return value


def whole(low: int, high: int) -> Kind:
    """Return the kind of whole numbers from `low` to `high`."""
    return Kind(
        f"a whole number from {low} to {high}",
        # int() also accepts 1.5 and True.
        lambda value: checked(int(value), type(value) in (int, str) and low <= int(value) <= high),
    )


def choice(*allowed: str) -> Kind:
    """Return the kind of some words."""
    return Kind(
        "one of " + ", ".join(map(repr, allowed)),
        lambda value: checked(value, isinstance(value, str) and value in allowed),
    )


def mapping(*allowed: str) -> Kind:
    """Return the kind of dicts (as text: JSON) from some words to names of item fields."""

    def parse(value: Any) -> Mapping[str, str]:
        fields = dict(json.loads(value) if isinstance(value, str) else value)
        are_names = all(isinstance(name, str) and name for name in fields.values())
        return MappingProxyType(checked(fields, are_names and set(allowed).issuperset(fields)))

    words = ", ".join(allowed)
    return Kind(f"a dict from {words} to item fields; {{}} tags no items", parse)


def off_or(kind: Kind) -> Kind:
    """Return the kind of values that are False, or of another kind."""
    return Kind(
        kind.words + ", or False", lambda value: None if is_off(value) else kind.parse(value)
    )


def is_off(value: object) -> bool:
    """Return True if a value is None, False or 0, or a text for these from a command line."""
    return value in (None, False, "", "0", "False", "false")


def _parse_boolean(value: Any) -> bool:
    if value in ("True", "true"):
        return True
    return False if value in ("False", "false") else bool(int(value))


def _parse_limit(value: Any) -> int:
    """Return 0 for False, 1 GiB for True, and a number of bytes unchanged."""
    if value in (True, "True", "true") and type(value) is not int:
        return 1 << 30
    return 0 if is_off(value) else whole(1, 1 << 50).parse(value)


BOOLEAN = Kind("True or False", _parse_boolean)
PATH = Kind(
    "a path",
    lambda value: checked(
        str(value), isinstance(value, (str, Path)) and str(value) and "\0" not in str(value)
    ),
)
SHARE = Kind(
    "a number from 0 to 1",
    lambda value: checked(float(value), type(value) is not bool and 0 <= float(value) <= 1),
)
BYTES_LIMIT = Kind("True, False or a number of bytes, at least 1", _parse_limit)


@dataclass(frozen=True)
class Setting:
    """A setting.

    :param meaning: for the reference, in Markdown.
    :param default: its value if it is missing or None. If the default is None, too, its meaning
        says what applies.
    """

    name: str
    kind: Kind
    meaning: str
    default: Any = None

    def parse(self, value: Any) -> Any:
        """Return a value in its type; None if it is None, and the default is.

        :raises SettingsError: the value is not allowed.
        """
        value = self.default if value is None else value
        if value is None:
            return None
        try:
            return self.kind.parse(value)
        except (ValueError, TypeError, OverflowError, KeyError) as error:
            detail = f" ({error})" if isinstance(error, SchemeError) else ""
            raise SettingsError(self.name, value, f"must be {self.kind.words}{detail}") from None


def markdown(settings: Iterable[Setting]) -> str:
    """Return the table of some settings for a page of the documentation."""
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for one in settings:
        default = f'"{one.default}"' if isinstance(one.default, str) else repr(one.default)
        default = default.replace("'", '"')
        rows.append(f"| `{one.name}` | `{default}` | {one.meaning} |")
    return "\n".join(rows)
