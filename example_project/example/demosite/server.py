"""Serve the site on two ports of this machine."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

from .build import build_site
from .model import HOST, MAIN, MIRROR, Site

if TYPE_CHECKING:
    from types import TracebackType

ROBOTS = "User-agent: *\nDisallow: /newsletter\nDisallow: /zh/search\n"


class _Server(ThreadingHTTPServer):
    """A server for one host of the site. Its role is ``main`` or ``mirror``, see `Page.role`."""

    daemon_threads = False  # so that closing waits for pending responses, and leaves no socket open
    site: Site
    fetched: list[str]  # URLs of the pages that both servers sent

    def __init__(self, role: str, port: int) -> None:
        super().__init__((HOST, port), _Handler)
        self.role = role

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect early, as stopped crawlers do."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """A handler of GET and HEAD requests for pages and robots.txt."""

    server: _Server
    timeout = 10

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        page = self.server.site.find(self.server.role, self.path)
        status, content_type = 200, "text/html"
        if page is not None:
            body = page.html.encode()
            if with_body:
                self.server.fetched.append(self.server.site.url(page))
        elif self.path == "/robots.txt":
            body, content_type = ROBOTS.encode(), "text/plain"
        else:
            status, body, content_type = 404, b"Not found\n", "text/plain"
        self.send_response(status)
        self.send_header("Content-Type", f"{content_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - name in the base class
        """Log nothing, because the crawler has its own log."""


class DemoServer:
    """A context manager that serves the demo site. Port 0 lets the system choose a free port."""

    def __init__(self, main_port: int = 0, mirror_port: int = 0) -> None:
        self._ports = (main_port, mirror_port)
        self._fetched: list[str] = []

    def __enter__(self) -> DemoServer:  # noqa: PYI034  Python 3.10 has no Self
        main = _Server(MAIN, self._ports[0])
        try:
            mirror = _Server(MIRROR, self._ports[1])
        except OSError:
            main.server_close()
            raise
        self._servers = (main, mirror)
        self.site = build_site(main.port, mirror.port)
        self._threads = []
        for server in self._servers:
            server.site, server.fetched = self.site, self._fetched
            thread = Thread(target=server.serve_forever, args=(0.05,), name=f"demo {server.role}")
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()
        for thread in self._threads:
            thread.join()

    @property
    def url(self) -> str:
        """The URL of the front page."""
        return self.site.main_url

    @property
    def mirror_url(self) -> str:
        """The URL of the front page of the mirror host."""
        return self.site.mirror_url

    @property
    def start_urls(self) -> str:
        """The start URLs of both hosts, in the form that the spider takes."""
        return self.site.start_urls

    def fetched(self) -> list[str]:
        """Return the URLs of the pages sent so far, in order."""
        return list(self._fetched)

    def forget(self) -> None:
        """Clear the list that `fetched` returns."""
        self._fetched.clear()
