"""Children forked from a process that has imported Scrapy behave as ``python -m`` does."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.crawl.forking import ROOT, Forking

pytestmark = pytest.mark.thorough

CHILD = """
import atexit, os, random, sys
atexit.register(print, "ended")
print(sys.argv[1:], os.getcwd(), os.environ.get("WORD"), "scrapy" in sys.modules, __name__)
print("scrapy_simhash" in sys.modules, "twisted.internet.reactor" in sys.modules)
print(random.getrandbits(64), file=sys.stderr)
if sys.argv[1] == "stay":
    import time
    time.sleep(600)
if sys.argv[1] == "die":
    os.kill(os.getpid(), 9)
sys.exit(int(sys.argv[1]) if sys.argv[1].isdecimal() else sys.argv[1])
"""


@pytest.fixture(scope="module")
def forking():
    forking = Forking()
    yield forking
    forking.end()


@pytest.fixture
def run(forking, tmp_path):
    (tmp_path / "childs_module.py").write_text(CHILD)

    def run_it(argument, timeout_s=60):
        output = tmp_path / "output"
        code = forking.run(
            "childs_module",
            argument,
            directory=tmp_path,
            environment={**os.environ, "WORD": argument, "PYTHONPATH": str(ROOT)},
            output=output,
            timeout_s=timeout_s,
        )
        return code, output.read_text().splitlines()

    return run_it


def test_a_child_is_as_a_module_that_python_runs(run, tmp_path):
    for code in (0, 3):
        ended, said = run(str(code))
        assert ended == code
        assert f"['{code}'] {tmp_path} {code} True __main__" in said
        # Without an option, the forking process imports neither the project nor a reactor.
        assert "False False" in said
        assert said[-1] == "ended"
    assert not os.environ.get("WORD")
    code, said = run("a text")
    assert code == 1
    assert "a text" in said


def test_children_do_not_share_their_random_numbers(run):
    numbers = [next(line for line in run("0")[1] if line.isdecimal()) for _ in range(2)]
    assert len(set(numbers)) == 2


def test_one_that_dies_and_one_that_stays_do_not_end_the_others(run):
    assert run("die")[0] == -9
    assert run("0")[0] == 0
    with pytest.raises(subprocess.TimeoutExpired):
        run("stay", timeout_s=5)
    assert run("0")[0] == 0
