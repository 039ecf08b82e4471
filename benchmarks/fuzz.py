"""Process many mutated pages from bytes to verdict, and report exceptions, hangs and crashes.

The pages are from page sets, from folders of ``.html`` files, or generated. Mutations flip bytes,
delete or repeat slices, nest elements, enlarge attributes, and declare wrong encodings. Scrapy
decodes each page, and then it is fingerprinted and looked up in an index. The same seed, number,
folders and options give the same page: ``--only NUMBER`` processes one page and prints the result.

    python benchmarks/fuzz.py [FOLDER…] [--pages 100000] [--seed 1] [--processes 2]

The exit status is 1 if an exception escaped, a page exceeded ``--timeout-ms``, or a process died.
"""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz_lib.report import Report
from fuzz_lib.running import Lost, Plan, run

from scrapy_simhash.index.kinds import default_kind_name
from scrapy_simhash.scheme import PRESETS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzz_lib.checking import Outcome

PACKAGES = (
    *("scrapy-simhash", "scrapy", "lxml", "readability-lxml", "trafilatura", "resiliparse"),
    *("jieba", "rjieba", "plyvel", "rocksdict", "numpy"),
)
_PROGRESS_S = 60.0


def arguments_of(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("folders", nargs="*", type=Path, metavar="FOLDER", help="pages (default: generated)")
    add("--pages", type=int, default=100_000, metavar="N")
    add("--first", type=int, default=0, metavar="NUMBER", help="number of the first page")
    add("--seed", type=int, default=1)
    add("--processes", type=int, default=2)
    add("--timeout-ms", type=float, default=10_000.0, help="a page that takes longer is a hang")
    add("--max-bytes", type=int, default=60_000, help="limit for pages; one in 100 is larger")
    add("--preset", choices=PRESETS, default="wide")
    add("--extractor", help="use another extractor than the preset's")
    add("--index", choices=("leveldb", "rocksdb", "memory"), default=default_kind_name())
    add("--only", type=int, metavar="NUMBER", help="process only this page, in this process")
    add("--keep", type=Path, metavar="FOLDER", help="write the pages that failed to FOLDER")
    return parser.parse_args(argv)


def environment() -> dict[str, str]:
    """Return the command, the system and the versions that the results depend on."""
    installed = {found.name.lower(): found.version for found in metadata.distributions()}
    return {
        "command": shlex.join(["python", *sys.argv]),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": ", ".join(
            f"{name} {installed[name]}" for name in PACKAGES if name in installed
        ),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Process the pages and print the results; return 1 if a page failed, else 0."""
    arguments = arguments_of(argv)
    for name, value in environment().items():
        print(f"{name}: {value}")
    with tempfile.TemporaryDirectory(prefix="scrapy-simhash-fuzz-") as directory:
        plan = Plan(
            folders=tuple(folder.resolve() for folder in arguments.folders),
            seed=arguments.seed,
            max_bytes=arguments.max_bytes,
            preset=arguments.preset,
            extractor=arguments.extractor,
            index=arguments.index,
            directory=Path(directory),
        )
        pages = plan.pages()
        print(f"seed: {plan.seed}; {len(pages):,} pages to mutate", flush=True)
        if arguments.only is not None:
            return take_one(plan, pages, arguments.only, arguments.keep)
        report = Report()
        numbers = range(arguments.first, arguments.first + arguments.pages)
        began = said = time.monotonic()
        for found in run(plan, numbers, arguments.processes, arguments.timeout_ms):
            report.add(found)
            if isinstance(found, Lost) or getattr(found, "escaped", ""):
                show(plan, pages, found, arguments)
            if time.monotonic() - said > _PROGRESS_S:
                said = time.monotonic()
                print(f"… {report.cases:,} pages in {said - began:.0f} s", flush=True)
        print(f"\nwall clock: {time.monotonic() - began:.0f} s, {arguments.processes} processes")
    for line in report.lines():
        print(line)
    return int(report.failed)


def show(
    plan: Plan,
    pages: list[tuple[str, bytes]],
    found: Outcome | Lost,
    arguments: argparse.Namespace,
) -> None:
    """Print what failed, and the command that repeats it."""
    case = plan.case(found.number, pages)
    how = found.how if isinstance(found, Lost) else "an exception escaped"
    print(f"\npage {found.number}: {how}: {'; '.join(case.steps)}; key {case.key[:80]!r}")
    if not isinstance(found, Lost):
        print(found.escaped)
    keep(arguments.keep, found.number, case.body)
    again = [
        *("--seed", str(plan.seed), "--max-bytes", str(plan.max_bytes), "--preset", plan.preset),
        *(("--extractor", plan.extractor) if plan.extractor else ()),
        *("--only", str(found.number), *map(str, plan.folders)),
    ]
    print(f"again: {shlex.join(['python', 'benchmarks/fuzz.py', *again])}\n", flush=True)


def keep(folder: Path | None, number: int, body: bytes) -> None:
    """Write a page to a folder, unless `folder` is None."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{number}.html"
        path.write_bytes(body)
        print(f"written to {path}")


def take_one(plan: Plan, pages: list[tuple[str, bytes]], number: int, folder: Path | None) -> int:
    """Process a page here, without a timeout, and print the result; return 1 on an exception."""
    case = plan.case(number, pages)
    print(f"page {number}: {len(case.body):,} bytes, {case.content_type}: {'; '.join(case.steps)}")
    keep(folder, number, case.body)
    checker = plan.checker(0)
    outcome = checker.check(case)
    checker.close()
    print(outcome.escaped or outcome)
    return int(bool(outcome.escaped))


if __name__ == "__main__":
    sys.exit(main())
