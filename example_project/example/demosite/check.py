"""Check the rules of the site. A *plant* is a near-duplicate of an article, its *original*."""

from __future__ import annotations

import re
from html import unescape
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin

from .manifest import MANIFEST_FILE, PLANTED_KINDS, Manifest
from .resemblance import jaccard, shingles

if TYPE_CHECKING:
    from .model import Page, Site

LOWEST, HIGHEST = 0.80, 0.99  # limits for the resemblance of a plant to its original
BANDS = ((0.80, 0.85), (0.85, 0.90), (0.90, 0.95), (0.95, 0.991))  # parts of this range
MIN_PLANTS_IN_BAND, MIN_RESEMBLANCES_OF_KIND = 4, 3
DIFFERENT_BELOW = 0.20  # the resemblance of pages of different families
LISTINGS_BELOW = 0.50  # the resemblance of two listing pages, including their templates
MIN_LISTINGS, MIN_HIDDEN_ARTICLES = 6, 5
MIN_PAGES, MAX_PAGES = 60, 80


def broken_rules(site: Site) -> list[str]:
    """Return a sentence for each violation of a rule."""
    manifest = Manifest.of(site)
    return [
        *_plants_out_of_range(manifest),
        *_uneven_spread(manifest),
        *_families_overlap(site),
        *_loose_families(manifest),
        *_listings(site),
        *_reachability(site),
        *_outdated(manifest),
    ]


def resemblance_table(site: Site) -> str:
    """Return a table of resemblances to originals: a summary of each kind, then each plant."""
    plants = Manifest.of(site).plants()
    lines = [f"{'kind':<12}{'count':>6}{'min':>8}{'median':>8}{'max':>8}"]
    for kind in PLANTED_KINDS:
        values = [value for page, value in plants if page.kind == kind]
        lines.append(
            f"{kind:<12}{len(values):>6}{min(values):>8.3f}{median(values):>8.3f}{max(values):>8.3f}"
        )
    lines.append("")
    for page, value in plants:
        lines.append(f"{page.kind:<12}{value:>6.3f}  {page.lang:<8} {page.role:<7} {page.path}")
    return "\n".join(lines)


def visible_text(html: str) -> str:
    """Return all text of a page that a browser shows, including the text of the template."""
    body = re.sub(r"(?s)<(script|style|head)\b.*?</\1>", " ", html)
    return unescape(re.sub(r"<[^>]*>", " ", body))


def _plants_out_of_range(manifest: Manifest) -> list[str]:
    return [
        f"{page.kind} {page.path} resembles its original by {value:.3f}"
        for page, value in manifest.plants()
        if not LOWEST <= value <= HIGHEST
    ]


def _uneven_spread(manifest: Manifest) -> list[str]:
    plants, broken = manifest.plants(), []
    for low, high in BANDS:
        count = sum(low <= value < high for _page, value in plants)
        if count < MIN_PLANTS_IN_BAND:
            broken.append(f"only {count} plants from {low} to {high}")
    for kind in PLANTED_KINDS:
        values = {round(value, 3) for page, value in plants if page.kind == kind}
        if len(values) < MIN_RESEMBLANCES_OF_KIND:
            broken.append(f"only {len(values)} different resemblances among {kind} plants")
    return broken


def _families_overlap(site: Site) -> list[str]:
    texts = [(page, shingles(page.text, page.lang)) for page in site.pages.values() if page.text]
    return [
        f"{one.path} resembles {other.path}, of another family, by {value:.3f}"
        for (one, first), (other, second) in combinations(texts, 2)
        if one.family != other.family
        and one.lang[:2] == other.lang[:2]
        and (value := jaccard(first, second)) >= DIFFERENT_BELOW
    ]


def _loose_families(manifest: Manifest) -> list[str]:
    """Check all pairs of the families without an original: soft 404s and calendar pages."""
    broken = []
    for family, members in manifest.families.items():
        if members[0].kind in {"soft-404", "calendar"}:
            for one, other in combinations(members, 2):
                value = jaccard(shingles(one.text, one.lang), shingles(other.text, other.lang))
                if not LOWEST <= value < 1:
                    broken.append(f"{family}: {one.path} resembles {other.path} by {value:.3f}")
    return broken


def _listings(site: Site) -> list[str]:
    listings = [page for page in site.pages.values() if page.kind == "listing"]
    texts = [(page, shingles(visible_text(page.html), page.lang)) for page in listings]
    broken = [] if len(listings) >= MIN_LISTINGS else [f"only {len(listings)} listing pages"]
    return broken + [
        f"the listing {one.path} resembles {other.path} by {value:.3f}"
        for (one, first), (other, second) in combinations(texts, 2)
        if (value := jaccard(first, second)) >= LISTINGS_BELOW
    ]


def _reachability(site: Site) -> list[str]:
    linked_from = _links(site)
    broken = []
    if not MIN_PAGES <= len(linked_from) <= MAX_PAGES:
        broken.append(f"{len(linked_from)} pages can be reached: not {MIN_PAGES} to {MAX_PAGES}")
    hidden = 0
    for page in site.pages.values():
        sources = linked_from.get(site.url(page), [])
        if page.kind != "calendar" and not sources:
            broken.append(f"{page.role} {page.path} cannot be reached")
        if page.kind == "article" and [source.kind for source in sources] == ["listing"]:
            hidden += 1
    if hidden < MIN_HIDDEN_ARTICLES:
        broken.append(f"only {hidden} articles have their only link on a listing page")
    return broken


def _links(site: Site) -> dict[str, list[Page]]:
    """Return the other pages that link to each URL that can be reached, without the calendar."""
    linked_from: dict[str, list[Page]] = {site.main_url: []}
    queue = [site.main_url]
    while queue:
        page = site.page_at(queue.pop())
        if page is None:
            continue
        for href in set(re.findall(r'<a\b[^>]*\bhref="([^"]*)"', page.html)):
            target = urldefrag(urljoin(site.url(page), unescape(href))).url
            linked = site.page_at(target)
            if linked is None or linked is page or linked.kind == "calendar":
                continue
            if target not in linked_from:
                linked_from[target] = []
                queue.append(target)
            linked_from[target].append(page)
    return linked_from


def _outdated(manifest: Manifest) -> list[str]:
    current = MANIFEST_FILE.read_text(encoding="utf-8") if MANIFEST_FILE.exists() else ""
    broken = f"{MANIFEST_FILE.name} is out of date: run with --write"
    return [] if current == manifest.dumps() else [broken]
