"""What tests run in processes of their own: `python child.py` forks one for each line it reads.

A line of standard input is JSON: the name of a function below, and its arguments. What the
process says on standard output is what the parent waits for; `ended` comes last.
"""

import json
import os
import random
import resource
import signal
import sys
from importlib import import_module
from importlib.util import find_spec
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.errors import StorageError
from scrapy_simhash.index import TablePlan, manifest, rows
from scrapy_simhash.index.tables import runs, tables

# Narrow prefixes, so that many fingerprints share one.
PLAN = TablePlan(64, 8)
K = 3
# Content that is met under several keys, crawl after crawl; far from each other.
KNOWN = [random.Random(number).getrandbits(64) for number in range(12)]


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def opened(kind, directory, *, plan=PLAN, incremental=True, sync="everysec"):
    return open_index(
        f"{kind}:{directory}",
        Scheme(bits=plan.bits),
        max_distance=K,
        plan=plan,
        incremental=incremental,
        sync=sync,
    )


class Operation(NamedTuple):
    """One page: observed, and then confirmed, discarded or left pending."""

    key: str
    fingerprint: int
    then: str


def operations(run):
    """What the writer of that number does: the same each time, without an end."""
    rng = random.Random(run)
    made = []
    for number in count():
        fingerprint = rng.getrandbits(64)
        chance = rng.random()
        then = "confirm"
        if chance < 0.4:
            # Some are long, so that the database writes table files, too, and not its log alone.
            key = f"page {run} {number} " + "x" * (5000 if number % 7 == 0 else 0)
            made.append(fingerprint)
        elif chance < 0.6:
            key = f"changing {rng.randrange(4)}"
        elif chance < 0.7:
            key = f"known {rng.randrange(len(KNOWN))}" if chance < 0.65 else f"also {run} {number}"
            fingerprint = rng.choice(KNOWN) ^ (1 << rng.randrange(64))
        elif chance < 0.8 and made:
            key, then = f"copy {run} {number}", rng.choice(["confirm", "nothing"])
            fingerprint = rng.choice(made) ^ (1 << rng.randrange(64))
        elif chance < 0.9:
            key, then = f"pending {run} {number}", "nothing"
        else:
            key, then = f"failed {run} {number}", "discard"
        yield Operation(key, fingerprint, then)


def carry_out(index, operation):
    """At most one page or line is written. Returns what the observation was."""
    observation = index.observe(operation.key, operation.fingerprint)
    if operation.then == "confirm":
        index.confirm(observation)
    elif operation.then == "discard":
        index.discard(observation)
    return observation.kind


def database_class(kind):
    name = {"leveldb": "LevelDB", "rocksdb": "RocksDB"}[kind]
    return getattr(import_module(f"scrapy_simhash.index.{kind}"), name)


def shrink(kind):
    """Write files of tables and of the database all the time."""
    tables.UNSORTED_ROWS, tables.MEMORY_ROWS, tables.FEW_ROWS = 5, 16, 1
    runs.STEP_POSITIONS = 4
    module = import_module(f"scrapy_simhash.index.{kind}")
    if kind == "leveldb":
        module._OPTIONS["write_buffer_size"] //= 256
    else:
        module._WRITE_BUFFER_BYTES //= 256


def write(kind, directory, run, sync, stop, *, dies_at="", say_synced=False):
    """Carry out operations, and say so after each; then close the index.

    :param dies_at: ``before 7`` or ``after 7``: this process kills itself at its seventh write to
        the database; ``closing before 2``: at the second one of those in which it closes.
    """
    shrink(kind)
    closing = dies_at.startswith("closing ")
    killer = Killer(kind, dies_at.removeprefix("closing "))
    if say_synced:
        SyncedSizes(kind, Path(directory) / kind).install()
        rows.time = SteadyClock(0.05)
    elif dies_at and not closing:
        killer.install()
    with opened(kind, directory, incremental=run % 2 == 1, sync=sync) as index:
        say("open")
        for operation in islice(operations(run), stop):
            say("did", carry_out(index, operation))
        say("closing")
        if closing:
            killer.install(files=True)
    say("closed")


class Killer:
    """Kills this process at a write to the database; from the second one on, syncs and renamings of
    files count as writes, too: those of tables.
    """

    def __init__(self, kind, dies_at):
        self._class = database_class(kind)
        self._when, _, number = dies_at.partition(" ")
        self._left = self._number = int(number) if number.isdecimal() else 0

    def install(self, *, files=False):
        self._wrap(self._class, "write")
        if files or self._number > 1:
            self._wrap(os, "fsync")
            self._wrap(type(Path()), "replace")

    def _wrap(self, owner, name):
        original = getattr(owner, name)

        def do(*arguments, **named):
            self._left -= 1
            is_last = self._left == 0
            if is_last and self._when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = original(*arguments, **named)
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(owner, name, do)


class SteadyClock:
    """A step further at each look, so that a write is synced once in a while."""

    def __init__(self, step_s):
        self._now_s, self._step_s = 0.0, step_s

    def monotonic(self):
        self._now_s += self._step_s
        return self._now_s


