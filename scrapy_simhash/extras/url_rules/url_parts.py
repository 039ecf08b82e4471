"""Take a URL apart into what rules rewrite: origin, path segments, and parameters."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

# Scrapy's default URLLENGTH_LIMIT. Longer URLs neither teach nor obey rules.
MAX_URL_CHARACTERS = 2083
_MAX_PARAMS = 64

Param: TypeAlias = tuple[str, str]


class UrlParts(NamedTuple):
    """The parts of a URL, without its user name, its fragment and parameters without a name.

    :param origin: scheme and host, in lower case, with a port that is not the scheme's own.
    :param segments: of the path; a path that ends with a slash has an empty last segment.
    :param params: sorted (name, value) pairs: Scrapy's duplicate filter ignores their order, too.
        A parameter of the path, as in ``/a;jsessionid=1``, has a name that begins with a semicolon.
    """

    origin: str
    segments: tuple[str, ...]
    params: tuple[Param, ...]


def url_parts(url: str) -> UrlParts | None:
    """Return the parts of a URL; None if it is no web URL, too long, or has over 64 parameters."""
    if len(url) > MAX_URL_CHARACTERS:
        return None
    try:
        parts = urlsplit(url)
        origin = _origin(parts.scheme, parts.hostname, parts.port)
    except ValueError:
        return None
    if not origin:
        return None
    path = parts.path
    params: list[Param] = []
    if ";" in path:
        path, params = _without_params(path)
    for piece in parts.query.split("&") if parts.query else ():
        name, _, value = piece.partition("=")
        if name and name[0] != ";":
            params.append((name, value))
    if len(params) > _MAX_PARAMS:
        return None
    return UrlParts(origin, tuple(path.removeprefix("/").split("/")), tuple(sorted(params)))


@lru_cache(maxsize=4096)
def _origin(scheme: str, host: str | None, port: int | None) -> str:
    default_port = {"http": 80, "https": 443}.get(scheme)
    if default_port is None or not host:
        return ""
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}" + ("" if port in (None, default_port) else f":{port}")


def _without_params(path: str) -> tuple[str, list[Param]]:
    """Return a path without its parameters, and the parameters."""
    segments, params = [], []
    for segment in path.split("/"):
        name, *pieces = segment.split(";")
        for piece in pieces:
            key, equals, value = piece.partition("=")
            if key and equals:
                params.append((f";{key}", value))
            elif piece:
                name += f";{piece}"
        segments.append(name)
    return "/".join(segments), params


# Below each folder, the first 16 names have patterns of their own; all others share one pattern.
MAX_NAMES = 16
MAX_FOLDERS = 500
_MAX_NAME_CHARACTERS = 40
_SCRIPT = re.compile(r"\.(?:php\d?|aspx?|jspx?|cgi|do|pl|cfm|dll|exe|action)$", re.IGNORECASE)
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,4}$")


class PathPatterns:
    """The path patterns of one site: up to 16 names below each of up to 500 folders.

    A parameter of a script, ``/script?name``, counts as a folder whose names are its values.
    """

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}

    def of(self, parts: UrlParts) -> str:
        """Return the pattern of a URL, such as ``/shop/*``."""
        segments = [segment for segment in parts.segments if segment]
        if not segments:
            return self._with_params("/", parts)
        *folders, last = segments
        pattern = "/"
        for folder in folders:
            pattern += self._shown(pattern, folder, "*") + "/"
        if _SCRIPT.search(last):
            return self._with_params(pattern + self._shown(pattern, last, "*.script"), parts)
        extension = _EXTENSION.search(last)
        page = "*" + (extension[0] if extension else "")
        return pattern + (page if folders or extension else self._shown(pattern, last, "*"))

    def remember(self, pattern: str) -> None:
        """Keep the names of a stored pattern, so that `of` returns it again."""
        path, _, query = pattern.partition("?")
        folder = "/"
        for name in path.strip("/").split("/"):
            self._shown(folder, name, "*")
            folder += f"{name}/"
        for param in query.split("&"):
            name, _, value = param.partition("=")
            self._shown(f"{path}?{name}", value, "*")

    def _with_params(self, pattern: str, parts: UrlParts) -> str:
        if not parts.params:
            return pattern
        shown = sorted(
            f"{name}={self._shown(f'{pattern}?{name}', value, '*')}" for name, value in parts.params
        )
        return f"{pattern}?{'&'.join(shown)}"

    def _shown(self, folder: str, name: str, other: str) -> str:
        """Return a name if it has or gets a pattern of its own below a folder, else `other`."""
        if not name or name[0] == "*":
            return name
        if len(name) > _MAX_NAME_CHARACTERS or any(map(str.isdigit, name)):
            return other
        names = self._names.get(folder)
        if names is None:
            if len(self._names) >= MAX_FOLDERS:
                return other
            names = self._names[folder] = set()
        if name not in names:
            if len(names) >= MAX_NAMES:
                return other
            names.add(name)
        return name
