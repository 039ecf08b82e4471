"""What runs in a worker process: records in, fingerprints out.

A worker is a fresh interpreter that talks over a socket of its own: first what it is to do, then
jobs, each a line of JSON and the bytes of its records. Nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.dedupe.options import Fields
from scrapy_simhash.dedupe.records import Answer, Parser
from scrapy_simhash.detector import Detector
from scrapy_simhash.documents.files import path_name
from scrapy_simhash.scheme import Scheme
from scrapy_simhash.workers.channel import Channel
from scrapy_simhash.workers.child import PARENTS_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.dedupe.inputs import Inputs
    from scrapy_simhash.dedupe.options import DedupeOptions


class Job(NamedTuple):
    """Records of one file, one after the other.

    :param name: of the file; empty where each record is a file itself, and its path its content.
    :param number: of the first record in the file.
    :param contents: of the records; a text says why one cannot be looked at.
    """

    name: str
    number: int
    contents: Sequence[bytes | str]

    def key(self, at: int) -> str:
        """Of a record that has none itself."""
        content = self.contents[at]
        if not self.name and isinstance(content, bytes):
            return path_name(Path(os.fsdecode(content)))
        return f"{self.name}#{self.number + at}"

    def encoded(self) -> bytes:
        """As one message."""
        parts = [part if isinstance(part, str) else len(part) for part in self.contents]
        head = json.dumps([self.name, self.number, parts]).encode("ascii")
        return b"".join((head, b"\n", *(p for p in self.contents if not isinstance(p, str))))

    @classmethod
    def decoded(cls, message: bytes) -> Job:
        """What `encoded` made."""
        start = message.index(b"\n") + 1
        name, number, parts = json.loads(message[: start - 1])
        contents: list[bytes | str] = []
        for part in parts:
            if isinstance(part, str):
                contents.append(part)
            else:
                contents.append(message[start : start + part])
                start += part
        return cls(name, number, contents)


def make_order(inputs: Inputs, options: DedupeOptions) -> dict[str, Any]:
    """What a worker is to do, as plain values."""
    return {
        "format": inputs.format,
        "fields": asdict(inputs.fields),
        "scheme": options.scheme.to_dict(),
        "min_tokens": options.min_tokens,
        "sketches": options.confirmation != UNCONFIRMED,
        "max_bytes": options.max_bytes,
        "encoding": "utf-8" if inputs.format == "parquet" else options.encoding,
        "header": inputs.header,
        "delimiter": inputs.delimiter,
        "timeout_ms": options.timeout_ms,
    }


def make_parser(order: dict[str, Any]) -> Parser:
    """What does it."""
    fields = order["fields"]
    return Parser(
        order["format"],
        Fields(**{**fields, "text": tuple(fields["text"])}),
        Detector(
            Scheme.from_dict(order["scheme"]),
            min_tokens=order["min_tokens"],
            sketches=order["sketches"],
        ),
        max_bytes=order["max_bytes"],
        encoding=order["encoding"],
        header=order["header"],
        delimiter=order["delimiter"],
    )


def answer_all(parser: Parser, job: Job) -> list[Answer]:
    """What there is to know of the records of a job."""
    return [
        Answer(job.key(at), reason=content)
        if isinstance(content, str)
        else parser.answer(content, job.key(at))
        for at, content in enumerate(job.contents)
    ]


def serve(descriptor: int) -> NoReturn:
    """Answer until the parent is gone."""
    # A terminal sends them to all processes; it is the parent that decides.
    for number in PARENTS_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PARENTS_SIGNALS)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    connected = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no name
    sys.stdout = sys.stderr
    with suppress(OSError):  # somebody may have closed it
        os.dup2(2, 1)
    try:
        _serve(Channel(connected))
    except (EOFError, ConnectionError):
        pass  # the parent closed it, or died
    except BaseException:  # noqa: BLE001 - there is nobody else to catch it
        traceback.print_exc()
    finally:
        os._exit(1)


def _serve(channel: Channel) -> None:
    order = json.loads(channel.receive())
    try:
        parser = make_parser(order)
    except BaseException as error:  # noqa: BLE001 - whatever an extractor's module does
        channel.send(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode("ascii"))
        return
    channel.send(b"{}")
    messages: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_receive, args=(channel, messages), daemon=True).start()
    while True:
        job = Job.decoded(messages.get())
        answers = []
        for at, content in enumerate(job.contents):
            # Its end, where it takes too long: the parent starts another.
            signal.setitimer(signal.ITIMER_REAL, order["timeout_ms"] / 1000)
            answers += answer_all(parser, Job(job.name, job.number + at, [content]))
        signal.setitimer(signal.ITIMER_REAL, 0)
        channel.send(json.dumps([answer.plain() for answer in answers]).encode("ascii"))


def _receive(channel: Channel, messages: queue.Queue[bytes]) -> None:
    """Take in what comes while a job is done, so that the parent never waits to send."""
    try:
        while True:
            messages.put(channel.receive())
    except BaseException:  # noqa: BLE001 - the parent is gone, and with it all there is to do
        os._exit(1)
