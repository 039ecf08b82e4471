"""What users keep and lose of page sets: ``dedupe`` over their pages, judged by their pairs.

Two pages with a resemblance of at least 0.8 should not both stay. A page that is dropped should
leave one behind that resembles it: it is lost if no kept page of its set does. Pairs of different
languages are not listed, but a page that nobody translated may be a copy of the original: such ones
are counted apart.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import common

from quality_lib import output, truth
from quality_lib.corpus import MUST, NOT_JUDGED
from quality_lib.dropping import FORMS, Record, dedupe
from quality_lib.results import MIN_PAIRS_OF_A_LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quality_lib.corpus import Document, PageSet
    from quality_lib.dropping import Fate

# A dropped page is counted as lost at each: no kept page resembles it as much.
HALF = 0.5
LOST_BELOW = (0.2, HALF, 0.8)


class Dropped(NamedTuple):
    """A page that was dropped.

    :param resemblance: to the kept page that is nearest by the listed pairs.
    :param representative: what it was dropped for.
    :param across: its resemblance to the representative where that is of another language and
        the pair is not listed; else None.
    """

    resemblance: float
    representative: str | None
    across: float | None


@dataclass(frozen=True)
class Outcome:
    """What became of a set's pages in one form.

    :param pairs: those of which one page should go: language, and whether both stay.
    :param dropped: by the page's id.
    """

    set: str
    form: str
    documents: int
    pairs: list[tuple[str, bool]]
    dropped: dict[str, Dropped]

    def lost(self, below: float) -> int:
        """Return the number of dropped pages that no kept one resembles so much."""
        return sum(one.resemblance < below for one in self.dropped.values())

    @property
    def copies_across(self) -> int:
        """Pages counted as lost that are copies of what is labelled with another language."""
        return sum(one.resemblance < HALF <= (one.across or 0.0) for one in self.dropped.values())

    def as_json(self) -> dict[str, Any]:
        """Return all figures, and which pages were dropped."""
        return {
            "set": self.set,
            "form": self.form,
            "documents": self.documents,
            "pairs": len(self.pairs),
            "both_stay": sum(stay for _, stay in self.pairs),
            "lost_below": {str(below): self.lost(below) for below in LOST_BELOW},
            "copies_across_languages": self.copies_across,
            "dropped": {name: one._asdict() for name, one in self.dropped.items()},
        }


def measure(page_sets: Sequence[PageSet], options: Sequence[str]) -> Iterator[Outcome]:
    """Yield the outcome of each set in each form."""
    for page_set in page_sets:
        places = served(page_set)
        documents = [page_set.documents[place] for place in places]
        records = [record(page_set.name, doc) for doc in documents]
        for form in FORMS:
            fates = dedupe(records, form, options)
            yield outcome(page_set, form, dict(zip(places, fates, strict=True)))


def served(page_set: PageSet) -> list[int]:
    """Return the places of the documents with pages, or of all if there are no pages at all."""
    places = range(len(page_set.documents))
    return [place for place in places if page_set.documents[place].page is not None] or [*places]


def record(name: str, doc: Document) -> Record:
    """Return a document as `dedupe` takes it; a set whose hosts are not known is one site."""
    url = f"https://{doc.host or name.replace('_', '-')}/{quote(doc.id)}"
    if doc.page is None:
        return Record(url, text=doc.text)
    return Record(url, common.body_of(doc.page))


def outcome(page_set: PageSet, form: str, fates: dict[int, Fate]) -> Outcome:
    """Return what became of a set, from the fate of each place that was served."""
    places = list(fates)
    kept = {place for place, fate in fates.items() if fate.kept}
    best = dict.fromkeys(fates.keys() - kept, 0.0)
    pairs = []
    for pair in page_set.listed:
        if not fates.keys() >= {pair.a, pair.b}:
            continue
        if pair.band == MUST:
            pairs.append((pair.lang, kept >= {pair.a, pair.b}))
        for one, other in ((pair.a, pair.b), (pair.b, pair.a)):
            if one in best and other in kept:
                best[one] = max(best[one], pair.resemblance)
    dropped = {}
    for place in sorted(best):
        named = fates[place].representative
        other = None if named is None else places[named]
        dropped[page_set.documents[place].id] = Dropped(
            best[place],
            None if other is None else page_set.documents[other].id,
            None if other is None else across(page_set, place, other),
        )
    return Outcome(page_set.name, form, len(fates), pairs, dropped)


def across(page_set: PageSet, one: int, other: int) -> float | None:
    """Return the resemblance of two texts whose pair is not judged, or None if it is."""
    if page_set.judging[one, other] != NOT_JUDGED:
        return None
    texts = [page_set.documents[place].text for place in (one, other)]
    made = truth.make_pairs(texts, ["", ""])
    return made[0].resemblance if made else 0.0


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a row for each set, and a row of totals."""
    header = ["set", "documents", "dropped", "pairs >= 0.8", "both stay", "recall of dropping"]
    header += [f"lost < {below}" for below in LOST_BELOW]
    header.append(f"of < {HALF} copies across languages")
    rows = [[one.set, *_cells([one])] for one in outcomes]
    return common.table(header, [*rows, ["all", *_cells(outcomes)]])


def _cells(outcomes: Sequence[Outcome]) -> list[str]:
    dropped = sum(len(one.dropped) for one in outcomes)
    pairs = [stay for one in outcomes for _, stay in one.pairs]
    both = sum(pairs)
    lost = [sum(one.lost(below) for one in outcomes) for below in LOST_BELOW]
    return [
        *(str(sum(one.documents for one in outcomes)), str(dropped), str(len(pairs)), str(both)),
        output.proportion(len(pairs) - both, len(pairs)),
        *(f"{count} ({count / max(1, dropped):.1%})" for count in lost),
        str(sum(one.copies_across for one in outcomes)),
    ]


def language_table(outcomes: Sequence[Outcome]) -> str:
    """Return the recall of dropping by language, of those with enough pairs to tell."""
    every: Counter[str] = Counter()
    both: Counter[str] = Counter()
    for one in outcomes:
        for lang, stay in one.pairs:
            every[lang] += 1
            both[lang] += stay
    rows = [
        [lang, str(count), str(both[lang]), output.proportion(count - both[lang], count)]
        for lang, count in sorted(every.items())
        if count >= MIN_PAIRS_OF_A_LANGUAGE
    ]
    return common.table(["language", "pairs >= 0.8", "both stay", "recall of dropping"], rows)
