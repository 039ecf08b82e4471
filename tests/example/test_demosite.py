"""The demo site follows its own rules, and is served as built."""

from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from example.demosite import DemoServer, build_site
from example.demosite.check import broken_rules


def test_no_rule_is_broken_and_the_manifest_is_up_to_date():
    assert broken_rules(build_site(8001, 8002)) == []


def get(url, method="GET"):
    with urlopen(Request(url, method=method), timeout=5) as response:
        return response.status, response.headers["Content-Type"], response.read().decode()


def test_every_page_is_served_as_built():
    with DemoServer() as server:
        for page in server.site.pages.values():
            url = server.site.url(page)
            assert get(url) == (200, "text/html; charset=utf-8", page.html)
            assert server.site.page_at(url) is page
        assert server.fetched() == [server.site.url(p) for p in server.site.pages.values()]
        server.forget()
        assert get(server.mirror_url, "HEAD") == (200, "text/html; charset=utf-8", "")
        assert get(server.url + "robots.txt")[1] == "text/plain; charset=utf-8"
        assert "could not find" in get(server.url + "news/2001/gone.html")[2]
        for missing in (server.url + "static/logo.svg", server.mirror_url + "news/gone.html"):
            with pytest.raises(HTTPError, match="404") as caught:
                get(missing)
            caught.value.close()
        assert server.fetched() == [server.url + "news/2001/gone.html"]
