"""Measure how well near-duplicates are found in page sets with judged pairs.

A page set is a folder with ``docs.jsonl`` (a line per document: ``id``, ``lang``, ``ntok``, and
``file`` if it has a page), ``truth.jsonl.gz`` (``id``, ``text``: the main text, cleaned by people)
and ``pairs.tsv`` (``a``, ``b``, ``jaccard``, and if known ``lang``, ``origin``, ``grade``). It has
all pairs of one language with a resemblance of at least 0.05. Without ``pairs.tsv``, the pairs are
computed from the texts, see ``quality_lib/truth.py``.

    python benchmarks/quality.py CORPUS…  [--text page|truth|both] …
    python benchmarks/quality.py --kept CORPUS…  [--dedupe OPTIONS]
    python benchmarks/quality.py --templates  [--dedupe OPTIONS]

Pairs with a resemblance of at least 0.8 must be found, and pairs below 0.2 must not be found. Pairs
between are counted, but not judged. Pairs of different sets are not judged, nor are unlisted pairs
of different languages. Texts of fewer than 50 tokens are left out. If the detector skips a page,
all of its pairs are missed. Intervals are 95 % intervals (Wilson's), as if pairs were
independent, although pairs of one site are not.

``--kept`` and ``--templates`` run ``scrapy simhash dedupe`` instead: on the pages of the sets, to
count what stays and what is lost (``quality_lib/kept.py``), and on generated sites of distinct
pages that share a template (``quality_lib/templates/families.py``).
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import facts, table
from quality_lib import corpus, kept, results, template_results
from quality_lib.corpus import BETWEEN, MUST, WRONG
from quality_lib.dropping import FORMS
from quality_lib.measuring import Measured, entries, installed, measure, served_rows
from quality_lib.peers import PEERS
from quality_lib.results import plan_for
from quality_lib.served import PROCESSES

from scrapy_simhash.detector import DEFAULT_MIN_TOKENS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quality_lib.corpus import PageSet
    from quality_lib.measuring import Entry
    from quality_lib.served import Served

SEED = 1
PACKAGES = (
    *("scrapy-simhash", "scrapy", "readability-lxml", "trafilatura", "resiliparse", "lxml"),
    *("jieba", "rjieba", "numpy", "xxhash", "simhash", "datasketch", "matplotlib"),
)


def heading(text: str) -> None:
    """Print a heading."""
    print(f"\n== {text}\n")


def show_served(name: str, served: Sequence[Served]) -> dict[str, dict[str, int]]:
    """Print and return how many documents were skipped and how they were extracted, by reason."""
    counts = {
        "skipped": Counter(page.skipped for page in served if page.skipped),
        "way": Counter(page.way for page in served),
    }
    shown = "; ".join(
        f"{what} {sum(count.values())}"
        + (f" ({', '.join(f'{n} {key}' for key, n in sorted(count.items()))})" if count else "")
        for what, count in counts.items()
    )
    print(f"{name}: {len(served)} documents; {shown}")
    return {what: dict(count) for what, count in counts.items()}


def show(measured: Measured, title: str) -> dict[str, Any]:
    """Print all tables of one kind of text, and return the figures."""
    heading(f"{title}: all judged pairs")
    print(results.summary_table(measured.every))
    heading(
        f"{title}: share of pairs reported, by grade of change (A same, B 0.9, C 0.7, D 0.5, E 0.2)"
    )
    print(results.grade_table(measured.own))
    for what in ("set", "lang", "origin"):
        heading(f"{title}: by {what}")
        print(results.group_table(measured.own, what))
    return {"results": [result.as_json() for result in measured.every]}


def show_kept(page_sets: Sequence[PageSet], options: Sequence[str]) -> list[dict[str, Any]]:
    """Run dedupe on the sets, print what stays and what is lost, and return the figures."""
    outcomes = list(kept.measure(page_sets, options))
    for form in FORMS:
        of_form = [one for one in outcomes if one.form == form]
        heading(f"dedupe, {form}: what stays and what is lost")
        print(kept.table(of_form))
        heading(f"dedupe, {form}: by language")
        print(kept.language_table(of_form))
    return [one.as_json() for one in outcomes]


def show_templates(seed: int, options: Sequence[str]) -> list[dict[str, Any]]:
    """Run dedupe on the template sites, print what is lost, and return the figures."""
    outcomes = list(template_results.measure(seed, options))
    heading("template sites: distinct pages lost, copies dropped")
    print(template_results.table(outcomes))
    return [one.as_json() for one in outcomes]


def show_sets(page_sets: Sequence[PageSet]) -> dict[str, Any]:
    """Print and return the documents and judged pairs of each set."""
    report, rows = {}, []
    for page_set in page_sets:
        bands: Counter[str] = Counter()
        for kind, count in page_set.kinds().items():
            bands[kind.band] += count
        pages = sum(doc.page is not None for doc in page_set.documents)
        counts = [len(page_set.documents), pages, page_set.left_out]
        counts += [bands[MUST], bands[BETWEEN], bands[WRONG]]
        languages = sorted({doc.lang for doc in page_set.documents})
        source = "made" if page_set.made else "pairs.tsv"
        rows.append([page_set.name, " ".join(languages), source, *map(str, counts)])
        report[page_set.name] = {"languages": languages, "source": source, **bands}
    header = ["set", "languages", "pairs from", "documents", "pages", "too short"]
    header += [MUST, BETWEEN, WRONG]
    print(table(header, rows, left=3))
    return report


def show_schemes(schemes: Sequence[Entry]) -> None:
    """Print each scheme with its tables at each k."""
    for one in schemes:
        print(f"{one.name}: {one.scheme.id}")
        for k in one.distances:
            plan = plan_for(one.scheme.bits, k) or "no plan"
            print(f"    k = {k}: {plan}{', its own' if k == one.own_k else ''}")


def arguments_of(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("folders", nargs="*", type=Path, metavar="CORPUS")
    add("--kept", action="store_true",
        help="only run dedupe on the sets, and count what stays and what is lost")  # fmt: skip
    add("--templates", action="store_true",
        help="only run dedupe on generated sites of one template each")  # fmt: skip
    add("--dedupe", type=shlex.split, default=[], metavar="OPTIONS",
        help="options of dedupe, such as --dedupe='--extractor text'")  # fmt: skip
    add("--text", choices=("page", "truth", "both"), default="page",
        help="extract and fingerprint pages, or only fingerprint the cleaned texts")  # fmt: skip
    add("--scheme", action="append", default=[],
        metavar="PRESET[:bits[:shingle_length[:weighting]]]")  # fmt: skip
    add("--k", action="append", default=[], metavar="[BITS=]K,K,…", help="distances to measure")
    add("--min-tokens", type=int, default=DEFAULT_MIN_TOKENS)
    add("--no-peers", action="store_true")
    add("--json", type=Path, metavar="FILE", help="write all figures")
    add("--seed", type=int, default=SEED)
    add("--processes", type=int, default=PROCESSES)
    arguments = parser.parse_args(argv)
    runs_dedupe = arguments.kept or arguments.templates
    if not arguments.folders and (arguments.kept or not runs_dedupe):
        parser.error("a page set is needed, or --templates")
    if arguments.dedupe and not runs_dedupe:
        parser.error("--dedupe is for --kept and --templates")
    return arguments


def show_environment(found: dict[str, str], schemes: Sequence[Entry], peers: Sequence[str]) -> None:
    """Print the environment, the schemes and the peers that the figures depend on."""
    for name, value in found.items():
        print(f"{name}: {value}")
    show_schemes(schemes)
    for name in peers:
        peer = PEERS[name]
        print(f"{name}: {peer.description}; {peer.version() or 'not installed'}")


def measure_text(
    text: str,
    page_sets: Sequence[PageSet],
    schemes: Sequence[Entry],
    peers: Sequence[str],
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Fingerprint pages or texts, print the scores, and return them with the report."""
    rows = served_rows(page_sets, schemes, installed(peers), arguments, pages=text == "page")
    heading(f"{text}: what the detector did")
    did = {
        one.name: show_served(one.name, [row.schemes[number] for row in rows])
        for number, one in enumerate(schemes)
    }
    measured = measure(page_sets, schemes, rows, peers)
    return {"served": did, **show(measured, text)}


