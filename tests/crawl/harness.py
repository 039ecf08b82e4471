"""Starts crawls in child processes and hands back what happened in them."""

import atexit
import json
import multiprocessing
import os
import random
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field, replace
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# Imports take most of the time of a short crawl. A child that is forked does not destroy its objects
# at its end, so a crash while they are destroyed is not noticed.
_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(["tests.crawl.preloaded"])
ADDONS = {"scrapy_simhash.Addon": 500}
TIMEOUT_S = 300
# One page after the other, in the order of the requests.
IN_ORDER = {"CONCURRENT_REQUESTS": 1, "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}
# Starting a worker takes as long as a short crawl. Tests of workers set their number; the other tests
# use none, or the default with CRAWL_WITH_WORKERS=1, as in `make test-thorough`.
WORKERS = {} if os.environ.get("CRAWL_WITH_WORKERS") else {"SIMHASH_WORKERS": 0}


@dataclass(frozen=True)
class Crawl:
    """A crawl to run.

    :param requests: URLs, or arguments of Request; see `tests.crawl.spiders`.
    :param arguments: of the spider, besides the requests.
    """

    requests: list[Any] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    spider: str = "tests.crawl.spiders.PagesSpider"
    name: str = "pages"
    custom_settings: dict[str, Any] | None = None
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Result:
    """The events, items, stats and log of a crawl.

    :param events: what the spider saw, in its order; see `tests.crawl.spiders`.
    :param error: type and message of the exception that kept the crawl from starting.
    """

    events: list[dict[str, Any]]
    items: list[dict[str, Any]]
    dropped: list[dict[str, Any]]
    item_errors: list[str]
    stats: dict[str, Any]
    finish_reason: str | None
    error: dict[str, str] | None
    log: str

    def seen(self, what="callback"):
        """Return the paths of the pages that callbacks (or errbacks) saw, in order."""
        return [event["path"] for event in self.events if event["what"] == what]

    def event(self, path, what="callback"):
        """Return the only event of a page."""
        [event] = [e for e in self.events if e["path"] == path and e["what"] == what]
        return event

    def stat(self, name):
        """Return a count under ``simhash/``; 0 if there is none."""
        return self.stats.get(f"simhash/{name}", 0)

    def simhash_stats(self):
        """Return our stats except the times, without the prefix."""
        return {
            name.removeprefix("simhash/"): value
            for name, value in self.stats.items()
            if name.startswith("simhash/") and "/time/" not in name
        }

    def lines(self, *parts):
        """Return the lines of the log that hold all of the parts."""
        return [line for line in self.log.splitlines() if all(part in line for part in parts)]


def child_environment(**changes):
    """Return the environment of a child; it shares jieba's cache with this process."""
    environment = {name: value for name, value in os.environ.items() if "SCRAPY" not in name}
    environment.setdefault(
        "XDG_CACHE_HOME", str(Path(tempfile.gettempdir(), "scrapy-simhash-tests"))
    )
    environment["PYTHONPATH"] = str(ROOT)
    return environment | changes


def python(*arguments, cwd=None, code=0, **environment):
    """Run Python with these arguments to this exit code, in an environment as that of a crawl."""
    ran = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=child_environment(**environment),
        capture_output=True,
        text=True,
        timeout=9 * TIMEOUT_S,
    )
    assert ran.returncode == code, ran.stderr[-5000:]
    return ran


def scrapy(*arguments, cwd, code=0, **environment):
    """Run a command of Scrapy to this exit code, and return what it wrote."""
    with tempfile.NamedTemporaryFile() as output:
        path = Path(output.name)
        ended = _fork("scrapy", [*map(str, arguments)], cwd, child_environment(**environment), path)
        said = path.read_text(encoding="utf-8", errors="replace")
    assert ended == code, said[-5000:]
    return said


