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
    """The pages by family (originals first), and resemblances of plants (near-duplicates of an
    article) to their originals, by (role, path).
    """

    families: dict[str, list[Page]]
    resemblances: dict[tuple[str, str], float]

    @classmethod
    def of(cls, site: Site) -> Manifest:
        """Return the manifest of a site, without the pages that only `Site.endless` returns."""
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
        """Return the (plant, resemblance) pairs, by kind, then with the highest value first."""
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
