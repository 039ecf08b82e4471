"""Which clusters are of a host: as its button says, and as somebody types a part of it."""

import random

import pytest

from scrapy_simhash.maintenance.duplication import host_of
from tests.report.samples import BITS, columns, flipped, head, placed

pytestmark = pytest.mark.thorough

ODD_KEYS = (
    "https://example.com/",
    "https://shop.example.com/",
    "https://notexample.com/",
    "https://example.com:8443/",
    "HTTPS://EXAMPLE.COM/upper",
    "https://user:pass@example.com/",
    "//example.com/no-scheme",
    " \x01https://spaced.example/",
    "ht\ntps://bro\tken.example/",
    "http://exa\u00admple.example/",
    "http://\u202egpj.example/",
    "http://b\u00fccher.example/",
    "http://\u0130stanbul.example/",
    "http://no\u00a0break.example/",
    "http://\uff41.example/",
    "http://sl\u2100sh.example/",
    "http://user\uff20at.example/",
    "http://[::1]:80/",
    "http://[2001:DB8::1]/",
    "http://[fe80::1%25Eth0]/",
    "http://[::1/",
    "http://a\\b.example/",
    "http://a@b@twice.example/",
    "http:///no-host",
    "http://:80/no-host",
    "http://__proto__/",
    "http://constructor/",
    "ftp://files.example/",
    "mailto:someone@mail.example",
    "example.com/no-slashes",
    "1http://digit.example/",
    f"http://{'long.' * 100}example/",
    "item 17",
    "",
)


def of_keys(*keys):
    """A cluster of each, with the table of hosts that Python makes of them."""
    chance = random.Random(1)
    pages, components, hosts = [], [], {}
    for number, key in enumerate(keys):
        first = chance.getrandbits(BITS)
        pages.append((key, first, 1, 0, -1))
        pages.append((key, flipped(first, 3, chance), 2, 0, -1))
        components += [number, number]
        hosts.setdefault(host_of(key), []).append(key)
    report = head(columns(pages, components, []))
    rows = [
        {"host": host, "near_duplicates": len(some), "representatives": len(some)}
        for host, some in hosts.items()
    ]
    return placed(report, hosts=rows), hosts


def test_a_button_shows_the_clusters_of_its_host_and_of_no_other(opened):
    report, hosts = of_keys(*ODD_KEYS)
    watched = opened(report)
    page = watched.page
    for more in page.locator("button[data-shows=host]").all():
        more.click()
    buttons = page.locator("button[data-only=host]")
    assert buttons.count() == len(hosts)
    shown = {}
    for number, host in enumerate(hosts):
        buttons.nth(number).click()
        heads = page.locator("tbody[data-cluster]").evaluate_all(
            "bodies => bodies.map(body => Number(body.dataset.cluster))"
        )
        shown[host] = [ODD_KEYS[cluster] for cluster in heads]
    # Clusters of one size are in the order in which they were met.
    assert shown == hosts
    assert len(hosts["example.com"]) == 4
    watched.assert_quiet()


@pytest.mark.parametrize("key", ["https://a.example/" + "a\u0301" + "\u0301" * 40])
def test_heaped_accents_of_a_name_are_escaped(opened, key):
    report, _ = of_keys(key)
    shown = opened(report).rows()[0][0]
    assert shown == "https://a.example/a" + "\u0301" * 16 + "\\u0301" * 25
