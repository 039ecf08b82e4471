"""Divide a site into path patterns, so that evidence for a rule is counted on each pattern.

The same parameter may matter on one part of a site and not on another. So a pattern keeps the names
that tell parts apart (folders, scripts, pages in the root) and has ``*`` for names of single pages.
Behind a front controller such as ``/index.php?page=news&id=3``, the parameters tell parts apart.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_simhash.extras.url_rules.url_parts import UrlParts

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
