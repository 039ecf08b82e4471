"""Hosts whose pages time out: some of their next pages pass unjudged."""

from scrapy_simhash.crawl.fingerprinting import MAX_TIMEOUTS, PAGES, SlowHosts


def test_pages_pass_after_several_time_outs():
    hosts = SlowHosts()
    for _ in range(MAX_TIMEOUTS):
        assert not hosts.passes("slow.test")
        hosts.add("slow.test", timed_out=True)
    assert [hosts.passes("slow.test") for _ in range(PAGES + 2)] == [True] * PAGES + [False] * 2
    assert not hosts.passes("fast.test")


def test_hosts_without_time_outs_take_no_memory():
    hosts = SlowHosts()
    for number in range(100):
        assert not hosts.passes(f"{number}.test")
        hosts.add(f"{number}.test", timed_out=False)
    assert not any(vars(hosts).values())
