"""Measure `dedupe` on a generated feed: records per second with one worker and with two, memory of
all processes, recall and precision on planted near-duplicates; and peers on a part of the feed.

    python benchmarks/dedupe.py [--records 1e6] [--words 220] [--html] [--repeat N] [--json FILE]
    python benchmarks/dedupe.py --records 1e5 --peer-records 1e5 --peers rensa=VENV/bin/python

A million records need 2 GB in the temporary directory and half an hour. If other programs use the
machine, trust the run with the least CPU time of others (--repeat, --wait-s).

Peers are simhash, rensa, text-dedup 0.4.1 (from its repository: 0.4.0 on PyPI has other options)
and datatrove (which also needs spacy and regex). They need different versions of the same packages,
so each may have its own environment. All read the same file and write the records that they keep. A
peer that is not installed is skipped.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import facts
from crawl_lib.processes import MemorySampler, children_cpu_s, machine_cpu_s, wait_until_idle
from dedupe_lib.feed import score, write_feed
from dedupe_lib.peer import PEERS
from dedupe_lib.peers import parsed, run_peer

PACKAGES = ("scrapy-simhash", "numpy", "plyvel", "xxhash")


def main() -> None:
    """Run the measurements that the command line names."""
    options = _options()
    count = int(options.records)
    with tempfile.TemporaryDirectory(prefix="dedupe-benchmark-") as folder:
        feed = Path(folder, "feed.jsonl")
        write_feed(feed, count, words=options.words, html=options.html, seed=options.seed)
        report: dict[str, Any] = {
            **facts(PACKAGES),
            "seed": options.seed,
            "processors": os.cpu_count(),
            "records": count,
            "bytes_per_record": feed.stat().st_size / count,
            "runs": [],
        }
        print(json.dumps(report, indent=2), flush=True)
        for _ in range(options.repeat):
            for workers in options.workers:
                wait_until_idle(time.monotonic() + options.wait_s)
                run = _run(feed, workers, count)
                report["runs"].append(run)
                print(_line(run), flush=True)
        report["ratios"] = _ratios(report["runs"])
        print("ratios", json.dumps(report["ratios"]))
        if options.peer_records and not options.html:
            report["peers"] = {}
            for name, python in options.peers:
                wait_until_idle(time.monotonic() + options.wait_s)
                found = run_peer(name, python, feed, min(count, int(options.peer_records)))
                report["peers"][name] = found
                print(_peer_line(name, found), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="ascii")


def _run(feed: Path, workers: int, count: int) -> dict[str, Any]:
    out, verdicts = feed.with_name("out.jsonl"), feed.with_name("verdicts.jsonl")
    arguments = [str(feed), "-o", str(out), "--verdicts", str(verdicts), "--overwrite", "--json"]
    busy_s, own_s, started_s = machine_cpu_s(), children_cpu_s(), time.monotonic()
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "scrapy_simhash", "dedupe", *arguments),
            *("--workers", str(workers)),
        ],
        stdout=subprocess.PIPE,
    ) as process:
        sampler = MemorySampler(process.pid)
        sampler.start()
        summary, _ = process.communicate()
        elapsed_s = time.monotonic() - started_s
        peak_bytes = sampler.end()
    if process.returncode:
        raise SystemExit(f"dedupe ended with {process.returncode}")
    cpu_s = children_cpu_s() - own_s
    others_s = max(0.0, machine_cpu_s() - busy_s - cpu_s)
    return {
        "workers": workers,
        "elapsed_s": elapsed_s,
        "records_per_s": count / elapsed_s,
        "cpu_s": cpu_s,
        "others_share": others_s / elapsed_s / (os.cpu_count() or 1),
        "peak_memory_bytes": peak_bytes,
        "kept": json.loads(summary)["kept"],
        **score(feed, verdicts),
    }


def _ratios(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Return, for each number of workers, its highest speed divided by that of the first number."""
    best: dict[int, float] = {}
    for run in runs:
        best[run["workers"]] = max(best.get(run["workers"], 0.0), run["records_per_s"])
    first = next(iter(best.values()))
    return {f"{workers} workers": speed / first for workers, speed in best.items()}


def _line(run: dict[str, Any]) -> str:
    return (
        f"{run['workers']} workers: {run['records_per_s']:,.0f} records/s, "
        f"{run['elapsed_s']:,.1f} s, CPU {run['cpu_s']:,.1f} s, others "
        f"{run['others_share']:.0%} of the machine, peak {run['peak_memory_bytes'] / 1e6:,.0f} MB, "
        f"kept {run['kept']:,}, recall {run['recall']:.4f}, precision {run['precision']:.4f}"
    )


def _peer_line(name: str, found: dict[str, Any]) -> str:
    if "skipped" in found:
        return f"{name} was skipped: {found['skipped']}"
    return (
        f"{name} {found['version']}: {found['records_per_cpu_s']:,.0f} records per second of CPU, "
        f"{found['elapsed_s']:,.1f} s, peak {found['peak_memory_bytes'] / 1e6:,.0f} MB, "
        f"recall {found['recall']:.4f}, precision {found['precision']:.4f}"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=float, default=1e6)
    parser.add_argument("--words", type=int, default=220, help="about so many words in a text")
    parser.add_argument("--html", action="store_true", help="generate pages instead of texts")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument(
        "--wait-s", type=float, default=0.0, help="most to wait for an idle machine"
    )
    parser.add_argument("--peer-records", type=float, default=2e4, help="for peers; 0: no peers")
    parser.add_argument(
        "--peers",
        type=parsed,
        nargs="+",
        default=[(name, sys.executable) for name in PEERS],
        metavar="PACKAGE[=PYTHON]",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    for name, least in (("records", 100), ("words", 10), ("repeat", 1)):
        if not least <= getattr(options, name) < math.inf:
            parser.error(f"--{name.replace('_', '-')}: {least} or more is needed")
    if min(options.workers) < 1:
        parser.error("--workers: 1 or more are needed")
    return options


if __name__ == "__main__":
    main()
