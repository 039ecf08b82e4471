"""Compare verdicts in Spark and in one process, on the same generated fingerprints: time, CPU time,
memory, bytes that Spark shuffles and writes, and the number of different verdicts.

    python benchmarks/spark.py [--records 1e6] [--master local[2]] [--json FILE]

A tenth of the fingerprints are near-duplicates of earlier ones, at distances of 4 to 52 bits. They
are first written to ``--work``, which all machines of a cluster must share. A million need 4 GB
there, and ten minutes. Needs ``pip install "scrapy-simhash[spark]"`` and Java.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from crawl_lib.processes import MemorySampler, children_cpu_s, machine_cpu_s
from index_lib.stream import NEW_PER_PLANTED, stream

from scrapy_simhash.dedupe.options import DedupeOptions
from scrapy_simhash.evidence import encode_evidence
from scrapy_simhash.scheme import preset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DISTANCES = [4, 12, 20, 28, 36, 44, 52]
_BATCH = 20_000
_FINGERPRINT = pa.struct(
    [
        ("key", pa.string()),
        ("fingerprint", pa.binary()),
        ("certainty", pa.binary()),
        ("evidence", pa.binary()),
        ("reason", pa.string()),
    ]
)
_ROWS = pa.schema([("n", pa.int64()), ("simhash", _FINGERPRINT)])
_METRICS = {
    "shuffle_bytes": "internal.metrics.shuffle.write.bytesWritten",
    "written_bytes": "internal.metrics.output.bytesWritten",
    "spilled_bytes": "internal.metrics.diskBytesSpilled",
}


def main() -> None:
    """Run Spark and one process, compare the verdicts, and print the figures."""
    options = _options()
    count = int(options.records)
    report: dict[str, Any] = {
        "command": shlex.join([Path(sys.executable).name, *sys.argv]),
        "seed": options.seed,
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "packages": {name: version(name) for name in ("scrapy-simhash", "pyspark", "numpy")},
        "records": count,
    }
    print(json.dumps(report, indent=2), flush=True)
    with tempfile.TemporaryDirectory(prefix="spark-benchmark-", dir=options.work) as name:
        folder = Path(name).absolute()
        _write(folder, count, options.seed, options.unrelated_bits)
        report["spark"] = _measured(in_spark, folder, options.master, options.conf)
        print(_line("Spark", report["spark"], count), flush=True)
        report["one process"] = _measured(in_one_process, folder)
        print(_line("one process", report["one process"], count))
        report |= _compared(folder)
    print(
        f"near-duplicates: {report['near_duplicates']:,}; verdicts that are different: "
        f"{report['different_verdicts']:,}"
    )
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="ascii")


def _write(folder: Path, count: int, seed: int, unrelated_bits: float | None) -> None:
    """Write fingerprints as `scrapy_simhash.spark.fingerprints` returns them, without texts."""
    new = -(-count * NEW_PER_PLANTED // (NEW_PER_PLANTED + 1)) + 1
    pages = stream(256, DISTANCES, seed, 0, new, unrelated_bits=unrelated_bits, evidence=True)
    rows: list[dict[str, Any]] = []
    with pq.ParquetWriter(folder / "fingerprints.parquet", _ROWS) as file:
        for number, page in zip(range(count), pages, strict=False):
            evidence = page.evidence
            assert evidence is not None
            made = {
                "key": f"https://example.com/articles/{number}",
                "fingerprint": page.fingerprint.to_bytes(32, "big"),
                "certainty": evidence.certainty,
                "evidence": encode_evidence(evidence._replace(certainty=b"")),
            }
            rows.append({"n": number, "simhash": made})
            if len(rows) == _BATCH or number == count - 1:
                file.write_table(pa.Table.from_pylist(rows, _ROWS))
                rows.clear()


def in_spark(folder: Path, master: str, settings: list[str]) -> dict[str, Any]:
    """Write the verdicts of Spark, and return CPU time and shuffled bytes."""
    from pyspark.sql import SparkSession

    from scrapy_simhash.spark import duplicates

    os.environ["PYSPARK_PYTHON"] = sys.executable
    log = folder / "events"
    log.mkdir()
    chosen = {
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        **dict(setting.split("=", 1) for setting in settings),
    }
    builder = SparkSession.builder.master(master)
    for name, value in chosen.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    url = folder.as_uri()
    frame = spark.read.parquet(f"{url}/fingerprints.parquet")
    found = duplicates(frame, _dedupe_options(), order="n", work=f"{url}/work")
    found.select("n", "kind", "representative").write.parquet(f"{url}/verdicts")
    cpu_s = time.process_time() + children_cpu_s()  # with the Java process of a local master
    spark.stop()
    return {"cpu_s": cpu_s, **_shuffled(log)}


def _shuffled(log: Path) -> dict[str, float]:
    """Return the bytes that all stages shuffled, wrote and spilled, and the largest shuffle."""
    totals = dict.fromkeys(_METRICS, 0)
    most = 0
    [path] = log.iterdir()
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if '"SparkListenerStageCompleted"' not in line:
                continue
            values = {
                one["Name"]: int(one["Value"])
                for one in json.loads(line)["Stage Info"]["Accumulables"]
                if one["Name"] in _METRICS.values()
            }
            for name, metric in _METRICS.items():
                totals[name] += values.get(metric, 0)
            most = max(most, values.get(_METRICS["shuffle_bytes"], 0))
    return {**totals, "largest_shuffle_bytes": most}


def in_one_process(folder: Path) -> dict[str, Any]:
    """Write the verdicts that `dedupe` has for these fingerprints, and return the CPU time."""
    from scrapy_simhash.dedupe.judging import Judge
    from scrapy_simhash.dedupe.state import State
    from scrapy_simhash.index import index_url, open_index

    options = _dedupe_options()
    with State(folder / "state") as state:
        state.begin({})
        index = open_index(
            index_url(state.index),
            options.scheme,
            max_distance=options.max_distance,
            expected_pages=options.expected_records,
            sync="no",
        )
        judge = Judge(state, index, options, state.checkpoint(), {})
        for record in _read(folder):
            judge.add(record)
        judge.finish()
        cpu_s = time.process_time()
        with (folder / "verdicts.jsonl").open("wb") as file:
            file.writelines(state.verdict_lines())
    return {"cpu_s": cpu_s}


def _read(folder: Path) -> Iterator[Any]:
    from scrapy_simhash.dedupe.fingerprinting import Fingerprinted
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.evidence import decode_evidence

    with pq.ParquetFile(folder / "fingerprints.parquet") as file:
        for batch in file.iter_batches(_BATCH, columns=["simhash"]):
            for row in batch.column(0).to_pylist():
                evidence = decode_evidence(row["evidence"])._replace(certainty=row["certainty"])
                fingerprint = int.from_bytes(row["fingerprint"], "big")
                yield Fingerprinted(
                    row["key"], PageFingerprint(fingerprint=fingerprint, evidence=evidence)
                )


def _dedupe_options() -> DedupeOptions:
    wide = preset("wide")
    return DedupeOptions(scheme=wide.scheme, max_distance=wide.max_distance)


def _measured(part: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Run a function in a separate process, and return its result with time and memory."""
    busy_s, started_s = machine_cpu_s(), time.monotonic()
    sampler = MemorySampler(os.getpid())
    sampler.start()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        found = process.submit(part, *arguments).result()
    elapsed_s = time.monotonic() - started_s
    others_s = max(0.0, machine_cpu_s() - busy_s - found["cpu_s"])
    return {
        "elapsed_s": elapsed_s,
        "others_share": others_s / elapsed_s / (os.cpu_count() or 1),
        "peak_memory_bytes": sampler.end(),
        **found,
    }


