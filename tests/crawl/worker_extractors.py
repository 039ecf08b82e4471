"""Extractors that follow commands in the page, in the worker that fingerprints it."""

import json
import os
import re
import signal
import time
from pathlib import Path

from tests.crawl.pages import story

OBEDIENT = "tests.crawl.worker_extractors.obedient"
GO = "go"


def page_with(order="", *, number=0, links=()):
    """Return a page with a command in it. Pages of different numbers have nothing in common."""
    text = "".join(f"<p>{part}</p>" for part in story(number).split("\n"))
    text += "".join(f'<a class="next" href="{link}"></a>' for link in links)
    mark = f"<!-- order:{order} -->" if order else ""
    return f"<html><head><title>Page {number}</title></head><body>{mark}{text}</body></html>"


def obedient(html):
    """Follow the command of a page, then return its text."""
    found = re.search(r"<!-- order:(\w+) ?(.*?) -->", html)
    if found:
        ORDERS[found[1]](found[2])
    return re.sub(r"<!--.*?-->|<[^>]*>", " ", html)


def never(html):
    """Never return; an extractor that hangs."""
    while True:
        time.sleep(3600)


def _hold(_):
    """Hang in C code that holds the GIL."""
    re.match(r"(a+)+$", "a" * 64 + "b")


def _die(times_and_directory):
    """Do it only so many times."""
    times, _, directory = times_and_directory.partition(" ")
    deaths = len(list(Path(directory).glob("death-*")))
    if deaths < int(times):
        Path(directory, f"death-{deaths}").touch()
        os._exit(1)


def _raise(error):
    raise error


def _print(text):
    print(text)
    os.write(1, text.encode())


def _meet(directory):
    """Record the process id, and wait for the others."""
    _write(f"{directory}/{os.getpid()}", "")
    while not Path(directory, GO).exists():
        time.sleep(0.01)


def _arrive(directory):
    """Record the process id, and stay."""
    _write(f"{directory}/{os.getpid()}", "")
    never("")


def _disarm(_):
    """Switch the time limit off, and hang."""
    signal.alarm(0)
    never("")


def _arrive_holding(directory):
    _write(f"{directory}/{os.getpid()}", "")
    _hold("")


def _write(path, content):
    """Write the file at once, because a test waits for it."""
    temporary = Path(f"{path}.part")
    temporary.write_text(json.dumps(content), encoding="ascii")
    temporary.replace(path)


ORDERS = {
    "sleep": never,
    "hold": _hold,
    "nap": lambda seconds: time.sleep(float(seconds)),
    "kill": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "exit": lambda status: os._exit(int(status)),
    "die": _die,
    "fail": lambda text: _raise(LookupError(text)),
    "leave": lambda status: _raise(SystemExit(status)),
    "interrupt": lambda _: _raise(KeyboardInterrupt()),
    "print": _print,
    "meet": _meet,
    "arrive": _arrive,
    "arrive_holding": _arrive_holding,
    "disarm": _disarm,
    "stop": lambda _: os.kill(os.getpid(), signal.SIGSTOP),
    "take": lambda mebibytes: bytearray(int(mebibytes) << 20),
}
