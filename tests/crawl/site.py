"""A site on loopback whose pages the tests write, and which records its requests."""

import threading
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HTML = {"Content-Type": "text/html; charset=utf-8"}


@dataclass(frozen=True)
class Answer:
    """An answer of the site; with a barrier, it waits for that many requests."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    barrier: threading.Barrier | None = None


def html(body):
    return Answer(body.encode(), headers=HTML)


class Site:
    def __init__(self, address):
        self._address = address
        self._answers = {}
        self.hits = []

    def put(
        self,
        path,
        body,
        *,
        status=200,
        content_type=HTML["Content-Type"],
        location=None,
        barrier=None,
    ):
        """Serve a body under a path from now on. Return its URL."""
        headers = {} if content_type is None else {"Content-Type": content_type}
        if location is not None:
            headers["Location"] = location
        content = body.encode() if isinstance(body, str) else body
        return self.put_turns(path, Answer(content, status, headers, barrier))

    def put_turns(self, path, *answers):
        """Serve the answers under a path, one after the other; the last one stays. Return its URL."""
        self._answers[path] = list(answers)
        return self.url(path)

    def url(self, path):
        return self._address + path

    def hit(self, path):
        """Return the number of requests for a path."""
        return self.hits.count(path)

    def answer(self, path):
        self.hits.append(path)
        answers = self._answers.get(path)
        if answers is None:
            return Answer(b"not here", 404, {"Content-Type": "text/plain"})
        return answers.pop(0) if len(answers) > 1 else answers[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close() waits for them
    request_queue_size = 256
    site: Site

    def handle_error(self, request, client_address):
        """Ignore a client that went away."""


class Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 30

    def _respond(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = self.server.site.answer(self.path)
        if answer.barrier is not None:
            answer.barrier.wait()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        # Else Scrapy may send a POST on a connection that is being closed, and cannot repeat it.
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = _respond  # noqa: N815 - their names there

    def log_message(self, format, *args):  # noqa: A002 - its name there
        """Say nothing."""


@contextmanager
def serving(make=Site):
    """Serve a site while the block runs.

    :param make: returns the site, from its address.
    """
    with _Server(("127.0.0.1", 0), Handler) as server:
        site = server.site = make(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
