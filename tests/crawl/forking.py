"""Fork children for crawls from a process that has imported what they need, which takes most of the
time of a short crawl.

``python -m tests.crawl.forking`` reads a line of JSON for each child: the module that it is to run,
with what arguments, in which directory and environment, and where its output goes. It answers with
the child's exit code. The child joins its threads and calls what is registered with `atexit`, but
does not destroy its objects. So a crash while objects are destroyed is not noticed.
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
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

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
# Of the project, and of what it imports late.
IMPORTED_OF_PROJECT = (
    "scrapy_simhash.crawl.addon",
    "scrapy_simhash.crawl.extension",
    "scrapy_simhash.crawl.middleware",
    "scrapy_simhash.crawl.pipeline",
    "scrapy_simhash.crawl.crawl_report",
    "jieba",
    "plyvel",
    "tests.crawl.spiders",
)


class Forking:
    """The process that forks, as others see it; it starts when it is first needed, and again where
    it was killed.

    :param options: of ``python -m tests.crawl.forking``: ``--with-project`` imports the project, too.
    """

    def __init__(self, *options: str) -> None:
        self._options = options
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
                [sys.executable, "-m", "tests.crawl.forking", *self._options],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            atexit.register(self.end)
        return self._process


def serve(*, with_project: bool) -> None:
    """Fork for each line."""
    for name in (*IMPORTED, *(IMPORTED_OF_PROJECT if with_project else ())):
        with suppress(ImportError):  # not in every Scrapy
            import_module(name)
    if with_project:
        _fill_caches()
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
        _, status = os.waitpid(child, 0)
        os.write(answers, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _fill_caches() -> None:
    """Do what is slow the first time: choose tables, extract a text, read the public suffixes."""
    from scrapy_simhash import Detector
    from scrapy_simhash.index import IndexSpec
    from scrapy_simhash.scheme import DEFAULT_PRESET, preset
    from scrapy_simhash.sites import registered_domain

    default = preset(DEFAULT_PRESET)
    IndexSpec("leveldb", default.scheme, default.max_distance).to_manifest()
    Detector(default.scheme).fingerprint_page(f"<p>{'The ferry waits at the pier. ' * 20}</p>")
    registered_domain("example.com")


def _run(order: dict[str, Any]) -> NoReturn:
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
    code: Any = 0
    try:
        runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = 0 if ended.code is None else ended.code
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:  # noqa: BLE001 - as an interpreter does
        traceback.print_exc()
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    # An interpreter would now destroy its objects. That takes half a second, because each page of
    # memory is copied first.
    os._exit(code & 0xFF)


if __name__ == "__main__":
    serve(with_project="--with-project" in sys.argv)
