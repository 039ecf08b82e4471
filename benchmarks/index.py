"""Measure queries and inserts of the index beside its peers: speed, memory, disk and recall.

Each contestant runs in a separate process. For each size, the last tenth of the pages (at most
45,000 new pages) is measured page by page: look up near pages, and insert the page if there are
none. One page in ten is planted near an earlier one. Compare figures of one run only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from common import facts
from index_lib.running import SCHEMES, Task
from index_lib.running import main as run_contestant

PACKAGES = "scrapy-simhash plyvel rocksdict redis numpy simhash faiss-cpu gaoya".split()


def main() -> None:
    """Run the contestants that the command line names, and print the tables."""
    arguments = parsed()
    if arguments.child:
        run_contestant(arguments.child)
        return
    for name, value in facts(PACKAGES).items():
        print(f"{name}: {value}")
    results: list[dict[str, Any]] = []
    for scheme in arguments.schemes:
        print(f"\n## {scheme}\n", flush=True)
        for name in arguments.contestants or SCHEMES[scheme][3]:
            if name in SCHEMES[scheme][3]:
                results += run(scheme, name, arguments)
        print_table([result for result in results if result["scheme"] == scheme])
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"environment": facts(PACKAGES), "results": results}, indent=1), "utf-8"
        )


def parsed() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=["classic"])
    parser.add_argument("--sizes", nargs="+", type=lambda text: int(float(text)), default=[100_000])
    parser.add_argument("--contestants", nargs="+", metavar="NAME", help="default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit-s", type=float, default=20.0, help="time limit of a measured part")
    parser.add_argument(
        "--unrelated-bits",
        type=float,
        metavar="D",
        help="bits in which unrelated fingerprints differ on average (default: half of the bits). "
        "For texts in English, 98 of 256 and 23.5 of 64 bits differ",
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    most = min(SCHEMES[scheme][0] for scheme in arguments.schemes) / 2
    if arguments.unrelated_bits is not None and not 1 <= arguments.unrelated_bits <= most:
        parser.error(f"--unrelated-bits: 1 to {most:g}, half of the bits, is needed")
    return arguments


def run(scheme: str, name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the results of a contestant, one for each size; or one with the reason (`missing`)."""
    measured = arguments.sizes, arguments.seed, arguments.limit_s, arguments.unrelated_bits
    child = [sys.executable, __file__, "--child", json.dumps(Task(scheme, name, *measured))]
    finished = subprocess.run(child, stdout=subprocess.PIPE, text=True, check=False)
    lines = [json.loads(line) for line in finished.stdout.splitlines()]
    common = {"scheme": scheme, "name": name}
    if finished.returncode:
        return [{**common, "missing": f"it ended with {finished.returncode}"}]
    if "missing" in lines[0]:
        return [{**common, **lines[0]}]
    *results, disk = lines
    if results:
        results[-1].update(disk)
    return [{**common, **result} for result in results]


def print_table(results: list[dict[str, Any]]) -> None:
    """Print a row for each contestant and size. Ratios are to our index at the same size."""
    ours = {r["size"]: r for r in results if r["name"] == "ours" and "size" in r}
    print(
        f"{'contestant':<30}{'size':>11}{'pages/s':>9}{'ours by its':>12}{'CPU µs':>9}{'p50 µs':>9}"
        f"{'p99 µs':>9}{'RSS MB':>8}{'not files':>10}{'written':>9}  recall by distance"
    )
    for result in results:
        if "missing" in result:
            print(f"{result['name']:<30} not run: {result['missing']}")
            continue
        base = ours.get(result["size"])
        ratio = f"{result['cpu_us'] / base['cpu_us']:.2f}" if base else "–"
        recall = " ".join(f"{d}:{share:.3f}" for d, share in result["recall"].items())
        on_disk = "disk" if result["name"].startswith("ours") else ""
        written = f"{result['written_bytes'] / result['size']:.0f} B" if on_disk else "–"
        print(
            f"{result['name']:<30}{result['size']:>11,}{1e6 / result['cpu_us']:>9,.0f}{ratio:>12}"
            f"{result['cpu_us']:>9.1f}{result['p50_us']:>9.1f}{result['p99_us']:>9.1f}"
            f"{result['rss_bytes'] / 1e6:>8,.0f}{result['anonymous_bytes'] / 1e6:>10,.0f}"
            f"{written:>9}  {recall or '–'}"
            + (f", {result['wrong']} wrong" if result["wrong"] else "")
        )
    for result in results:
        if "server_bytes" in result:
            print(
                f"{result['name']} at {result['size']:,}: {result['server_bytes']:.0f} bytes of "
                "the server's memory per page"
            )
        if "file_bytes" in result:
            print(
                f"{result['name']} at {result['size']:,}: {result['file_bytes']:.1f} bytes "
                f"of files per page: {result['table_bytes']:.1f} of tables, "
                f"{result['entry_bytes']:.1f} of its entry and {result['page_key_bytes']:.1f} of "
                f"its key; closed in {result['close_s']:.2f} s, "
                f"opened in {result['open_s']:.2f} s"
            )


if __name__ == "__main__":
    main()
