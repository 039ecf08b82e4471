"""The site of a page, from its key."""

import socket

import pytest
from tldextract import TLDExtract

from scrapy_simhash.sites import hostname_of, page_url, registered_domain, site_of


@pytest.mark.parametrize(
    ("key", "host", "site"),
    [
        (
            "https://www.example.com/a?b=https://other.example.org/",
            "www.example.com",
            "example.com",
        ),
        ("http://a.b.example.co.uk:8080/", "a.b.example.co.uk", "example.co.uk"),
        ("HTTPS://Shop.Example.COM/", "shop.example.com", "example.com"),
        ("POST https://api.example.org/q body", "api.example.org", "example.org"),
        ("https://user:secret@example.net:1/x", "example.net", "example.net"),
        ("https://10.0.0.1:80/", "10.0.0.1", "10.0.0.1"),
        ("http://[2001:db8::1]/", "2001:db8::1", "2001:db8::1"),
        ("http://localhost:6800/", "localhost", "localhost"),
        ("https://co.uk/", "co.uk", "co.uk"),
        ("https://böcker.example.se/", "böcker.example.se", "example.se"),
        ("ftp://files.example.com/a", "files.example.com", "example.com"),
        ("file:///home/a.html", "", ""),
        ("http://[", "", ""),
        ("http://[2001:db8::1/x]/", "", ""),
        ("https://www.example.com?of=/a/b", "www.example.com", "example.com"),
        ("https://www.example.com#/a/b", "www.example.com", "example.com"),
        ("?of=https://www.example.com/a", "", ""),
        ("record 17", "", ""),
        ("shard-3.warc.gz:12", "", ""),
        ("://", "", ""),
        ("", "", ""),
    ],
)
def test_the_site_is_the_registered_domain_of_the_first_url(key, host, site):
    assert hostname_of(key) == host
    assert site_of(key) == site


def test_a_site_is_the_one_of_tldextract():
    split = TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)
    names = [rule.lstrip("!").replace("*", "islands") for rule in split.tlds]
    hosts = [f"www.ferries.{name}" for name in names]
    hosts += [f"Ferries.{name.encode('idna').decode()}." for name in names if not name.isascii()]
    hosts += ["www.kayak。公司。cn", "xn--.com", "xn--zzzzzzz99999.com", ".com", "a..com"]
    assert len(hosts) > 9000
    for host in hosts:
        parts = split(host)
        has_site = parts.domain and parts.suffix
        assert registered_domain(host) == (f"{parts.domain}.{parts.suffix}" if has_site else host)


def test_the_suffix_list_is_not_fetched(monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    registered_domain.cache_clear()
    assert registered_domain("www.example.co.jp") == "example.co.jp"


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://a.example/x?y=1#part", "https://a.example/x?y=1"),
        ("https://a.example/#", "https://a.example/"),
        ("https://a.example/#top/section", "https://a.example/"),
        ("https://a.example/#:~:text=word", "https://a.example/"),
        ("https://a.example/#/", "https://a.example/#/"),
        ("https://a.example/#/boats/7?tab=2", "https://a.example/#/boats/7?tab=2"),
        ("https://a.example/app#!/boats", "https://a.example/app#!/boats"),
        ("https://a.example/#!boats", "https://a.example/#!boats"),
        ("https://a.example/#/boats#deck", "https://a.example/#/boats#deck"),
        ("https://a.example/x", "https://a.example/x"),
        ("", ""),
    ],
)
def test_a_route_names_a_page_and_an_anchor_a_place_on_it(url, page):
    assert page_url(url) == page
