"""An HTTP server on loopback in a process of its own, so fast that no crawl waits for it.

Its answers are made before the first request. It gets the pages on its standard input, prints its
port, and ends when its standard input does, so that it never outlives who started it.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Server(NamedTuple):
    """A running server. Page n is at ``<url>/n``."""

    url: str
    pid: int


@contextmanager
def serving(bodies: Sequence[bytes], delay_ms: float = 0.0) -> Iterator[Server]:
    """Run a server of these pages.

    :param delay_ms: what passes before each answer.
    """
    order = {"delay_ms": delay_ms, "sizes": [len(body) for body in bodies]}
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("no pipes")
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            for body in bodies:
                process.stdin.write(body)
            process.stdin.flush()
            port = process.stdout.readline().decode().strip()
            if not port:
                raise RuntimeError("the server did not start")
            yield Server(f"http://127.0.0.1:{port}", process.pid)
        finally:
            process.stdin.close()


class _Connection(asyncio.Protocol):
    """Answers GET requests one after the other, and keeps the connection."""

    def __init__(self, answers: Sequence[bytes], delay_s: float) -> None:
        self._answers = answers
        self._delay_s = delay_s
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            answer = self._answer(self._received[:end].split(None, 2)[1])
            self._received = self._received[end + 4 :]
            if self._delay_s:
                asyncio.get_running_loop().call_later(self._delay_s, self._send, answer)
            else:
                self._send(answer)

    def _answer(self, path: bytes) -> bytes:
        number = path[1:]
        if number.isdigit() and int(number) < len(self._answers):
            return self._answers[int(number)]
        return _NOT_FOUND

    def _send(self, answer: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)


async def _serve(answers: Sequence[bytes], delay_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(answers, delay_s), "127.0.0.1", 0)
    ended = asyncio.Event()

    def wait_for_end() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait_for_end, daemon=True).start()
    print(server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()
    server.close()


def _answers(sizes: Sequence[int]) -> Iterator[bytes]:
    for size in sizes:
        # No charset: the pages say what they say, or nothing, as they did.
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {size}\r\n\r\n"
        yield head.encode() + sys.stdin.buffer.read(size)


def main() -> None:
    """Read the pages, and serve them."""
    order = json.loads(sys.stdin.buffer.readline())
    asyncio.run(_serve(list(_answers(order["sizes"])), order["delay_ms"] / 1000))


if __name__ == "__main__":
    main()