def _compared(folder: Path) -> dict[str, int]:
    rows = pq.read_table(folder / "verdicts").sort_by("n")
    kinds, representatives = (rows.column(name) for name in ("kind", "representative"))
    found = different = 0
    with (folder / "verdicts.jsonl").open(encoding="ascii") as lines:
        for line, kind, representative in zip(lines, kinds, representatives, strict=True):
            verdict = json.loads(line)
            found += verdict["kind"] == "near-duplicate"
            said = (kind.as_py(), representative.as_py())
            different += said != (verdict["kind"], verdict["representative"])
    return {"near_duplicates": found, "different_verdicts": different}


def _line(name: str, run: dict[str, Any], count: int) -> str:
    line = (
        f"{name}: {run['elapsed_s']:,.0f} s, CPU {run['cpu_s']:,.0f} s, "
        f"{run['cpu_s'] / count * 1e6:,.0f} µs a record, others {run['others_share']:.0%} of the "
        f"machine, peak {run['peak_memory_bytes'] / 1e6:,.0f} MB"
    )
    if "shuffle_bytes" in run:
        shuffled, largest, written, spilled = (
            run[f"{what}_bytes"] / count
            for what in ("shuffle", "largest_shuffle", "written", "spilled")
        )
        line += (
            f"; bytes a record: shuffled {shuffled:,.0f} (the largest shuffle {largest:,.0f}), "
            f"written {written:,.0f}, spilled {spilled:,.0f}"
        )
    return line


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=float, default=1e6)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="a setting of Spark"
    )
    parser.add_argument("--unrelated-bits", type=float, help="see benchmarks/index.py --help")
    parser.add_argument("--work", type=Path, help="folder for all files (default: TMPDIR)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    if not 100 <= options.records < float("inf"):
        parser.error("--records: 100 or more are needed")
    return options


if __name__ == "__main__":
    main()
