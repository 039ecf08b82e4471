"""Schemes and peers over page sets: from the command line's names to results."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from quality_lib import results
from quality_lib.peers import PEERS
from quality_lib.results import ALL, WITHIN_K
from quality_lib.served import Row, serve
from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.scheme import PRESETS, Scheme, preset

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from quality_lib.corpus import PageSet
    from quality_lib.results import Result

# Distances by default: these shares of the bits, beside the preset's own distance.
K_SHARES = (1 / 64, 3 / 64, 5 / 64, 7 / 64, 1 / 8, 5 / 32)


class Entry(NamedTuple):
    """A scheme to be measured; `own_k` is the distance that goes with it, if any does."""

    name: str
    scheme: Scheme
    distances: list[int]
    own_k: int | None
    confirmation: Confirmation = UNCONFIRMED


class Measured(NamedTuple):
    """All results on one kind of text, and those of each scheme's own distance."""

    every: list[Result]
    own: list[Result]


def entry(spec: str, k_lists: Sequence[str]) -> Entry:
    """From ``PRESET[:bits[:shingle_length[:weighting]]]``. :raises SimhashError: no such scheme."""
    name, *parts = spec.split(":")
    base = preset(name)
    given: dict[str, Any] = dict(
        zip(("bits", "shingle_length", "weighting"), parts[:2], strict=False)
    )
    changes: dict[str, Any] = {key: int(value) for key, value in given.items() if value}
    if len(parts) > 2 and parts[2]:
        changes["weighting"] = parts[2]
    scheme = replace(base.scheme, **changes)
    own_k = base.max_distance if scheme.bits == base.scheme.bits else None
    listed = [item.rpartition("=") for item in k_lists]
    chosen = [
        int(k) for bits, _, ks in listed if bits in ("", str(scheme.bits)) for k in ks.split(",")
    ]
    if not chosen:
        chosen = [round(share * scheme.bits) for share in K_SHARES]
        chosen += [] if own_k is None else [own_k]
    return Entry(spec, scheme, sorted(set(chosen)), own_k, base.confirmation)


def entries(specs: Sequence[str], k_lists: Sequence[str]) -> list[Entry]:
    """Those asked for; else the presets that take text."""
    if specs:
        try:
            return [entry(spec, k_lists) for spec in specs]
        except (SimhashError, ValueError) as error:
            raise SystemExit(f"--scheme: {error}") from error
    return [entry(name, k_lists) for name, known in PRESETS.items() if takes_text(known.scheme)]


def takes_text(scheme: Scheme) -> bool:
    """Whether it makes fingerprints of plain texts."""
    try:
        scheme.fingerprint("some text")
    except SimhashError:
        return False
    return True


def own_distance(one: Entry, found: Sequence[Result]) -> int:
    """The preset's, else the one with the best F1 within it."""
    if one.own_k in one.distances:
        return one.own_k or 0
    within = [r for r in found if r.finder.by == WITHIN_K and r.finder.pairs == ALL]
    return max(within, key=lambda r: r.figures().f1 or 0).finder.k or 0


def by_set(rows: Sequence[Any], page_sets: Sequence[PageSet]) -> list[list[Any]]:
    """Rows of all documents, set by set."""
    each = iter(rows)
    return [list(islice(each, len(page_set.documents))) for page_set in page_sets]


def measure(
    page_sets: Sequence[PageSet],
    schemes: Sequence[Entry],
    rows: Sequence[Row],
    peers: Sequence[str],
) -> Measured:
    """All results of the schemes, and of the peers if there are any."""
    every: list[Result] = []
    own: list[Result] = []
    for number, one in enumerate(schemes):
        served = by_set([row.schemes[number] for row in rows], page_sets)
        found = results.scheme_results(
            one.name, one.scheme, one.distances, page_sets, served, confirmation=one.confirmation
        )
        every += found
        own_k = own_distance(one, found)
        own += [result for result in found if result.finder.k == own_k]
    if peers:
        others = list(results.peer_results(installed(peers), page_sets, by_set(rows, page_sets)))
        every += others
        own += others
    return Measured(every, own)


def installed(names: Sequence[str]) -> list[str]:
    """The peers that can run."""
    return [name for name in names if PEERS[name].version() is not None]


def served_rows(
    page_sets: Sequence[PageSet],
    schemes: Sequence[Entry],
    peers: Sequence[str],
    arguments: argparse.Namespace,
    *,
    pages: bool,
) -> list[Row]:
    """All documents of all sets."""
    return serve(
        [doc for page_set in page_sets for doc in page_set.documents],
        [one.scheme for one in schemes],
        peers,
        pages=pages,
        min_tokens=arguments.min_tokens,
        processes=arguments.processes,
    )
