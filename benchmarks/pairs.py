"""Measure the search for all pairs within k in a list of fingerprints, beside plain numpy.

A tenth of the fingerprints are planted: 1 to k bits from another one. Each contender runs in a
separate process, on the same fingerprints. Machines are noisy, so compare figures of one run only.

    python benchmarks/pairs.py --fingerprints 1e6 1e7
    python benchmarks/pairs.py --bits 256 --max-distance 36 --fingerprints 1e5 1e6
    python benchmarks/pairs.py --bits 256 --max-distance 52 --certainties --fingerprints 1e5 1e6
    python benchmarks/pairs.py --skew

With --certainties, planted pairs are as far apart as real near-duplicates, and differ in uncertain
bits. The search runs with and without the certainties of the bits.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from pairs_lib.inputs import SKEWED
from pairs_lib.running import CERTAIN, OURS, PLAIN, Task
from pairs_lib.running import main as measure

# CPU seconds of simhash-cpp (C++, 64 bits, k = 3), measured once on a similar machine.
ELSEWHERE = {1_000_000: 1.5, 10_000_000: 40.0}
PACKAGES = ("scrapy-simhash", "numpy")


def main() -> None:
    """Run the contenders that the command line names, and print the tables."""
    arguments = parsed()
    if arguments.child:
        measure(arguments.child)
        return
    for name, value in environment(arguments.seed).items():
        print(f"{name}: {value}")
    results = at_sizes(arguments) if arguments.skew is None else skewed(arguments)
    if arguments.json:
        content = {"environment": environment(arguments.seed), "results": results}
        arguments.json.write_text(json.dumps(content, indent=1), "utf-8")


def parsed() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--fingerprints", nargs="+", type=lambda text: int(float(text)), default=[1_000_000]
    )
    parser.add_argument("--bits", type=int, default=64, help="width; a multiple of 64")
    parser.add_argument("--max-distance", type=int, default=3, metavar="K")
    parser.add_argument("--certainties", action="store_true", help="see above")
    parser.add_argument(
        "--skew", nargs="*", metavar="NAME", help=f"only ours, on skewed input: {', '.join(SKEWED)}"
    )
    parser.add_argument("--repeat", type=int, default=1, help="runs; the fastest counts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def environment(seed: int) -> dict[str, str]:
    """Return the command, the system and the versions that the figures depend on."""
    return {
        "command": " ".join(["python", *sys.argv]),
        "seed": str(seed),
        "system": f"{platform.platform()}, {os.cpu_count()} processors",
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES),
    }


def at_sizes(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure each contender at each size, and print tables. Plain numpy needs 64 bits."""
    contenders = (*OURS, *PLAIN) if arguments.bits == 64 else OURS
    if arguments.certainties:
        contenders = (*CERTAIN, *OURS)
    results = []
    for count in arguments.fingerprints:
        print(f"\n## {count:,} fingerprints, {arguments.bits} bits, k = {arguments.max_distance}\n")
        rows: dict[str, dict[str, Any]] = {}
        for _ in range(arguments.repeat):
            for name in contenders:
                measured = arguments.bits, arguments.max_distance, arguments.seed, count
                task = Task(name, *measured, certainties=arguments.certainties)
                row = run(task)
                if name not in rows or row["wall_s"] < rows[name]["wall_s"]:
                    rows[name] = row
        print_table(list(rows.values()))
        if (arguments.bits, arguments.max_distance) == (64, 3) and count in ELSEWHERE:
            ratio = ELSEWHERE[count] / rows[OURS[0]]["cpu_s"]
            print(f"{'simhash-cpp, measured elsewhere':<36}{ELSEWHERE[count]:>8.2f}{ratio:>7.1f}")
        results += rows.values()
    return results


def skewed(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure ours on each skewed input, and print tables."""
    results = []
    for skew in arguments.skew or SKEWED:
        print(f"\n## {skew}, among 100,000 random fingerprints of {arguments.bits} bits\n")
        rows = [
            run(Task(name, arguments.bits, arguments.max_distance, arguments.seed, skew=skew))
            for name in OURS
        ]
        print_table(rows)
        results += rows
    return results


def run(task: Task) -> dict[str, Any]:
    """Return what a child process measured."""
    child = [sys.executable, __file__, "--child", task.to_json()]
    finished = subprocess.run(child, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(finished.stdout)
    return result


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print a line for each contender. Ratios are to the first contender."""
    ours = rows[0]
    print(
        f"{'contender':<36}{'CPU s':>8}{'ratio':>7}{'wall s':>8}{'ratio':>7}{'RSS MB':>8}  ", end=""
    )
    print("missed of planted; found")
    for row in rows:
        checked = f"{row['missed']} of {row['planted']:,}; " if "missed" in row else ""
        print(
            f"{row['contender']:<36}{row['cpu_s']:>8.2f}{row['cpu_s'] / ours['cpu_s']:>7.1f}"
            f"{row['wall_s']:>8.2f}{row['wall_s'] / ours['wall_s']:>7.1f}"
            f"{row['peak_rss_bytes'] / 1e6:>8,.0f}  {checked}{row['note']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
