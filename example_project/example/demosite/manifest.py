"""The manifest: the families of near-duplicates among the pages of the site."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .catalog import HERE
from .resemblance import resemblance

if TYPE_CHECKING:
    from .model import Page, Site

MANIFEST_FILE = HERE / "manifest.json"
PLANTED_KINDS = ("session", "print", "mirror", "syndicated", "reordered")


@dataclass(frozen=True)
class Manifest:
    """The families, and how much the planted near-duplicates of articles resemble these.

    :param families: name of the family → its pages, the original first.
    :param resemblances: (role, path) of a *plant*, a near-duplicate of an article → its resemblance
        to the article.
    """

    families: dict[str, list[Page]]
    resemblances: dict[tuple[str, str], float]

    @classmethod
    def of(cls, site: Site) -> Manifest:
        """Return the manifest of the pages of a site, without those of `Site.endless`."""
        families: dict[str, list[Page]] = defaultdict(list)
        resemblances = {}
        for page in site.pages.values():
            members = families[page.family]
            if page.kind in PLANTED_KINDS:
                value = resemblance(members[0].text, page.text, page.lang)
                resemblances[page.role, page.path] = value
            members.append(page)
        return cls(dict(families), resemblances)

    def plants(self) -> list[tuple[Page, float]]:
        """Return (plant, resemblance) pairs, sorted by kind, then with the highest value first."""
        plants = [
            (page, self.resemblances[page.role, page.path])
            for members in self.families.values()
            for page in members
            if page.kind in PLANTED_KINDS
        ]
        return sorted(plants, key=lambda plant: (PLANTED_KINDS.index(plant[0].kind), -plant[1]))

    def as_json(self) -> dict[str, Any]:
        """Return the families as values for JSON. Pages have no URL: ports differ by run."""
        return {
            "families": {
                family: [self._entry(page) for page in members]
                for family, members in self.families.items()
            }
        }

    def dumps(self) -> str:
        """Return the text of manifest.json."""
        return json.dumps(self.as_json(), indent=1, ensure_ascii=False) + "\n"

    def _entry(self, page: Page) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "role": page.role,
            "path": page.path,
            "kind": page.kind,
            "lang": page.lang,
        }
        value = self.resemblances.get((page.role, page.path))
        return entry if value is None else {**entry, "resemblance": round(value, 3)}
