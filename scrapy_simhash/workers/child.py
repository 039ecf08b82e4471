"""Run in a worker process: receive pages and answer with their fingerprints, one at a time.

A worker is a fresh interpreter, not a fork, and does not import the main module of its parent. It
talks over a socket: it receives a job specification as JSON, then pages, and answers in JSON.
Nothing is unpickled, so page content cannot run code.
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

# A worker that its parent does not kill exits after this multiple of the time-out.
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
    """Answer pages until the parent closes the socket or dies."""
    # A terminal sends these signals to all processes, but only the parent decides. They were
    # blocked until now.
    for number in PARENTS_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PARENTS_SIGNALS)
    # Keep the output of extractors out of the crawl's standard output.
    sys.stdout = sys.stderr
    with suppress(OSError):  # it may be closed
        os.dup2(2, 1)
    # A process started by an extractor would keep the socket open and hide the worker's death.
    os.set_inheritable(connected.fileno(), False)  # noqa: FBT003 - it takes no name
    try:
        _serve(Channel(connected))
    except (EOFError, ConnectionError):
        pass  # the parent closed the socket or died
    except BaseException:  # noqa: BLE001 - the outermost handler
        traceback.print_exc()
    finally:
        # Threads of an extractor must not keep the process alive.
        os._exit(1)


def _serve(channel: Channel) -> None:
    process = os.getpid()
    job_spec = json.loads(channel.receive())
    try:
        detector = Detector(
            Scheme.from_dict(job_spec["scheme"]),
            min_tokens=job_spec["min_tokens"],
            keep_text=job_spec["keep_text"],
            sketches=job_spec["sketches"],
        )
        # Load now what the first page needs, such as the dictionary of jieba.
        Detector(detector.scheme, min_tokens=1).fingerprint_page(_WARM_UP)
    except BaseException as error:  # noqa: BLE001 - an extractor may raise anything
        _answer(channel, {"error": f"{type(error).__name__}: {error}"})
        return
    _set_alarm(0)
    _answer(channel, {"ready": True})
    while True:
        page = channel.receive()
        _set_alarm(ALARM_FACTOR * job_spec["timeout_ms"] / 1000)
        answer = _fingerprint(detector, page)
        if os.getpid() != process:
            return  # a fork by the extractor, whose exit was caught above
        _answer(channel, answer)
        _set_alarm(0)


def _fingerprint(detector: Detector, page: bytes) -> dict[str, Any]:
    try:
        if page[:1] == _FIELDS:
            return {"page": plain_page(detector.fingerprint_fields(json.loads(page[1:])))}
        return {"page": plain_page(detector.fingerprint_page(decoded(page)))}
    except BaseException as error:  # noqa: BLE001 - an extractor may even exit
        return {"error": f"{type(error).__name__}: {error}"}


def encoded(page: Content) -> tuple[bytes, bytes]:
    """Return the parts of the message for a page or an item; see `WorkerProcess.ask`."""
    if isinstance(page, dict):
        return _FIELDS, json.dumps(page).encode("ascii")
    if isinstance(page, str):
        return _TEXT, page.encode("utf-8", "surrogatepass")
    return _BODY, page


def decoded(message: bytes) -> str:
    """Return the text of a page message. Invalid UTF-8 in a body is replaced, as in Scrapy."""
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
    """Return the fingerprint from the fields that `plain_page` returned."""
    evidence = Evidence._make(
        b64decode(value) if isinstance(value, str) else value for value in fields["evidence"]
    )
    unmatched = tuple(fields["unmatched"])
    return PageFingerprint(**fields | {"evidence": evidence, "unmatched": unmatched})


def _answer(channel: Channel, answer: dict[str, Any]) -> None:
    channel.send(json.dumps(answer).encode("ascii"))


def _set_alarm(seconds: float) -> None:
    """Let the kernel end this process after `seconds`; 0 cancels.

    The parent kills a worker that hangs, but may be dead itself. A regular expression that hangs
    blocks all Python code here, so only a signal helps.
    """
    signal.setitimer(signal.ITIMER_REAL, seconds)
