"""De-duplicate a feed with another package: ``python peer.py NAME FEED FOLDER``.

It runs in the package's own environment, so it imports nothing of this project. Each package is
used as its documentation shows. What is kept is written to the folder as the package writes it;
then ``kept.txt`` names it, one URL a line, and CPU and elapsed time up to there are printed.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from itertools import chain, compress, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_BATCH = 5_000
_TEXT_DEDUP = """
[input]
input_type = "local_files"
[input.read_arguments]
path = "json"
data_files = "{feed}"
split = "train"
[algorithm]
algorithm_name = "minhash"
text_column = "text"
num_perm = 240
threshold = 0.7
ngram_size = 5
check_false_positive = true
[output]
output_dir = "{folder}/output"
[debug]
"""


def simhash(feed: Path, folder: Path) -> Callable[[], Iterable[str]]:
    """Words as features, k = 3."""
    from simhash import Simhash, SimhashIndex

    index = SimhashIndex([], k=3)

    def is_new(line: bytes) -> bool:
        record = json.loads(line)
        value = Simhash(record["text"].split())
        if index.get_near_dups(value):
            return False
        index.add(record["url"], value)
        return True

    out = folder / "out.jsonl"
    with feed.open("rb") as lines, out.open("wb") as kept:
        kept.writelines(filter(is_new, lines))
    return lambda: _values(out, "url")


def rensa(feed: Path, folder: Path) -> Callable[[], Iterable[str]]:
    """The deduplicator of its README: sets of words, 128 permutations, threshold 0.8."""
    from rensa import RMinHashDeduplicator

    seen = RMinHashDeduplicator(threshold=0.8, num_perm=128, use_lsh=True)
    out = folder / "out.jsonl"
    with feed.open("rb") as lines, out.open("wb") as kept:
        while some := list(islice(lines, _BATCH)):
            records = map(json.loads, some)
            kept.writelines(
                compress(some, seen.add_pairs((one["url"], one["text"].split()) for one in records))
            )
    return lambda: _values(out, "url")


def text_dedup(feed: Path, folder: Path) -> Callable[[], Iterable[str]]:
    """The settings of its README: MinHash of 5 words, 240 permutations, threshold 0.7, checked."""
    (folder / "config.toml").write_text(
        _TEXT_DEDUP.format(feed=feed, folder=folder), encoding="utf-8"
    )
    subprocess.run(
        [sys.executable, "-m", "text_dedup.minhash"],
        cwd=folder,
        env={**os.environ, "HF_HOME": str(folder / "cache"), "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        check=True,
    )

    def kept() -> Iterable[str]:
        from datasets import load_from_disk

        found: Iterable[str] = load_from_disk(folder / "output")["url"]
        return found

    return kept


def datatrove(feed: Path, folder: Path) -> Callable[[], Iterable[str]]:
    """MinHash by its defaults, in its four steps: 5 words, 14 buckets of 8 hashes."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
    )
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    config = MinhashConfig()
    read = JsonlReader(str(feed.parent), glob_pattern=feed.name, id_key="url")
    signatures, buckets, removed, out = (
        str(folder / name) for name in ("signatures", "buckets", "removed", "output")
    )
    steps: list[tuple[list[Any], int]] = [
        ([read, MinhashDedupSignature(signatures, config=config)], 1),
        ([MinhashDedupBuckets(signatures, buckets, config=config)], config.num_buckets),
        ([MinhashDedupCluster(buckets, removed, config=config)], 1),
        ([read, MinhashDedupFilter(removed), JsonlWriter(out, compression=None)], 1),
    ]
    for number, (pipeline, tasks) in enumerate(steps):
        logs = str(folder / f"logs-{number}")
        LocalPipelineExecutor(pipeline, tasks=tasks, logging_dir=logs).run()
    return lambda: chain.from_iterable(_values(path, "id") for path in Path(out).glob("*.jsonl"))


PEERS: dict[str, Callable[[Path, Path], Callable[[], Iterable[str]]]] = {
    "simhash": simhash,
    "rensa": rensa,
    "text-dedup": text_dedup,
    "datatrove": datatrove,
}


def _values(path: Path, name: str) -> Iterable[str]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)[name]


def main(name: str, feed: str, folder: str) -> None:
    """Run one package."""
    started_s = time.monotonic()
    kept = PEERS[name](Path(feed), Path(folder))
    elapsed_s = time.monotonic() - started_s
    cpu_s = sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    with Path(folder, "kept.txt").open("w", encoding="utf-8") as file:
        file.writelines(f"{url}\n" for url in kept())
    print(json.dumps({"elapsed_s": elapsed_s, "cpu_s": cpu_s}))


if __name__ == "__main__":
    main(*sys.argv[1:])
