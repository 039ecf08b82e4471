"""What a whole process takes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.thorough

CODE = """
import json, resource, sys
import numpy as np
from scrapy_simhash import cluster, near_pairs
count, what = int(sys.argv[1]), sys.argv[2]
words = np.random.default_rng(1).integers(0, 2**64, count, dtype=np.uint64)
words[: count // 10] = words[-(count // 10) :] ^ np.uint64(0b101)
if what == "pairs":
    found = sum(len(batch.first) for batch in near_pairs(words, bits=64, max_distance=3))
else:
    found = cluster(words, bits=64, max_distance=3, method=what).near_duplicate_count
print(json.dumps([found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
"""


def measured(count, what):
    command = [sys.executable, "-c", CODE, str(count), what]
    child = subprocess.run(command, capture_output=True, text=True)
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="kilobytes, on Linux")
@pytest.mark.parametrize(
    ("what", "most_bytes"), [("pairs", 60), ("leader", 100), ("connected", 110)]
)
def test_a_million_take_a_few_times_what_they_are(what, most_bytes):
    _, base_bytes = measured(20_000, what)
    found, peak_bytes = measured(1_000_000, what)
    assert found == 100_000
    # 8 bytes each are the fingerprints; 2 GB for 10 million would be 200 bytes each.
    assert (peak_bytes - base_bytes) / 1_000_000 < most_bytes
