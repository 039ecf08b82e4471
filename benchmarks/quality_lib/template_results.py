"""Template sites through ``dedupe``: distinct pages that are lost, copies that are dropped."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

import common
from lxml import html

from quality_lib import truth
from quality_lib.dropping import FORMS, Record, dedupe
from quality_lib.templates.families import FAMILIES, pages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quality_lib.dropping import Fate
    from quality_lib.templates.families import Family, Page


@dataclass(frozen=True)
class Outcome:
    """What became of a family's pages in one form.

    :param own: where pages have names of their own.
    :param alike: the median, over distinct pages, of the resemblance to the nearest other one.
    :param lost: distinct pages that were dropped, with the page that they were dropped for.
    :param skipped: distinct pages that could not be judged, and so were kept.
    """

    family: str
    form: str
    own: str
    alike: float
    distinct: int
    copies: int
    copies_dropped: int
    skipped: int
    lost: dict[str, str | None] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return all figures, and which pages were lost for which."""
        return asdict(self)


def measure(seed: int, options: Sequence[str]) -> Iterator[Outcome]:
    """Yield the outcome of each family in each form."""
    for family in FAMILIES:
        made = pages(family, seed)
        records = [Record(page.url, page.html.encode()) for page in made]
        alike = nearest(family, made)
        for form in FORMS:
            yield outcome(family, form, alike, made, dedupe(records, form, options))


def outcome(
    family: Family, form: str, alike: float, made: Sequence[Page], fates: Sequence[Fate]
) -> Outcome:
    """Return the counts of one family in one form."""
    pairs = list(zip(made, fates, strict=True))
    lost = {
        page.url: None if fate.representative is None else made[fate.representative].url
        for page, fate in pairs
        if not page.kind and not fate.kept
    }
    return Outcome(
        family=family.name,
        form=form,
        own=family.own,
        alike=alike,
        distinct=sum(not page.kind for page in made),
        copies=sum(bool(page.kind) for page in made),
        copies_dropped=sum(bool(page.kind) and not fate.kept for page, fate in pairs),
        skipped=sum(not page.kind and fate.kind == "skipped" for page, fate in pairs),
        lost=lost,
    )


def nearest(family: Family, made: Sequence[Page]) -> float:
    """Return how much a typical page resembles the distinct page that is nearest to it.

    Without the site's chrome, which a perfect extraction leaves out.
    """
    texts = [content_text(page) for page in made if not page.kind]
    best = [0.0] * len(texts)
    for pair in truth.make_pairs(texts, [family.site.lang] * len(texts)):
        for number in (pair.a, pair.b):
            best[number] = max(best[number], pair.resemblance)
    return median(best)


def content_text(page: Page) -> str:
    """Return the page's name and content as text."""
    body = html.fromstring(f"<div>{page.content.body}</div>")
    return " ".join([page.content.name, *body.itertext()])


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a row for each family, forms beside each other, and a row of totals."""
    by_form = {form: [one for one in outcomes if one.form == form] for form in FORMS}
    header = ["family", "own names in", "alike", "distinct", "copies"]
    header += [f"{what}, {form}" for form in FORMS for what in ("lost", "copies dropped")]
    rows = []
    for same in zip(*by_form.values(), strict=True):
        first = same[0]
        row = [first.family, first.own, f"{first.alike:.2f}"]
        row += [str(first.distinct), str(first.copies)]
        rows.append(row + [cell for one in same for cell in _cells([one])])
    every = by_form[FORMS[0]]
    total = ["all", "", "", str(_sum(every, "distinct")), str(_sum(every, "copies"))]
    rows.append(total + [cell for form in FORMS for cell in _cells(by_form[form])])
    return common.table(header, rows, left=2)


def _cells(outcomes: Sequence[Outcome]) -> list[str]:
    lost = sum(len(one.lost) for one in outcomes)
    share = lost / max(1, _sum(outcomes, "distinct"))
    return [f"{lost} ({share:.1%})", str(_sum(outcomes, "copies_dropped"))]


def _sum(outcomes: Sequence[Outcome], name: str) -> int:
    return sum(getattr(one, name) for one in outcomes)
