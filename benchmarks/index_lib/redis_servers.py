"""Redis servers for benchmarks, on free loopback ports."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import redis

if TYPE_CHECKING:
    from typing_extensions import Self


class Servers:
    """A Redis server of a benchmark's own, or a cluster.

    :param masters: of the cluster; 0 for a single server.
    """

    def __init__(self, directory: str, masters: int) -> None:
        self.cluster = masters > 0
        self._directory = Path(directory)
        self._count = max(masters, 1)

    def __enter__(self) -> Self:
        program = shutil.which("redis-server")
        if program is None:
            sys.exit("there is no redis-server in PATH")
        self._processes, self._clients = [], []
        for _ in range(self._count):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            while port > 50_000:  # the bus of a cluster has a port 10,000 above
                port -= 10_000
            folder = self._directory / str(port)
            folder.mkdir()
            options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
            options += ["--save", "", "--loglevel", "warning"]
            options += ["--cluster-enabled", "yes"] if self.cluster else []
            self._processes.append(subprocess.Popen([program, *options], stdout=subprocess.DEVNULL))
            self._clients.append(redis.Redis(port=port))
            while True:
                with suppress(redis.ConnectionError):
                    self._clients[-1].ping()
                    break
                time.sleep(0.05)
        first = self._clients[0].connection_pool.connection_kwargs["port"]
        self.url = f"redis://127.0.0.1:{first}/0"
        if self.cluster:
            share = -(-16384 // self._count)
            for number, one in enumerate(self._clients):
                slots = range(number * share, min((number + 1) * share, 16384))
                one.execute_command("CLUSTER", "ADDSLOTS", *slots)
                one.execute_command("CLUSTER", "MEET", "127.0.0.1", first)
            time.sleep(5)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def memory_bytes(self) -> int:
        """What all servers use."""
        return sum(one.info("memory")["used_memory"] for one in self._clients)

    def cpu_s(self) -> float:
        """CPU time of all servers."""
        used = [one.info("cpu") for one in self._clients]
        return sum(one["used_cpu_user"] + one["used_cpu_sys"] for one in used)
