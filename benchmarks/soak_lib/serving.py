"""The site, on loopback: a process of its own that makes each page when it is asked for."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from soak_lib.generate import page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HEAD_END = b"\r\n\r\n"


class _Connection(asyncio.Protocol):
    """An HTTP/1.1 protocol with keep-alive and GET."""

    def __init__(self, seed: int, pages: int) -> None:
        self._seed, self._pages = seed, pages
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._received += data
        while _HEAD_END in self._received:
            head, _, self._received = self._received.partition(_HEAD_END)
            self._transport.write(answer(head, self._seed, self._pages))


def answer(head: bytes, seed: int, pages: int) -> bytes:
    """Return the response to a request: page n under ``/n``, from 1."""
    name = head.split(b" ", 2)[1].lstrip(b"/")
    number = int(name) if name.isdigit() else 0
    if 1 <= number <= pages:
        status, body = b"200 OK", page(number, seed).encode()
    else:
        status, body = b"404 Not Found", b"not here"
    return (
        b"HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s"
        % (status, len(body), body)
    )


async def _serve(seed: int, pages: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(seed, pages), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Until whoever started it closes this, or is gone.
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def main(seed: int, pages: int) -> None:
    """Serve until standard input ends; then print the CPU time."""
    asyncio.run(_serve(seed, pages))
    print(json.dumps({"cpu_s": time.process_time()}), flush=True)


class Site:
    """A running site.

    :param cpu_s: what it cost; known at the end.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.cpu_s = 0.0


@contextmanager
def served(script: Path, seed: int, pages: int) -> Iterator[Site]:
    """Serve while the block runs.

    :param script: the one that calls `main`.
    """
    command = [sys.executable, str(script), "--serve", json.dumps([seed, pages])]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.strip():
            raise RuntimeError(f"the server ended with {process.wait()}")
        site = Site(f"http://127.0.0.1:{int(line)}")
        try:
            yield site
        finally:
            process.stdin.close()
            last = process.stdout.readline()
            if last.strip():
                site.cpu_s = json.loads(last)["cpu_s"]
