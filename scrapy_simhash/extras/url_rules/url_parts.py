"""Write URLs in a plain form, which rules can rewrite, and divide a site into path patterns."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from w3lib.url import canonicalize_url

# Scrapy's default URLLENGTH_LIMIT. Longer URLs neither teach nor obey rules.
MAX_URL_CHARACTERS = 2083
_MAX_PARAMS = 64
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
# Characters that `canonicalize_url` escapes in parameters, but not in a path. An escaped semicolon,
# equals sign, slash or question mark stays, because it would have another meaning.
_NEEDLESS_ESCAPE = re.compile("%(?:2[14789BC]|3A|40|5[BD]|7C)")
_PATH_PARAM = re.compile(r";([^;/=]+=[^;/]*)")


@lru_cache(maxsize=4096)
def plain_url(url: str) -> str | None:
    """Return the plain form of a URL, such as ``http://example.com/a?&b=2&c=1``.

    It is canonical, as for Scrapy's duplicate filter, without a user name, the scheme's own port, a
    fragment and parameters without a name. A ``?`` ends the path, also if there are no parameters,
    and an ``&`` precedes each parameter. A parameter of the path follows there, too, with a name
    that begins with a semicolon, as in ``&;jsessionid=1``. The path ``/`` is empty. Parameters have
    the characters that a path has, as in ``&title=Talk:A%20(B)``, so that rules can compare them.

    :return: None if it is no web URL, too long, or has over 64 parameters.
    """
    if len(url) > MAX_URL_CHARACTERS:
        return None
    try:
        scheme, netloc, path, query, _ = urlsplit(canonicalize_url(url))
        host = netloc.rpartition("@")[2].removesuffix(_DEFAULT_PORTS[scheme])
    except (KeyError, ValueError):
        return None
    path = path.replace("&", "%26")
    query = _NEEDLESS_ESCAPE.sub(lambda found: unquote(found[0]), query.replace("+", "%20"))
    params = [f";{param}" for param in _PATH_PARAM.findall(path)]
    params += [param for param in query.split("&") if param[:1] not in ("", "=")]
    if not host or len(params) > _MAX_PARAMS:
        return None
    path = _PATH_PARAM.sub("", path)
    shown = "".join(f"&{param}" for param in sorted(params))
    return f"{scheme}://{host}{'' if path == '/' else path}?{shown}"


def parts_of(plain: str) -> tuple[str, list[str], set[tuple[str, str]]]:
    """Return (origin, path segments, (name, value) pairs) of a plain URL.

    A path that ends with a slash has an empty last segment; the path ``/`` has no segments.
    """
    path, _, query = plain.partition("?")
    scheme, _, host, *segments = path.split("/")
    params = (param.partition("=") for param in query.split("&")[1:])
    return f"{scheme}//{host}", segments, {(name, value) for name, _, value in params}


# Below each folder, the first 16 names have patterns of their own; all others share one pattern.
MAX_NAMES = 16
MAX_FOLDERS = 500
_MAX_NAME_CHARACTERS = 40
_SCRIPT = re.compile(
    r"(?:\.(?:php\d?|aspx?|jspx?|cgi|do|pl|cfm|dll|exe|action)|\A\*\.script)$", re.IGNORECASE
)
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,4}$")


class PathPatterns:
    """The path patterns of one site: up to 16 names below each of up to 500 folders.

    A parameter of a script, ``/script?name``, counts as a folder whose names are its values.
    """

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}

    def of(self, plain: str) -> str:
        """Return the pattern of a plain URL, such as ``/shop/*``."""
        _, segments, params = parts_of(plain)
        names = [name for name in segments if name]
        pattern = "/"
        for folder in names[:-1]:
            pattern += f"{self._shown(pattern, folder)}/"
        if names and not _SCRIPT.search(names[-1]):
            extension = _EXTENSION.search(names[-1])
            if extension or names[1:]:
                return f"{pattern}*{extension[0] if extension else ''}"
            return pattern + self._shown(pattern, names[0])
        pattern += "".join(self._shown(pattern, script, "*.script") for script in names[-1:])
        values = [f"{name}={self._shown(f'{pattern}?{name}', value)}" for name, value in params]
        return f"{pattern}?{'&'.join(sorted(values))}" if values else pattern

    def remember(self, pattern: str) -> None:
        """Keep the names of a stored pattern, so that `of` returns it again."""
        path, _, query = pattern.partition("?")
        self.of(f"http://site{path}?&{query}" if query else f"http://site{path}?")

    def _shown(self, folder: str, name: str, other: str = "*") -> str:
        """Return a name if it has or gets a pattern of its own below a folder, else `other`."""
        if name[:1] in ("", "*"):
            return name
        if len(name) > _MAX_NAME_CHARACTERS or any(map(str.isdigit, name)):
            return other
        names = self._names.get(folder, set())
        if name not in names:
            if len(names) >= MAX_NAMES or (not names and len(self._names) >= MAX_FOLDERS):
                return other
            self._names[folder] = names | {name}
        return name
