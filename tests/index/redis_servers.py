"""Redis servers of the tests' own, on free loopback ports."""

import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count

import pytest

from scrapy_simhash import Scheme
from scrapy_simhash.index.redis import open_redis_index

from .backends import PLAN, K

PROGRAM = shutil.which("redis-server")
MISSING = (
    "the package redis is not installed"
    if find_spec("redis") is None
    else "there is no redis-server in PATH"
    if PROGRAM is None
    else ""
)
needs_redis = pytest.mark.skipif(bool(MISSING), reason=f"no index in Redis: {MISSING}")
_names = count()


def free_port():
    """A port whose cluster bus, 10,000 above it, is free, too."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            with suppress(OSError, OverflowError):
                other.bind(("127.0.0.1", port + 10_000))
                return port


class RedisServer:
    """A running redis-server, or a cluster of several.

    :param processes: masters of a cluster; 0 for a single server.
    :param replicas: each master has a replica, which takes over when the master dies.
    """

    def __init__(self, directory, *options, processes=0, replicas=False):
        self.cluster = processes > 0
        self._directory = directory
        self._processes = []
        self.ports = []
        self._masters = max(processes, 1)
        for _ in range(self._masters * (2 if replicas else 1)):
            self._start(directory, *options)
        self.url = f"redis://127.0.0.1:{self.ports[0]}/0"
        if self.cluster:
            self._form()

    def start_again(self, port):
        """Start a server that was stopped, without what it held."""
        self._start(self._directory, port=port)

    def _start(self, directory, *options, port=0):
        port = port or free_port()
        folder = directory / str(port)
        folder.mkdir(parents=True, exist_ok=True)
        command = [
            *(PROGRAM, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)),
            *("--save", "", "--appendonly", "no", "--daemonize", "no", "--loglevel", "warning"),
            *(("--cluster-enabled", "yes") if self.cluster else ()),
            *options,
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self._processes.append(process)
        self.ports.append(port)
        until = time.monotonic() + 20
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            assert process.poll() is None, "redis-server ended"
            assert time.monotonic() < until, "redis-server does not listen"
            time.sleep(0.02)

    def _form(self):
        import redis

        nodes = [redis.Redis(port=port) for port in self.ports]
        share = -(-16384 // self._masters)
        for number, node in enumerate(nodes):
            first = number * share
            if number < self._masters:
                slots = range(first, min(first + share, 16384))
                node.execute_command("CLUSTER", "ADDSLOTS", *slots)
            node.execute_command("CLUSTER", "MEET", "127.0.0.1", self.ports[0])
        until = time.monotonic() + 30
        while any(b"cluster_state:ok" not in raw_info(node) for node in nodes) or any(
            len(node.execute_command("CLUSTER", "NODES")) < len(nodes) for node in nodes
        ):
            assert time.monotonic() < until, "the cluster does not form"
            time.sleep(0.1)
        for number, node in enumerate(nodes[self._masters :]):
            replicate(node, nodes[number])
        for node in nodes:
            node.close()

    def pause(self):
        """Keep the first process from answering, without closing connections."""
        self._processes[0].send_signal(signal.SIGSTOP)

    def go_on(self):
        self._processes[0].send_signal(signal.SIGCONT)

    def kill(self, number):
        """Kill one process of a cluster, masters first."""
        self._processes[number].kill()
        self._processes[number].wait()

    def stop(self):
        for process in self._processes:
            process.kill()
            process.wait()


def replicate(node, master):
    """Make a node the replica of a master, and wait until it has all data."""
    import redis

    name = master.execute_command("CLUSTER", "MYID")
    until = time.monotonic() + 30
    asked = False
    while not asked or node.info("replication")["master_link_status"] != "up":
        assert time.monotonic() < until, "the replica does not follow its master"
        if not asked:
            with suppress(redis.ResponseError):  # it does not know the master yet
                asked = bool(node.execute_command("CLUSTER", "REPLICATE", name))
        time.sleep(0.1)


def raw_info(node):
    found = node.execute_command("CLUSTER", "INFO")
    if isinstance(found, dict):
        return f"cluster_state:{found['cluster_state']}".encode()
    return found


@contextmanager
def running(directory, *options, processes=0, replicas=False):
    server = RedisServer(directory, *options, processes=processes, replicas=replicas)
    try:
        yield server
    finally:
        server.stop()


class RedisBackend:
    """An index of a name of its own."""

    def __init__(self, server, plan=PLAN):
        self.server = server
        self.plan = plan
        self.name = f"test {next(_names)}:simhash"

    def open(self, *, max_distance=K, **options):
        scheme = Scheme(bits=self.plan.bits)
        given = {"plan": self.plan, "cluster": self.server.cluster, "expected_pages": 1000}
        return open_redis_index(
            self.server.url, self.name, scheme, max_distance=max_distance, **{**given, **options}
        )
