"""Mask what is secret in URLs, such as passwords, tokens and session ids, by its name."""

from __future__ import annotations

import re
from urllib.parse import unquote

from scrapy_simhash.documents.escaping import printable

MASK = "…"
# Longer texts are cut before they are masked. `printable` shows 200 characters.
_MAX_LOGGED = 2000
_USER = re.compile(r"(?<=://)[^/?#\s@]+(?=@)")
# A parameter of the query, the fragment or a path segment, also of a URL that is quoted in another.
_PARAMETER = re.compile(
    r"(?P<before>[?&;#]|%3F|%26|%3B|%23)(?P<name>[^=?&;#/\s\"'<>%]+|(?:[\w.-]|%5B|%5D)+)"
    r"(?P<equals>=|%3D)(?P<value>(?:(?!%26|%3B|%23)[^&;#\s\"'<>])+)",
    re.IGNORECASE,
)
# A path segment that looks random, after one with a secret's name.
_SEGMENT = re.compile(r"(?<=/)([\w.-]+)/((?=[\w.~-]*\d)[\w.~-]{16,})(?![\w.~-])")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORDS = frozenset(
    "auth authorization bearer cfid cookie csid csrf hmac jwt key nonce oauth otp pass passphrase "
    "pin pw pwd sess sid sig sign ticket xsrf zenid".split()
)
_SECRET_PARTS = (
    "apikey",
    "credential",
    "passw",
    "secret",
    "sessid",
    "session",
    "signature",
    "token",
)


def masked(text: str) -> str:
    """Return a URL, or a text with URLs, with ``…`` in place of each value that is a secret by the
    name of its parameter, and of user names and passwords.
    """
    text = _PARAMETER.sub(_masked_parameter, _USER.sub(MASK, text))
    return _SEGMENT.sub(lambda found: f"{found[1]}/{_masked_value(*found.groups())}", text)


def loggable(text: str) -> str:
    """Return a text for one log line: `masked`, and as by `printable`."""
    return printable(masked(text[:_MAX_LOGGED]))


def _masked_parameter(found: re.Match[str]) -> str:
    value = found["value"]
    if "%3d" in value.lower():  # a URL with parameters of its own
        value = _PARAMETER.sub(_masked_parameter, value)
    return found["before"] + found["name"] + found["equals"] + _masked_value(found["name"], value)


def _masked_value(name: str, value: str) -> str:
    """Return the value of a parameter, or a mask if its name says that it is a secret."""
    name = unquote(name)
    letters = re.sub(r"[^a-z]", "", name.lower())
    words = {word.lower() for word in _WORDS.findall(name)}
    is_secret = any(part in letters for part in _SECRET_PARTS) or words & _SECRET_WORDS
    return MASK if is_secret else value