class SyncedSizes:
    """Says how much of the database's logs is on the disk for sure, after each synced write."""

    def __init__(self, kind, path):
        self._kind, self._path = kind, path

    def logs(self):
        return sorted(self._path.glob("*.log"))

    def install(self):
        class_ = database_class(self._kind)
        original, fsync = class_.write, os.fsync

        def write(database, puts, deletes=(), *, sync=False):
            original(database, puts, deletes, sync=sync)
            if sync:
                # LevelDB syncs the log that it writes to, RocksDB the earlier ones, too.
                synced = self.logs()[-1:] if self._kind == "leveldb" else self.logs()
                self.say("synced", synced)

        def fsync_and_say(descriptor):
            fsync(descriptor)
            status = os.fstat(descriptor)
            same = [log for log in self.logs() if self.is_same(log, status)]
            if same:  # else it is a file of the tables
                self.say("before synced", same)

        class_.write, os.fsync = write, fsync_and_say

    @staticmethod
    def is_same(log, status):
        try:
            return os.path.samestat(log.stat(), status)
        except FileNotFoundError:  # it is in a table file by now
            return False

    @staticmethod
    def say(what, logs):
        sizes = {}
        for log in logs:
            try:
                sizes[log.name] = log.stat().st_size
            except FileNotFoundError:  # noqa: PERF203 - it is in a table file by now
                continue
        say(what, json.dumps(sizes))


def hold(kind, directory):
    """Keep the index open until a line is read."""
    rng = random.Random(0)
    with opened(kind, directory) as index:
        index.confirm(index.observe("held 0", rng.getrandbits(64)))
        say("open")
        read_line()
        for number in range(1, 50):
            index.confirm(index.observe(f"held {number}", rng.getrandbits(64)))
    say("closed")


def fill(kind, directory):
    """Confirm pages on a disk that is full for a while; say which were confirmed."""
    rng = random.Random(1)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(kind, directory) as index:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        refused = []
        # RocksDB begins a new file after each error, and takes a thousand pages or more to fill it.
        for number in range(50_000):
            key, fingerprint = f"page {number}", rng.getrandbits(64)
            observation = index.observe(key, fingerprint)
            try:
                index.confirm(observation)
            except StorageError as error:
                say("refused", type(error).__name__, str(error).replace("\n", " "))
                refused.append(observation)
                # The disk stays full for some pages.
                if len(refused) == 5:
                    break
            else:
                say("confirmed", key, fingerprint)
        for observation in refused:
            matches = index.query(observation.fingerprint)
            say("sees", [match.key for match in matches] == [observation.key])
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        for observation in refused[:2]:
            index.confirm(observation)
            say("confirmed", observation.key, observation.fingerprint)
        for number in range(50_000, 50_500):
            key, fingerprint = f"page {number}", rng.getrandbits(64)
            index.confirm(index.observe(key, fingerprint))
            say("confirmed", key, fingerprint)
    say("closed")


def race(kind, directory, bits):
    """Try to open an index at the same time as another process; close it at the next line."""
    try:
        index = opened(kind, directory, plan=TablePlan(bits, 4))
    except StorageError as error:
        say(type(error).__name__)
        read_line()
    else:
        say("opened")
        read_line()
        index.close()


def repair(directory, dies_at):
    """Repair an index, and die before or after a write of it."""
    from scrapy_simhash.maintenance.check import repair as repair_index

    made = manifest.Manifest.read(Path(directory))
    Killer(made.database, dies_at).install()
    say("repaired", repair_index(Path(directory)).entries)


def keep_up(task, kind, directories, dies_at):
    """Make an index anew, and die at a step: a write, a sync, or a change of files."""
    from scrapy_simhash.maintenance import rewriting
    from scrapy_simhash.maintenance.merge import merge
    from scrapy_simhash.maintenance.rebuild import rebuild
    from scrapy_simhash.maintenance.remove import expire

    shrink(kind)
    step = count(1)

    def die_here():
        if next(step) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def dying(class_, name):
        original = getattr(class_, name)

        def do(*arguments, **named):
            die_here()
            result = original(*arguments, **named)
            die_here()
            return result

        setattr(class_, name, do)

    paths = [Path(directory) for directory in directories]
    for name in ("write", "sync", "close"):
        dying(database_class(kind), name)
    dying(rewriting, "destroy_database")
    for name in ("link", "fsync"):
        dying(os, name)
    dying(type(paths[0]), "replace")
    if task == "expire":
        expire(paths[0], 1 << 31)
    elif task == "rebuild":
        rebuild(paths[0], TablePlan(64, 6, 2))
    else:
        merge(*paths)
    say("done")


# Without a buffer: what a forked process reads must not be in this one's.
_input = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 - to the end


def read_line():
    return _input.readline().decode()


def serve():
    for package, module in (("plyvel", "leveldb"), ("rocksdict", "rocksdb")):
        if find_spec(package):
            import_module(f"scrapy_simhash.index.{module}")
    import_module("scrapy_simhash.maintenance.check")
    import_module("scrapy_simhash.maintenance.rebuild")
    say("ready")
    while line := read_line():
        what, arguments = json.loads(line)
        child = os.fork()
        if not child:
            run(what, arguments)
        say("began", child)
        _, status = os.waitpid(child, 0)
        say("ended", os.waitstatus_to_exitcode(status))


def run(what, arguments):
    """In the forked process, which never comes back."""
    try:
        globals()[what](**arguments)
    except BaseException:  # noqa: BLE001 - said where the parent reads it
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    serve()