def _fork(module, arguments, cwd, environment, output):
    """Run a module in a child, and return its exit code; on time-out, kill it and all that it
    started.
    """
    here = Path.cwd()
    os.chdir(ROOT)  # where it finds what it is to import
    forkserver.ensure_running()
    os.chdir(here)
    given = module, arguments, cwd, environment, output
    child = _FORKING.Process(target=_run_module, args=given)
    child.start()
    child.join(TIMEOUT_S)
    if child.exitcode is None:
        os.killpg(child.pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired(module, TIMEOUT_S)
    return child.exitcode


def _run_module(module, arguments, cwd, environment, output):
    os.setsid()
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    random.seed()
    # As ``python -m`` in that directory.
    sys.path[:0] = [str(cwd), *environment["PYTHONPATH"].split(os.pathsep)]
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()


def run(directory, *groups, process="AsyncCrawlerProcess", process_settings=None, setup=None):
    """Run groups of crawls in one child, one after the other; the crawls of a list at once.

    Indexes lie in `directory` (SIMHASH_DIR) unless a crawl says otherwise, and the plugin is on.
    `setup` is a function that the child calls first.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix="run-") as exchange:
        scenario, outcome = Path(exchange, "scenario.json"), Path(exchange, "outcome.json")
        scenario.write_text(
            json.dumps(
                {
                    "process": process,
                    "process_settings": {"LOG_LEVEL": "INFO", "LOG_VERSIONS": []}
                    | (process_settings or {}),
                    "setup": setup,
                    "groups": [
                        [
                            _plain(crawl, directory, process_settings or {})
                            for crawl in ([group] if isinstance(group, Crawl) else group)
                        ]
                        for group in groups
                    ],
                }
            ),
            encoding="utf-8",
        )
        output = Path(exchange, "output.txt")
        files = [str(scenario), str(outcome)]
        ended = _fork("tests.crawl.run_crawl", files, directory, child_environment(), output)
        assert ended == 0, output.read_text(encoding="utf-8", errors="replace")[-5000:]
        return [Result(**crawl) for crawl in json.loads(outcome.read_text(encoding="ascii"))]


def crawled(directory, requests, settings=None, **more):
    """Return the result of one crawl; arguments are those of `Crawl`."""
    [result] = run(directory, Crawl(requests, settings or {}, **more))
    return result


def run_named(directory, crawls, **how):
    """Run crawls one after the other, each named by its key; return their results by name."""
    series = run_series(directory, {name: [crawl] for name, crawl in crawls.items()}, **how)
    return {name: result for name, [result] in series.items()}


def run_series(directory, series, **how):
    """Run series of crawls, one after the other; those of a series have its name, and its index."""
    named = [replace(crawl, name=name) for name, crawls in series.items() for crawl in crawls]
    results = iter(run(directory, *named, **how))
    return {name: [next(results) for _ in crawls] for name, crawls in series.items()}


def index_settings(directory):
    """Return the settings of an index in Redis, if CRAWL_WITH_REDIS has the URL of a server."""
    url = os.environ.get("CRAWL_WITH_REDIS")
    if not url:
        return {}
    return {
        "SIMHASH_INDEX": "redis",
        "SIMHASH_REDIS_URL": url,
        "SIMHASH_REDIS_KEY": f"%(spider)s {directory}",
    }


def _base_settings():
    return {
        "ADDONS": ADDONS,
        "SIMHASH_ENABLED": True,
        "DOWNLOAD_DELAY": 0,
        "TELNETCONSOLE_ENABLED": False,
        # Scrapy starts a task for each of them at each response, by default 100.
        "CONCURRENT_ITEMS": 8,
        "RETRY_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        **WORKERS,
    }


def _plain(crawl, directory, process_settings):
    return {
        "spider": crawl.spider,
        "name": crawl.name,
        # Not only in the process's settings: the order of precedence depends on the Scrapy version.
        "settings": _base_settings()
        | {"SIMHASH_DIR": str(directory / "simhash")}
        | index_settings(directory)
        | process_settings
        | crawl.settings,
        "custom_settings": crawl.custom_settings,
        "arguments": {"requests": crawl.requests} | crawl.arguments,
    }
