"""Crawls that are killed at any moment and started again on the same index lose no content."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from example.demosite import DemoServer

from scrapy_simhash.commands.main import main
from tests.example.killed_crawls import CONCURRENCY, Crawls, Moment, moments

pytestmark = pytest.mark.thorough

KILLS = 15
SEED = 20
AT_ONCE = 2
INCREMENTAL = ("SIMHASH_INCREMENTAL=True",)
MODES = {
    "default": (),
    # The links that the killed crawl had in memory are found again on unchanged pages.
    "incremental": INCREMENTAL,
}


@pytest.fixture(scope="module")
def server():
    with DemoServer() as server:
        yield server


@pytest.fixture(scope="module", params=MODES)
def matrix(request, server, tmp_path_factory):
    directory, settings = tmp_path_factory.mktemp("killed"), MODES[request.param]
    whole = Crawls(server, directory / "whole", settings).whole()
    crawls = [Crawls(server, directory / f"{kill}", settings) for kill in range(KILLS)]
    when = moments(SEED + len(settings), KILLS, len(whole) - 8)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        outcomes = list(threads.map(Crawls.killed, crawls, when))
    print(f"\n{request.param}: {len(whole)} contents", *outcomes, sep="\n")
    return request.param, whole, outcomes, [crawl.index for crawl in crawls]


def test_no_content_is_lost(matrix):
    mode, whole, outcomes, _ = matrix
    assert len(whole) > 40
    lost = [sorted(whole - (outcome.before | outcome.after)) for outcome in outcomes]
    assert lost == [[]] * KILLS
    if mode == "default":
        # Pages of the killed crawl are no reason to drop pages of this one.
        assert [sorted(whole - outcome.after) for outcome in outcomes] == [[]] * KILLS


def test_crawls_were_killed_at_many_moments(matrix):
    _, whole, outcomes, _ = matrix
    assert sum(outcome.killed for outcome in outcomes) >= KILLS - 1
    kept = {len(outcome.before) for outcome in outcomes}
    assert len(kept) >= KILLS // 2
    assert min(kept) < len(whole) / 3
    assert max(kept) > len(whole) * 2 / 3


def test_what_was_confirmed_is_not_kept_again_by_an_incremental_crawl(matrix):
    mode, _, outcomes, _ = matrix
    if mode == "incremental":
        # Except pages whose item was written before they were confirmed: as many as are in the
        # downloader, and as many again that wait for a worker or for the spider.
        both = [len(outcome.before & outcome.after) for outcome in outcomes]
        assert max(both) <= 2 * CONCURRENCY


def test_indexes_are_sound(matrix, capsys):
    for index in matrix[3]:
        assert main(["index", "check", "--index", str(index)]) == 0


def test_incremental_without_following_links_content_waits_behind_pages_that_are_known(
    server, tmp_path
):
    # As the documentation says.
    settings = (*INCREMENTAL, "SIMHASH_FOLLOW=False")
    whole = Crawls(server, tmp_path / "whole", settings).whole()
    # Later than halfway: the pages of start() are followed, and lead to much that is not known yet.
    late = Moment(len(whole) * 3 // 4, delay_s=0, workers=0, workers_after=0)
    outcome = Crawls(server, tmp_path / "killed", settings).killed(late)
    assert outcome.killed
    assert whole - (outcome.before | outcome.after)
