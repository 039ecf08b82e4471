"""A cluster of two workers, one of which is killed in the middle.

``SPARK_RECORDS=200000 make test-spark`` tries more records.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.extras.spark.feed import feed, options_of, said, verdicts_of_dedupe

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("default")]
RECORDS = int(os.environ.get("SPARK_RECORDS", "2000"))
_SETTINGS = {
    "spark.cores.max": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "1g",
    # Nothing begins before both workers take part.
    "spark.scheduler.minRegisteredResourcesRatio": "1",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "10min",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
}
_PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from scrapy_simhash.extras.spark import duplicates
from tests.extras.spark.feed import options_of, said_by_spark
master, feed, work, out = sys.argv[1:]
spark = SparkSession.builder.master(master).getOrCreate()
frame = spark.read.schema("n long, url string, title string, text string").json(feed)
options = options_of()
found = duplicates(frame.repartition(16), options, order="n", work=work)
rows = found.orderBy("position").toLocalIterator()
with open(out, "w") as file:
    file.writelines(json.dumps(said_by_spark(row)) + "\\n" for row in rows)
"""


class Cluster:
    """A standalone master with two workers of one core, each in a process group of its own."""

    def __init__(self, home, folder):
        self._home = home
        self._folder = folder
        self._processes = []

    def start(self):
        master = self._started("Master", "--port", "0")
        self.url = self._said(master, r"spark://\S+:\d+")
        self.workers = [
            self._started("Worker", "--cores", "1", "--memory", "1g", self.url) for _ in range(2)
        ]
        for worker in self.workers:
            self._said(worker, "Successfully registered with master")

    def kill(self, process):
        """Kill a process and all that it started."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self):
        for process in self._processes:
            if process.poll() is None:
                self.kill(process)

    def _started(self, role, *arguments):
        number = len(self._processes)
        with self._log(number).open("wb") as log:
            process = subprocess.Popen(
                [
                    self._home / "bin" / "spark-class",
                    f"org.apache.spark.deploy.{role.lower()}.{role}",
                    *("--host", "127.0.0.1", "--webui-port", "0", *arguments),
                ],
                env={**os.environ, "SPARK_WORKER_DIR": str(self._folder / f"worker-{number}")},
                stderr=log,
                stdout=log,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def _log(self, number):
        return self._folder / f"{number}.log"

    def _said(self, process, pattern):
        log = self._log(self._processes.index(process))
        while not (found := re.search(pattern, log.read_text(errors="replace"))):
            assert process.poll() is None, log.read_text(errors="replace")
            time.sleep(0.1)
        return found[0]


@pytest.fixture
def cluster(pyspark, tmp_path):
    made = Cluster(Path(pyspark.__file__).parent, tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.close()


def test_a_worker_that_dies_changes_no_verdict(cluster, tmp_path):
    records = feed(RECORDS * 9 // 10, equal=RECORDS // 20, cluster=RECORDS // 20)
    expected = verdicts_of_dedupe(records, tmp_path, options_of())
    work, out, log = (tmp_path / name for name in ("work", "spark.jsonl", "driver.log"))
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM, encoding="ascii")
    settings = " ".join(f"--conf {name}={value}" for name, value in _SETTINGS.items())
    packages = [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
    environment = {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{settings} pyspark-shell",
        "PYTHONPATH": os.pathsep.join(filter(None, packages)),
    }
    with (
        log.open("wb") as said_by_driver,
        subprocess.Popen(
            [sys.executable, program, cluster.url, tmp_path / "feed.jsonl", work, out],
            env={**os.environ, **environment},
            stderr=said_by_driver,
        ) as driver,
    ):
        # Fingerprints are written: the sort, the search and the decisions are ahead.
        while not (work / "0000" / "_SUCCESS").exists():
            assert driver.poll() is None, log.read_text(errors="replace")
            time.sleep(0.1)
        cluster.kill(cluster.workers[0])
    assert driver.returncode == 0, log.read_text(errors="replace")
    assert "Lost executor" in log.read_text(errors="replace")
    with out.open(encoding="ascii") as file:
        found = [tuple(json.loads(line)) for line in file]
    assert len(found) == len(records)
    assert found == [said(verdict) for verdict in expected]
