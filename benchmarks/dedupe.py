"""Measure `dedupe` on a generated feed: records per second with one worker and with two, memory of
all processes, recall and precision on planted near-duplicates; and peers on a part of the feed.

    python benchmarks/dedupe.py [--records 1e6] [--words 220] [--html] [--repeat N] [--json FILE]
    python benchmarks/dedupe.py --records 1e5 --peer-records 1e5 --peers rensa=VENV/bin/python
    python benchmarks/dedupe.py --in-turns [--records 1e6] [--words 480]

A million records need 2 GB in the temporary directory and half an hour. If other programs use the
machine, trust the run with the least CPU time of others (--repeat, --wait-s). If the speed of the
machine changes from minute to minute, use --in-turns: in one run, one worker and two take turns.

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
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from crawl_lib.processes import MemorySampler, children_cpu_s, machine_cpu_s
from dedupe_lib.feed import score, write_feed
from dedupe_lib.peer import PEERS
from dedupe_lib.peers import parsed, run_peer

PACKAGES = ("scrapy-simhash", "numpy", "plyvel", "xxhash")
# The share of all processors that other programs may use when a run begins.
_QUIET_SHARE = 0.05
_LOOK_S = 2.0


def main() -> None:
    """Run the measurements that the command line names."""
    options = _options()
    count = int(options.records)
    with tempfile.TemporaryDirectory(prefix="dedupe-benchmark-") as folder:
        feed = Path(folder, "feed.jsonl")
        write_feed(feed, count, words=options.words, html=options.html, seed=options.seed)
        report: dict[str, Any] = {
            "command": shlex.join([Path(sys.executable).name, *sys.argv]),
            "seed": options.seed,
            "python": platform.python_version(),
            "processors": os.cpu_count(),
            "packages": {name: _version(name) for name in PACKAGES},
            "records": count,
            "bytes_per_record": feed.stat().st_size / count,
            "runs": [],
        }
        print(json.dumps(report, indent=2), flush=True)
        if options.in_turns:
            from dedupe_lib.turns import in_turns

            report["in_turns"] = in_turns(feed, max(options.workers), jobs=options.turn_jobs)
            _print_turns(report["in_turns"])
            options.repeat = options.peer_records = 0
        for _ in range(options.repeat):
            for workers in options.workers:
                _wait_until_quiet(options.wait_s)
                run = _run(feed, workers, count)
                report["runs"].append(run)
                print(_line(run), flush=True)
        if report["runs"]:
            report["ratios"] = _ratios(report["runs"])
            print("ratios", json.dumps(report["ratios"]))
        if options.peer_records and not options.html:
            report["peers"] = {}
            for name, python in options.peers:
                _wait_until_quiet(options.wait_s)
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


def _wait_until_quiet(at_most_s: float) -> None:
    deadline_s = time.monotonic() + at_most_s
    while time.monotonic() < deadline_s:
        before_s = machine_cpu_s()
        time.sleep(_LOOK_S)
        if machine_cpu_s() - before_s < _QUIET_SHARE * _LOOK_S * (os.cpu_count() or 1):
            return


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


def _print_turns(turns: dict[str, Any]) -> None:
    parts = {f"part {at}": part for at, part in enumerate(turns["parts"], 1)}
    for name, part in {**parts, "all": turns["whole"]}.items():
        print(
            f"{name}: {part['alone_us']:,.0f} µs a record with one worker, "
            f"{part['together_us']:,.0f} with more: {part['ratio']:.2f} times as fast"
        )
    print(
        f"writing: {turns['rest_us']:,.0f} µs a record; with it, "
        f"{turns['ratio_with_the_rest']:.2f} times as fast; the host of the machine took "
        f"{turns['stolen_share']:.0%} of its processors"
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=float, default=1e6)
    parser.add_argument("--words", type=int, default=220, help="about so many words in a text")
    parser.add_argument("--html", action="store_true", help="generate pages instead of texts")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--in-turns", action="store_true", help="only one run: one worker and more take turns"
    )
    parser.add_argument("--turn-jobs", type=int, default=300, help="jobs (some records) in a turn")
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
    for name, least in (("records", 100), ("words", 10), ("turn_jobs", 2), ("repeat", 1)):
        if not least <= getattr(options, name) < math.inf:
            parser.error(f"--{name.replace('_', '-')}: {least} or more is needed")
    if min(options.workers) < 1 or (options.in_turns and max(options.workers) == 1):
        parser.error("--workers: 1 or more are needed, and 2 or more for --in-turns")
    return options


if __name__ == "__main__":
    main()
