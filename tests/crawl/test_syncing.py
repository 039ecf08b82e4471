"""The thread that syncs indexes to disk."""

import threading

import pytest

from scrapy_simhash.crawl import syncing
from scrapy_simhash.crawl.syncing import Syncer
from scrapy_simhash.errors import StorageError


class Index:
    """An index that records its syncs, and fails every second time."""

    def __init__(self):
        self.threads = []
        self.synced_often = threading.Event()

    def sync(self):
        self.threads.append(threading.current_thread())
        if len(self.threads) > 4:
            self.synced_often.set()
        if len(self.threads) % 2:
            raise StorageError("memory", "the disk is full")


@pytest.fixture
def syncer(monkeypatch):
    monkeypatch.setattr(syncing, "_INTERVAL_S", 0.001)
    syncer = Syncer()
    yield syncer
    syncer.close()


def test_it_syncs_again_and_again_from_a_thread_of_its_own_though_the_disk_fails(syncer):
    index = Index()
    syncer.start(index)
    assert index.synced_often.wait(30)
    syncer.close()
    [thread] = set(index.threads)
    assert thread is not threading.current_thread()
    assert not thread.is_alive()
