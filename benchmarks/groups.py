"""Measure the groups of copies that are found in public corpora, with the measures of their papers.

    python benchmarks/groups.py SET… [--core FILE] [--news-copy ARTICLES PAIRS]

A SET is a page set with cleaned texts, as for `quality.py`. The peers need ``pip install simhash
datasketch``. No corpus is downloaded:

- ``--core``: https://huggingface.co/datasets/pinecone/core-2020-05-10-deduplication, 100,000
  abstracts, as JSON lines or Parquet with the columns ``core_id``, ``processed_title``,
  ``processed_abstract`` and ``labelled_duplicates``.
- ``--news-copy``: https://github.com/dell-research-harvard/NEWS-COPY; ``test_inf_data.json`` and
  ``full_test_gt.json`` of its ``test_sets.zip``.

"dedupe" and "connected" are ours, with the preset `wide`: the groups of `scrapy simhash dedupe`,
and groups that chains of copies connect, as all methods except "dedupe" have. "text-dedup" has the
rules and settings of that package, computed with datasketch.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from groups_lib.corpora import Corpus, core, news_copy, page_set
from groups_lib.measures import Score, score
from groups_lib.methods import METHODS, NEEDED

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES = ("precision", "recall", "macro precision", "macro F1", "accuracy", "ARI")


def main() -> None:
    """Run the methods on the corpora that the command line names, and print the tables."""
    options = _options()
    sets = [page_set(folder) for folder in options.sets]
    corpora = list(sets)
    if options.core is not None:
        corpora.append(core(options.core))
    if options.news_copy is not None:
        corpora.append(news_copy(*options.news_copy))
    methods = [name for name in options.methods if find_spec(NEEDED.get(name, "numpy"))]
    for name in sorted(set(options.methods) - set(methods)):
        print(f"{name} is left out: pip install {NEEDED[name]}")
    report: dict[str, dict[str, Any]] = {}
    labels: dict[tuple[str, str], np.ndarray] = {}
    for corpus in corpora:
        print(_heading(corpus))
        report[corpus.name] = {}
        for name in methods:
            began_s = time.process_time()
            found = labels[corpus.name, name] = METHODS[name](corpus.texts)
            cpu_s = time.process_time() - began_s
            report[corpus.name][name] = _said(name, score(corpus, found), cpu_s)
    if len(sets) > 1:
        whole = _together(sets)
        print(_heading(whole))
        report[whole.name] = {}
        for name in methods:
            found = _shifted([labels[one.name, name] for one in sets])
            report[whole.name][name] = _said(name, score(whole, found), None)
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="ascii")


def _heading(corpus: Corpus) -> str:
    copies = sum(map(bool, corpus.copies))
    return (
        f"\n{corpus.name}: {len(corpus.texts):,} texts, {copies:,} with copies\n\n"
        f"| | {' | '.join(_NAMES)} | CPU s |\n|---|{'---|' * (len(_NAMES) + 1)}"
    )


def _said(name: str, found: Score, cpu_s: float | None) -> dict[str, Any]:
    values = " | ".join(f"{value:.3f}" for value in found)
    print(f"| {name} | {values} | {'' if cpu_s is None else f'{cpu_s:,.1f}'} |", flush=True)
    return {**found._asdict(), "cpu_s": cpu_s}


def _together(sets: Sequence[Corpus]) -> Corpus:
    """Return the sets as one corpus, in which texts of different sets are no copies."""
    starts = np.cumsum([0, *(len(one.texts) for one in sets)]).tolist()

    def shifted(name: str) -> list[set[int]]:
        return [
            {start + other for other in others}
            for start, one in zip(starts, sets, strict=False)
            for others in getattr(one, name)
        ]

    texts = [text for one in sets for text in one.texts]
    return Corpus("all sets", texts, shifted("copies"), shifted("undecided"))


def _shifted(labels: Sequence[np.ndarray]) -> np.ndarray:
    starts = np.cumsum([0, *map(len, labels)])
    return np.concatenate([start + one for start, one in zip(starts, labels, strict=False)])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", type=Path, metavar="SET")
    parser.add_argument("--core", type=Path, metavar="FILE")
    parser.add_argument("--news-copy", type=Path, nargs=2, metavar=("ARTICLES", "PAIRS"))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    if not (options.sets or options.core or options.news_copy):
        parser.error("name page sets, --core or --news-copy")
    return options


if __name__ == "__main__":
    main()
