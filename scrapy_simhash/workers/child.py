"""What runs in a worker: pages in, fingerprints out, one at a time.

A worker is a fresh interpreter, neither a fork nor a copy of the main module, and talks over a
socket of its own: first what it is to do, as JSON, then pages as text and their fingerprints as
JSON. Nothing is unpickled, so that nothing a page says can be evaluated.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.detector import Detector
from scrapy_simhash.scheme import Scheme

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# Of the time-out, after which a worker whose parent does not end it ends itself.
_ALARM_FACTOR = 2
_WARM_UP = (
    "<html><body>" + "<p>山坡上的茶园天还没亮就热闹起来。 Warm up.</p>" * 9 + "</body></html>"
)


def serve(connection: Connection) -> None:
    """Answer until the parent is gone."""
    # A terminal sends them to all processes; it is the parent that decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # What an extractor prints is not the crawl's output.
    os.dup2(2, 1)
    try:
        order = json.loads(connection.recv_bytes())
        try:
            detector = Detector(Scheme.from_dict(order["scheme"]), min_tokens=order["min_tokens"])
            # What is loaded at the first page, such as jieba's dictionary, is loaded now.
            Detector(detector.scheme, min_tokens=1).fingerprint_page(_WARM_UP)
        except BaseException as error:  # noqa: BLE001 - whatever an extractor's module does
            _answer(connection, {"error": f"{type(error).__name__}: {error}"})
            return
        _answer(connection, {"ready": True})
        while True:
            html = connection.recv_bytes().decode("utf-8", "surrogatepass")
            _set_alarm(_ALARM_FACTOR * order["timeout_ms"] / 1000)
            _answer(connection, _fingerprint(detector, html))
            _set_alarm(0)
    except (EOFError, ConnectionError):  # the parent closed it, or died
        sys.exit()


def _fingerprint(detector: Detector, html: str) -> dict[str, Any]:
    try:
        return {"page": asdict(detector.fingerprint_page(html))}
    except BaseException as error:  # noqa: BLE001 - SystemExit of an extractor, too
        return {"error": f"{type(error).__name__}: {error}"}


def _answer(connection: Connection, answer: dict[str, Any]) -> None:
    connection.send_bytes(json.dumps(answer).encode("ascii"))


def _set_alarm(seconds: float) -> None:
    """Die by then. The parent ends a worker that hangs, unless it is dead itself, and a regular
    expression that hangs lets no Python run here that could notice.
    """
    signal.setitimer(signal.ITIMER_REAL, seconds)
