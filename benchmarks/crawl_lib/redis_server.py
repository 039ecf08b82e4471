"""A Redis server for a crawl, whose answers may be late, as those of a server far away."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from index_lib.redis_servers import Servers

from crawl_lib.contestants import REDIS_URL

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def redis_server(delay_ms: float) -> Iterator[None]:
    """Run a server, whose URL the crawls find in their environment.

    :param delay_ms: of each answer.
    """
    with tempfile.TemporaryDirectory() as directory, Servers(directory, masters=0) as servers:
        url = servers.url
        if delay_ms:
            target = int(url.rpartition(":")[2].partition("/")[0])
            url = f"redis://127.0.0.1:{_late_port(target, delay_ms / 1000)}/0"
        os.environ[REDIS_URL] = url
        yield


def _late_port(target: int, delay_s: float) -> int:
    """Return a port that passes bytes on to the target, and its answers back, later."""
    started = threading.Event()
    ports = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", target)
        loop = asyncio.get_running_loop()

        async def ask() -> None:
            while data := await reader.read(1 << 16):
                to_server.write(data)
            to_server.close()

        async def answer() -> None:
            while data := await from_server.read(1 << 16):
                loop.call_later(delay_s, writer.write, data)

        await asyncio.gather(ask(), answer(), return_exceptions=True)
        writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        started.set()
        await server.serve_forever()

    threading.Thread(target=asyncio.run, args=(serve(),), daemon=True).start()
    started.wait()
    return ports[0]
