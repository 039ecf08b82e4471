"""Upkeep that is killed at any moment can be repeated. Merged, an index is old or new, no mixture."""

import random
import shutil

import pytest

from scrapy_simhash.index import TablePlan, open_index
from scrapy_simhash.maintenance.check import check
from scrapy_simhash.maintenance.merge import merge
from scrapy_simhash.maintenance.rebuild import rebuild
from scrapy_simhash.maintenance.remove import expire
from tests.index.backends import DATABASE_KINDS
from tests.index.child import K, Scheme
from tests.index.processes import children

from .test_rewriting import content

pytestmark = pytest.mark.thorough

PAGES = 60
SCHEME = Scheme(bits=64)
# So many of its first steps, and some of the others.
KILLS = 16


def pages(seed):
    rng = random.Random(seed)
    known = [random.Random(number).getrandbits(64) for number in range(20)]
    for number in range(PAGES):
        fingerprint = rng.choice(known) ^ (1 << rng.randrange(64))
        yield f"page {seed if number % 3 else 'both'} {number}", fingerprint


def fill(kind, directory, seed):
    with open_index(f"{kind}:{directory}", SCHEME, max_distance=K) as index:
        for key, fingerprint in pages(seed):
            index.confirm(index.observe(key, fingerprint))


class Disk:
    name = "disk"

    def __init__(self, kind, directory):
        self._url = f"{kind}:{directory}"

    def open(self, *, incremental):
        return open_index(self._url, incremental=incremental)


OPERATIONS = {
    "expire": lambda one, _: expire(one, 1 << 31),
    "rebuild": lambda one, _: rebuild(one, TablePlan(64, 6, 2)),
    "merge": merge,
}


@pytest.mark.parametrize("what", OPERATIONS)
@pytest.mark.parametrize("kind", DATABASE_KINDS)
def test_killed_at_any_step_it_can_be_done_again(tmp_path, kind, what):
    first, second = tmp_path / "first", tmp_path / "second"
    fill(kind, first, 1)
    fill(kind, second, 2)
    before = content(Disk(kind, first))
    goal = tmp_path / "goal"
    shutil.copytree(first, goal / "one")
    OPERATIONS[what](goal / "one", second)
    after = content(Disk(kind, goal / "one"))
    rng = random.Random(f"{kind} {what}")
    steps, done = 0, None
    with children() as other:
        moments = iter(range(1, 10_000))
        while done is None:
            step = next(moments)
            one = tmp_path / f"killed {step}" / "one"
            shutil.copytree(first, one)
            directories = [one, second] if what == "merge" else [one]
            worker = other.begin(
                "keep_up",
                task=what,
                kind=kind,
                directories=list(map(str, directories)),
                dies_at=step,
            )
            said = worker.rest()
            done = None if worker.was_killed else step
            assert done is None or said == ["done"]
            steps += worker.was_killed
            assert check(one).problems == []
            found = content(Disk(kind, one))
            some = all(set(one) <= set(all_) for one, all_ in zip(found, before, strict=True))
            assert found in (before, after) or (what == "expire" and some)
            if found != after:
                OPERATIONS[what](one, second)
                assert content(Disk(kind, one)) == after
            databases = [path for path in one.iterdir() if path.is_dir()]
            assert len(databases) <= 2
            shutil.rmtree(one.parent)
            if step > KILLS:
                for _ in range(rng.randrange(40)):
                    next(moments)
    assert steps >= KILLS
