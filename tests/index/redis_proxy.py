"""A proxy before a Redis server, which counts round trips, and may delay answers."""

from __future__ import annotations

import asyncio
import threading


class RedisProxy:
    """Passes bytes on to a port of this machine, each answer later.

    `round_trips` counts messages that a client sends after the answer to the one before.
    """

    def __init__(self, port: int, *, delay_s: float) -> None:
        self.connections = 0
        self.round_trips = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._loop = asyncio.new_event_loop()
        self._target = port
        self._delay_s = delay_s
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._connected, "127.0.0.1", 0)
        )
        self.url = f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    async def _connected(
        self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter
    ) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers += (to_client, to_server)
        self.connections += 1
        is_answered = True

        async def ask() -> None:
            nonlocal is_answered
            while data := await from_client.read(1 << 16):
                self.round_trips += is_answered
                is_answered = False
                to_server.write(data)
            to_server.close()

        async def answer() -> None:
            nonlocal is_answered
            while data := await from_server.read(1 << 16):
                await asyncio.sleep(self._delay_s)
                is_answered = True
                to_client.write(data)
            to_client.close()

        await asyncio.gather(ask(), answer(), return_exceptions=True)

    def taken(self) -> int:
        """Return the number of round trips since the last call."""
        taken, self.round_trips = self.round_trips, 0
        return taken

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
