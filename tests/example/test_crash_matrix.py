"""Crawls that are killed at any moment and started again on the same index lose no content."""

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from example.demosite import DemoServer
from example.demosite.scoring import families_of

from scrapy_simhash.commands.main import main
from tests.crawl.harness import child_environment

pytestmark = pytest.mark.thorough

PROJECT = Path(__file__).parents[2] / "example_project"
KILLS = 15
SEED = 20
AT_ONCE = 2
CONCURRENCY = 8
DEADLINE_S = 180
SETTINGS = {
    "ITEM_PIPELINES": '{"tests.crawl.components.WritingPipeline": 900}',
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
    "DEPTH_LIMIT": 6,  # the calendar has no end
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
}
MODES = {
    "default": {},
    # The links that the killed crawl had in memory are found again on unchanged pages.
    "incremental": {"SIMHASH_INCREMENTAL": True},
}


def crawl(server, directory, settings, kill_at=None):
    """Crawl the demo site. Return True if the crawl was killed, and the URLs of the items it kept.

    :param kill_at: kill it when it has written so many items, and so many seconds have passed since.
    """
    written = directory / "written"
    written.unlink(missing_ok=True)
    directory.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"url={server.start_urls}"]
    own = {"WRITTEN": written, "SIMHASH_DIR": directory / "simhash"}
    for name, value in (SETTINGS | own | settings).items():
        command += ["-s", f"{name}={value}"]
    process = subprocess.Popen(
        command, cwd=PROJECT, env=child_environment(), start_new_session=True
    )
    latest = time.monotonic() + DEADLINE_S
    try:
        if kill_at is not None:
            items, delay_s = kill_at
            while not (written.exists() and written.read_bytes().count(b"\n") >= items):
                assert process.poll() is None
                assert time.monotonic() < latest
                time.sleep(0.001)
            time.sleep(delay_s)  # any moment will do
            process.kill()
        code = process.wait(DEADLINE_S)
        assert code == 0 or kill_at
    finally:
        with suppress(ProcessLookupError):  # also the workers
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return code == -signal.SIGKILL, written.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module", params=MODES)
def matrix(request, tmp_path_factory):
    directory, settings = tmp_path_factory.mktemp("killed"), MODES[request.param]
    chance = random.Random(SEED)

    def both(moment):
        own, kill_at, workers = moment
        killed, before = crawl(server, own, settings | {"SIMHASH_WORKERS": workers[0]}, kill_at)
        _, after = crawl(server, own, settings | {"SIMHASH_WORKERS": workers[1]})
        return killed, families_of(server.site, before), families_of(server.site, after)

    with DemoServer() as server, ThreadPoolExecutor(AT_ONCE) as threads:
        _, urls = crawl(server, directory / "whole", settings | {"SIMHASH_WORKERS": 0})
        whole = families_of(server.site, urls)
        # One moment in each part of the crawl.
        moments = [
            (
                directory / f"{kill}",
                (int((kill + chance.random()) * (len(whole) - 8) / KILLS), chance.uniform(0, 0.12)),
                chance.choices((0, 1), k=2),
            )
            for kill in range(KILLS)
        ]
        outcomes = list(threads.map(both, moments))
    print(f"\n{request.param}: {len(whole)} contents", *outcomes, sep="\n")
    indexes = [own / "simhash" / "spiders" / "site" for own, *_ in moments]
    return request.param, whole, outcomes, indexes


def test_no_content_is_lost(matrix):
    mode, whole, outcomes, _ = matrix
    assert len(whole) > 40
    assert [sorted(whole - (before | after)) for _, before, after in outcomes] == [[]] * KILLS
    if mode == "default":
        # Pages of the killed crawl are no reason to drop pages of this one.
        assert [sorted(whole - after) for *_, after in outcomes] == [[]] * KILLS


def test_crawls_were_killed_at_many_moments(matrix):
    _, whole, outcomes, _ = matrix
    assert sum(killed for killed, *_ in outcomes) >= KILLS - 1
    kept = {len(before) for _, before, _ in outcomes}
    assert len(kept) >= KILLS // 2
    assert min(kept) < len(whole) / 3
    assert max(kept) > len(whole) * 2 / 3


def test_what_was_confirmed_is_not_kept_again_by_an_incremental_crawl(matrix):
    mode, _, outcomes, _ = matrix
    if mode == "incremental":
        # Except pages whose item was written before they were confirmed: as many as are in the
        # downloader, and as many again that wait for a worker or for the spider.
        assert max(len(before & after) for _, before, after in outcomes) <= 2 * CONCURRENCY


def test_indexes_are_sound(matrix, capsys):
    for index in matrix[3]:
        assert main(["index", "check", "--index", str(index)]) == 0


def test_a_crawl_without_the_plugin_reaches_every_page(tmp_path):
    with DemoServer() as server:
        _, seen = crawl(server, tmp_path, {"ADDONS": "{}"})
        wanted = {server.site.url(page) for page in server.site.pages.values()}
        fetched = server.fetched()
    assert set(fetched) == set(seen) == wanted
    assert len(fetched) == len(wanted)
