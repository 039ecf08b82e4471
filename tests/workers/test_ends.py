"""No worker outlives its parent, however the parent ends."""

import json
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.crawl.harness import child_environment
from tests.workers.watching import DEADLINE_S, eventually, is_gone, needs_proc, state_of

pytestmark = needs_proc

# A script without a `__main__` guard.
SCRIPT = """
import json, os, sys, time
from pathlib import Path
from tests.workers.driving import Driven, start_workers
from tests.workers.watching import arrived

directory = Path(sys.argv[1])
pool = Driven(start_workers(2, timeout_ms=int(sys.argv[2])))
ask = pool.ask

def say(content):
    print(json.dumps(content), flush=True)

"""
READY = "pool.until_ready().answer()\nsay(pool.pids)\n"
AT_WORK = """
pool.meet(2, directory / "meeting")  # none of them has to start when it gets its page
pages = [ask(f"{order} {directory}") for _ in range(9)]
pool.until(lambda: len(arrived(directory)) == 2)
say(sorted(arrived(directory)))
"""
FOREVER = "time.sleep(3600)\n"


@contextmanager
def script(directory, code, timeout_ms=60_000):
    """Run the script with some code; killed when the block ends."""
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT + code, str(directory), str(timeout_ms)],
        env=child_environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def heard(process):
    line = process.stdout.readline()
    assert line, "it said nothing"
    return json.loads(line)


def test_idle_workers_end_with_a_parent_that_is_killed(tmp_path):
    with script(tmp_path, READY + FOREVER) as parent:
        workers = heard(parent)
        assert all(map(state_of, workers))
        parent.kill()
        parent.wait()
        eventually(lambda: all(map(is_gone, workers)))


@pytest.mark.thorough
@pytest.mark.parametrize("order", ["arrive", "arrive_holding"])
def test_workers_that_hang_end_soon_after_a_parent_that_is_killed(tmp_path, order):
    """They do not notice the death."""
    timeout_ms = 2000
    with script(tmp_path, f"order = {order!r}" + AT_WORK + FOREVER, timeout_ms) as parent:
        workers = heard(parent)
        parent.kill()
        parent.wait()
        # As in ``scrapy crawl | head``: the reader of the parent's output does not wait for workers.
        assert parent.stdout.read() == ""
        assert all(map(state_of, workers))
        eventually(lambda: all(map(is_gone, workers)), deadline_s=timeout_ms / 1000 + 10)


@pytest.mark.parametrize(
    "end", ["", pytest.param("raise RuntimeError('of the script')", marks=pytest.mark.thorough)]
)
def test_a_parent_that_closes_nothing_ends_at_once_with_its_workers(tmp_path, end):
    """The time limit of a minute does not end them."""
    with script(tmp_path, "order = 'arrive_holding'" + AT_WORK + end + "\n") as parent:
        workers = heard(parent)
        parent.wait(20)
        eventually(lambda: all(map(is_gone, workers)), deadline_s=10)


def test_the_end_of_a_fork_of_the_parent_is_not_its_own(tmp_path):
    code = """
working = [ask(f"meet {directory}") for _ in range(2)]
pool.until(lambda: len(arrived(directory)) == 2)
waiting = ask(number=1)
waiting.add_done_callback(lambda _: (directory / f"done-in-{os.getpid()}").touch())
child = os.fork()
if not child:
    sys.exit(4)
say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
(directory / "go").touch()
say([page.skipped for page in pool.results(*working, waiting)])
say(pool.replaced)
pool.close()
"""
    with script(tmp_path, READY + code) as parent:
        workers = heard(parent)
        assert [heard(parent) for _ in range(3)] == [4, [None] * 3, 0]
        assert parent.wait(DEADLINE_S) == 0
        assert all(map(is_gone, workers))
        assert [path.name for path in tmp_path.glob("done-*")] == [f"done-in-{parent.pid}"]
