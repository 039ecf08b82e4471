"""Children for crawls, forked from a process that has imported Scrapy: most of a short crawl's time.

``python -m tests.crawl.forking`` reads a line of JSON for each child: the module that it is to run,
with what arguments, in which directory and environment, and where its output goes. It answers with
the child's exit code. What the project itself imports is imported in the child, and the child ends
as any interpreter does.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import random
import runpy
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# No reactor, and nothing that starts threads.
IMPORTED = (
    "scrapy.cmdline",
    "scrapy.crawler",
    "scrapy.core.engine",
    "scrapy.core.downloader.contextfactory",
    "scrapy.core.downloader.handlers.http11",
    "scrapy.downloadermiddlewares.cookies",
    "scrapy.downloadermiddlewares.httpcompression",
    "scrapy.downloadermiddlewares.retry",
    "scrapy.extensions.httpcache",
    "scrapy.extensions.memusage",
    "scrapy.extensions.remote_control",
    "scrapy.linkextractors",
    "scrapy.pipelines",
    "scrapy.spidermiddlewares.metacopy",
    "scrapy.squeues",
    "twisted.internet.asyncioreactor",
    "twisted.web.client",
    "aiohttp.web",
    "OpenSSL",
    "tldextract",
    # Most of what the plugin needs; a test checks what a crawl imports itself.
    "numpy",
    "rapidfuzz.fuzz",
    "rjieba",
)


class Forking:
    """The process that forks, as others see it; it starts when it is first needed, and again where
    it was killed.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._turn = threading.Lock()

    def run(
        self,
        module: str,
        *arguments: str,
        directory: Path,
        environment: dict[str, str],
        output: Path,
        timeout_s: float,
    ) -> int:
        """The exit code of a child that runs a module as ``python -m`` does.

        :param output: a file for what it prints, errors too.
        :raises subprocess.TimeoutExpired: it took too long, and was killed with all it started.
        """
        order = {
            "module": module,
            "arguments": arguments,
            "directory": str(directory),
            "environment": environment,
            "output": str(output),
        }
        with self._turn:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
            late = threading.Timer(timeout_s, os.killpg, (process.pid, signal.SIGKILL))
            late.start()
            try:
                answer = process.stdout.readline()
            finally:
                late.cancel()
            if not answer:
                self.end()
                raise subprocess.TimeoutExpired([module, *arguments], timeout_s)
            return int(answer)

    def end(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.crawl.forking"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            atexit.register(self.end)
        return self._process


def serve() -> None:
    """Fork for each line; in a child, return after its module has run."""
    for name in IMPORTED:
        with suppress(ImportError):  # not in every Scrapy
            import_module(name)
    # Children neither visit nor copy the pages of what was imported here.
    gc.collect()
    gc.freeze()
    # A child must not write to the pipe of the answers.
    answers = os.dup(1)
    while line := sys.stdin.readline():
        order = json.loads(line)
        child = os.fork()
        if not child:
            os.close(answers)
            _run(order)
            return
        _, status = os.waitpid(child, 0)
        os.write(answers, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _run(order: dict[str, Any]) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nothing)
    os.close(output)
    os.chdir(order["directory"])
    os.environ.clear()
    os.environ.update(order["environment"])
    random.seed()
    # As ``python -m`` in that directory.
    sys.path.insert(0, order["directory"])
    sys.argv = [order["module"], *order["arguments"]]
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve()
