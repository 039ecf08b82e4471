"""Commands in this process, and in processes of their own."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from scrapy_simhash.commands.main import main
from scrapy_simhash.maintenance.export import near_duplicate_records
from tests.crawl.harness import scrapy

DEADLINE_S = 60
EXAMPLE = Path(__file__).parents[2] / "example_project"
MODULE = (sys.executable, "-m", "scrapy_simhash")
SCRAPY = (sys.executable, "-m", "scrapy", "simhash")


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def interruptible():
    """Ctrl-C is ignored by what a shell starts in the background, and by all that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory: outside of any Scrapy project."""
    monkeypatch.chdir(tmp_path)
    # Scrapy sets it in a project, and nobody unsets it again.
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "")
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE")
    return tmp_path


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The index that a crawl of the demo site leaves; tests copy it. Parallel runs crawl once."""
    temporary = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        temporary = temporary.parent
    with (temporary / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        directory = temporary / "demo"
        if not directory.exists():
            crawl_demo(directory)
    return directory / "simhash" / "spiders" / "site"


def crawl_demo(directory):
    sys.path.insert(0, str(EXAMPLE))
    try:
        from example.demosite import DemoServer
    finally:
        sys.path.remove(str(EXAMPLE))
    with TemporaryDirectory(dir=directory.parent) as unfinished:
        made = Path(unfinished, "demo")
        settings = f"SIMHASH_DIR={made}/simhash", "DEPTH_LIMIT=6", "DOWNLOAD_DELAY=0"
        with DemoServer() as server:
            site = ("site", "-a", f"url={server.start_urls}")
            scrapy("crawl", *site, *(word for one in settings for word in ("-s", one)), cwd=EXAMPLE)
        assert len(list(near_duplicate_records(made / "simhash" / "spiders" / "site"))) > 10
        made.rename(directory)


@pytest.fixture
def index(demo, folder):
    """A copy of the demo's index, where a command outside of any project looks for it."""
    return shutil.copytree(demo, folder / ".scrapy" / "simhash" / "spiders" / "site")


@pytest.fixture
def ran_json(run):
    """Run a command for its JSON."""

    def run_it(*arguments, code=0):
        ran = run(*arguments, "--json")
        assert (ran.code, ran.err) == (code, "")
        return json.loads(ran.out)

    return run_it


@pytest.fixture
def run(folder, capsys):
    """Run a command in this process."""

    def run_it(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as error:
            code = error.code
        return Ran(code, *capsys.readouterr())

    return run_it


def start(*arguments, in_folder, **options):
    """A process that runs a command."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONUTF8": "1"}
    environment.pop("SCRAPY_SETTINGS_MODULE", None)
    return subprocess.Popen(
        [str(argument) for argument in arguments],
        cwd=in_folder,
        env=environment,
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


def finish(process, *, told=None):
    """Wait for its end, which comes."""
    try:
        out, err = process.communicate(told, timeout=DEADLINE_S)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return Ran(process.returncode, out, err)


@pytest.fixture
def run_process(folder):

    def run_it(*arguments, told=None, **options):
        if told is not None:
            options["stdin"] = subprocess.PIPE
        return finish(start(*arguments, in_folder=folder, **options), told=told)

    return run_it
