"""Other processes that use an index: begun, listened to and killed by tests."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

CHILD = Path(__file__).with_name("child.py")
DEADLINE_S = 60


class Child:
    """A process that `child.py` forked; killed after a minute in any case."""

    def __init__(self, server, what, arguments):
        self._server = server
        self.status = None
        self.send(json.dumps([what, arguments]))
        # The server and its child say their first lines in any order.
        self._waiting = []
        while not (line := self._read()).startswith("began "):
            self._waiting.append(line)
        self._process = int(line.split()[1])
        self._watchdog = threading.Timer(DEADLINE_S, self.kill)
        self._watchdog.start()

    def send(self, line):
        """Write a line to its standard input."""
        self._server.stdin.write(line + "\n")
        self._server.stdin.flush()

    def line(self):
        """What it says next; at its end an empty text."""
        if self._waiting:
            return self._waiting.pop(0)
        if self.status is not None:
            return ""
        line = self._read()
        if line.startswith("ended "):
            self.status = int(line.split()[1])
            self._watchdog.cancel()
            return ""
        return line

    def rest(self):
        """What it says until it ends."""
        return list(iter(self.line, ""))

    def kill(self):
        """kill -9."""
        if self.status is None:
            os.kill(self._process, signal.SIGKILL)

    @property
    def was_killed(self):
        return self.status == -signal.SIGKILL

    def _read(self):
        line = self._server.stdout.readline()
        assert line.endswith("\n"), "the server of child processes has died"
        return line.rstrip("\n")


class Children:
    """Begins one child after another."""

    def __init__(self, server):
        self._server = server
        self._last = None

    def begin(self, what, **arguments):
        assert self._last is None or self._last.status is not None, "the last one still runs"
        self._last = Child(self._server, what, arguments)
        return self._last

    def end(self):
        if self._last is not None:
            self._last.kill()
            self._last.rest()


@contextmanager
def children():
    command = [sys.executable, str(CHILD)]
    # Threads of a library for linear algebra would not outlive a fork.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        try:
            assert server.stdout.readline() == "ready\n"
            all_of_them = Children(server)
            try:
                yield all_of_them
            finally:
                all_of_them.end()
        finally:
            server.kill()
