"""What runs in a worker: pages in, fingerprints out, one at a time.

A worker is a fresh interpreter, neither a fork nor a copy of the main module, and talks over a
socket of its own: first what it is to do, as JSON, then pages and their fingerprints as JSON.
Nothing is unpickled, so that nothing a page says can be evaluated.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from base64 import b64decode, b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from scrapy_simhash.confirmation import Evidence
from scrapy_simhash.detector import Detector, PageFingerprint
from scrapy_simhash.scheme import Scheme
from scrapy_simhash.workers.channel import Channel

if TYPE_CHECKING:
    import socket

# Of the time-out, after which a worker whose parent does not end it ends itself.
ALARM_FACTOR = 2
PARENTS_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# The first byte of a message: a page's text that the parent encoded, its UTF-8 as it was served,
# or the texts of an item's fields as JSON.
_TEXT, _BODY, _FIELDS = b"T", b"B", b"F"
Content = str | bytes | dict[str, list[str]]
"""A page as text, or as bytes in UTF-8; or the texts of an item's fields."""
_WARM_UP = (
    "<html><body>" + "<p>山坡上的茶园天还没亮就热闹起来。 Warm up.</p>" * 9 + "</body></html>"
)


def serve(connected: socket.socket) -> NoReturn:
    """Answer until the parent is gone."""
    # A terminal sends them to all processes; it is the parent that decides. Until here they were
    # blocked.
    for number in PARENTS_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PARENTS_SIGNALS)
    # What an extractor prints is not the crawl's output.
    sys.stdout = sys.stderr
    with suppress(OSError):  # somebody may have closed it
        os.dup2(2, 1)
    # What an extractor starts would hold the socket, and the parent not hear of a worker's death.
    os.set_inheritable(connected.fileno(), False)  # noqa: FBT003 - it takes no name
    try:
        _serve(Channel(connected))
    except (EOFError, ConnectionError):
        pass  # the parent closed it, or died
    except BaseException:  # noqa: BLE001 - there is nobody else to catch it
        traceback.print_exc()
    finally:
        # Threads that an extractor began do not keep it alive.
        os._exit(1)


def _serve(channel: Channel) -> None:
    process = os.getpid()
    order = json.loads(channel.receive())
    try:
        detector = Detector(
            Scheme.from_dict(order["scheme"]),
            min_tokens=order["min_tokens"],
            keep_text=order["keep_text"],
            sketches=order["sketches"],
        )
        # What is loaded at the first page, such as jieba's dictionary, is loaded now.
        Detector(detector.scheme, min_tokens=1).fingerprint_page(_WARM_UP)
    except BaseException as error:  # noqa: BLE001 - whatever an extractor's module does
        _answer(channel, {"error": f"{type(error).__name__}: {error}"})
        return
    _set_alarm(0)
    _answer(channel, {"ready": True})
    while True:
        page = channel.receive()
        _set_alarm(ALARM_FACTOR * order["timeout_ms"] / 1000)
        answer = _fingerprint(detector, page)
        if os.getpid() != process:
            return  # a fork that an extractor made, and whose end was caught here
        _answer(channel, answer)
        _set_alarm(0)


def _fingerprint(detector: Detector, page: bytes) -> dict[str, Any]:
    try:
        if page[:1] == _FIELDS:
            return {"page": plain_page(detector.fingerprint_fields(json.loads(page[1:])))}
        return {"page": plain_page(detector.fingerprint_page(decoded(page)))}
    except BaseException as error:  # noqa: BLE001 - SystemExit of an extractor, too
        return {"error": f"{type(error).__name__}: {error}"}


def encoded(page: Content) -> tuple[bytes, bytes]:
    """Return the parts of the message with a page or item, see `WorkerProcess.ask`."""
    if isinstance(page, dict):
        return _FIELDS, json.dumps(page).encode("ascii")
    if isinstance(page, str):
        return _TEXT, page.encode("utf-8", "surrogatepass")
    return _BODY, page


def decoded(message: bytes) -> str:
    """Return the text of a page that came as a message.

    What is not UTF-8 in a body is replaced, as Scrapy does.
    """
    return message[1:].decode("utf-8", "surrogatepass" if message[:1] == _TEXT else "replace")


def plain_page(page: PageFingerprint) -> dict[str, Any]:
    """Return the fields of a fingerprint as values for JSON."""
    return vars(page) | {
        "evidence": [
            b64encode(value).decode("ascii") if isinstance(value, bytes) else value
            for value in page.evidence
        ]
    }


def page_from(fields: dict[str, Any]) -> PageFingerprint:
    """Return the fingerprint whose fields `plain_page` gave."""
    evidence = Evidence._make(
        b64decode(value) if isinstance(value, str) else value for value in fields["evidence"]
    )
    unmatched = tuple(fields["unmatched"])
    return PageFingerprint(**fields | {"evidence": evidence, "unmatched": unmatched})


def _answer(channel: Channel, answer: dict[str, Any]) -> None:
    channel.send(json.dumps(answer).encode("ascii"))


def _set_alarm(seconds: float) -> None:
    """Die by then. The parent ends a worker that hangs, unless it is dead itself, and a regular
    expression that hangs lets no Python run here that could notice.
    """
    signal.setitimer(signal.ITIMER_REAL, seconds)