def main(argv: Sequence[str] | None = None) -> None:
    """Run the measurements that the command line names."""
    arguments = arguments_of(argv)
    report: dict[str, Any] = {"environment": facts(PACKAGES) | {"seed": str(arguments.seed)}}
    if arguments.kept or arguments.templates:
        show_environment(report["environment"], (), ())
        if arguments.kept:
            page_sets = [corpus.load(folder) for folder in arguments.folders]
            heading("sets")
            report["sets"] = show_sets(page_sets)
            report["kept"] = show_kept(page_sets, arguments.dedupe)
        if arguments.templates:
            report["templates"] = show_templates(arguments.seed, arguments.dedupe)
    else:
        judge_verdicts(arguments, report)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", "utf-8")


def judge_verdicts(arguments: argparse.Namespace, report: dict[str, Any]) -> None:
    """Print how well schemes and peers find the pairs of page sets, and add it to the report."""
    schemes = entries(arguments.scheme, arguments.k)
    peers = () if arguments.no_peers else tuple(PEERS)
    show_environment(report["environment"], schemes, peers)
    page_sets = [corpus.load(folder) for folder in arguments.folders]
    heading("sets")
    report["sets"] = show_sets(page_sets)
    for text in ("page", "truth") if arguments.text == "both" else (arguments.text,):
        report[text] = measure_text(text, page_sets, schemes, peers, arguments)


if __name__ == "__main__":
    main()
