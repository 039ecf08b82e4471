"""Another worker starts while pages wait and a core is idle; it ends when none has waited."""

import os

import pytest

from scrapy_simhash.workers import need as need_module
from scrapy_simhash.workers.need import Need, available_cores
from tests.crawl.worker_extractors import GO
from tests.workers.driving import fingerprint_of
from tests.workers.watching import is_gone, needs_proc


@pytest.mark.parametrize(
    ("waits", "idle_cores", "numbers"),
    [(True, 0.5, [1, 2, 3]), (True, 0.1, [1]), (True, 0.0, [1]), (False, 2.0, [1])],
)
def test_workers_grow_while_pages_wait_and_a_core_is_idle(monkeypatch, waits, idle_cores, numbers):
    need, now_s = Need(1, 3), 0.0
    monkeypatch.setattr(need_module, "idle_core_s", lambda: idle_cores * now_s)
    seen = {need.workers: None}
    for _ in range(200):
        now_s += 0.1
        need.update(now_s, waits=waits, ready=True)
        seen[need.workers] = None
    assert list(seen) == numbers


@pytest.fixture
def cgroup(monkeypatch, tmp_path):
    """Return a function that puts this process into a cgroup with quotas, on eight cores."""
    monkeypatch.setattr(os, "process_cpu_count", lambda: 8, raising=False)
    monkeypatch.setattr(need_module, "_CGROUPS", tmp_path)
    monkeypatch.setattr(need_module, "_OWN_CGROUP", tmp_path / "cgroup")

    def make(own, quotas):
        (tmp_path / "cgroup").write_text(own)
        for name, quota in quotas.items():
            (tmp_path / name).mkdir(parents=True, exist_ok=True)
            (tmp_path / name / "cpu.max").write_text(quota)

    return make


@pytest.mark.parametrize(
    ("own", "quotas", "cores"),
    [
        ("0::/\n", {}, 8),
        ("0::/\n", {".": "max 100000\n"}, 8),
        ("0::/\n", {".": "250000 100000\n"}, 2),
        ("0::/\n", {".": "50000 100000\n"}, 1),
        ("0::/a/b\n", {"a/b": "max 100000", "a": "300000 100000"}, 3),
        ("0::/a/b\n", {"a/b": "100000 100000", "a": "300000 100000"}, 1),
        # The path of the host, in a container without a namespace of its own.
        ("1:cpu:/x\n0::/docker/id\n", {".": "400000 100000"}, 4),
        ("", {}, 8),
        ("0::/\n", {".": "damaged"}, 8),
    ],
)
def test_the_quota_of_a_cgroup_limits_the_cores(cgroup, own, quotas, cores):
    cgroup(own, quotas)
    assert available_cores() == cores


@needs_proc
def test_a_pool_has_the_workers_that_it_needs(start_pool, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "process_cpu_count", lambda: 2, raising=False)
    monkeypatch.setattr(need_module, "_OWN_CGROUP", tmp_path / "missing")
    monkeypatch.setattr(need_module, "_CPU_TIMES", tmp_path / "missing")
    monkeypatch.setattr(need_module, "_UNNEEDED_S", 0.5)
    pool = start_pool(None).until_ready()
    [first] = pool.pids
    pages = [pool.ask(f"meet {tmp_path}", number) for number in range(9)]
    pool.until(lambda: len(pool.pids) == 2)
    pool.until_ready()
    pool.until(lambda: len(list(tmp_path.iterdir())) == 2)
    workers = pool.pids
    (tmp_path / GO).touch()
    found = [page.fingerprint for page in pool.results(*pages)]
    assert found == [*map(fingerprint_of, range(9))]
    pool.until(lambda: len(pool.pids) == 1)
    [ended] = set(workers) - set(pool.pids)
    assert is_gone(ended)
    assert first in workers
    assert pool.answer(number=1).fingerprint == fingerprint_of(1)
    assert pool.replaced == 0
