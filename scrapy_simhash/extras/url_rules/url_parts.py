"""Take a URL apart into what rules rewrite: origin, path segments, and parameters."""

from __future__ import annotations

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
