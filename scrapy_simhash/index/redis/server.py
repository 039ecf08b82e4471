"""Connect to a Redis server or cluster, run commands and scripts there, and translate errors."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager, suppress
from inspect import signature
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import redis
from redis.backoff import ExponentialBackoff
from redis.cluster import RedisCluster
from redis.exceptions import (
    AuthenticationError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.retry import Retry

from scrapy_simhash.errors import IndexForeign, IndexUnreachable, SchemeError, StorageError
from scrapy_simhash.index.database import REDIS_REMEDY, corrupt
from scrapy_simhash.index.records import MAX_SEQUENCE
from scrapy_simhash.index.redis.urls import masked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scrapy_simhash.index.redis.scripts import Script

_TIMEOUT_S = 5.0
# After the server could not be reached, commands fail at once for this time. Otherwise each of the
# hundreds of commands of a crawl would wait for its own time-out.
_PAUSE_S = 3.0
# Upper limit for `Server._idle`; further connections go back to redis-py's pool.
_MAX_IDLE = 8
_SCANNED_AT_ONCE = 1000
# Not time-outs: a server that hangs would take several of them for each command.
_RETRIED = (redis.ConnectionError,)
# Errors of scripts that read a damaged value. They also contain "user_script".
_DAMAGE = re.compile(
    "attempt to|bad argument|data string|it has no number|not an integer|would overflow"
)
# These options save up to four round trips per connection: redis-py sends no HELLO, and does not
# tell the server its name and version. Older releases have two options for the latter.
_QUICK_CONNECTION: dict[str, Any] = {"protocol": 2} | (
    {"driver_info": None}
    if "driver_info" in signature(redis.Redis).parameters
    else {"lib_name": None, "lib_version": None}
)


class Server:
    """A Redis server or cluster that holds an index.

    All methods raise StorageError, or its subclass IndexUnreachable if the server does not answer
    after some retries. For other parameters and errors see `open_redis_index`.

    :param opening_commands: commands that only read. They are sent together with the first checks.
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        cluster: bool = False,
        parameters: Mapping[str, Any] | None = None,
        opening_commands: Iterable[Sequence[Any]] = (),
    ) -> None:
        self.location = f"{masked(url)} {name}"
        if "decode_responses" in parse_qs(urlsplit(url).query):
            raise SchemeError(
                "the URL of the Redis server has the option decode_responses: remove it, because "
                "answers must be bytes"
            )
        self.cluster = cluster
        # Connections outside of redis-py's pool that no thread is using.
        self._idle: list[Any] = []
        backoff = ExponentialBackoff(cap=0.5, base=0.05)
        # Retries of `_exchange`. Connections retry connecting by themselves.
        self._retry = Retry(backoff, 2, _RETRIED)
        self._away: IndexUnreachable | None = None  # the last error
        self._next_attempt_s = 0.0
        options = {
            **_QUICK_CONNECTION,
            "socket_timeout": _TIMEOUT_S,
            "socket_connect_timeout": _TIMEOUT_S,
            **(parameters or {}),
            "decode_responses": False,
        }
        try:
            with self._translated():
                if cluster:
                    self._client: Any = RedisCluster.from_url(url, **options)
                else:
                    self._client = redis.Redis.from_url(
                        url, **{"retry": Retry(backoff, 3, _RETRIED), **options}
                    )
            try:
                self.opening_answers = self._check(opening_commands)
                """The answers to `opening_commands`."""
            except BaseException:
                disconnect(self._client)
                raise
        except (TypeError, ValueError) as error:
            raise SchemeError(
                f"redis-py does not accept an option of the URL or the parameters: {_line(error)}"
            ) from error

    def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[Any] = ()) -> Any:
        """Run a script and return its answer. In a cluster, its keys must be in one slot."""
        rest = (len(keys), *keys, *arguments)
        with self._translated():
            try:
                [answer] = self._exchange([("EVALSHA", script.sha, *rest)])
            except NoScriptError:  # the server is new, or a restart or SCRIPT FLUSH has removed it
                [answer] = self._exchange([("EVAL", script.source, *rest)])
        return answer

    def call_all(self, commands: Iterable[Sequence[Any]]) -> list[Any]:
        """Run commands in turn, in one round trip per server, and return their answers. Other
        clients' commands may run in between. In a cluster, the keys of one command must be in one
        slot.

        Use only commands whose answers redis-py leaves as they are, such as GET: it converts others
        in a cluster, but not on a single server.
        """
        with self._translated():
            return self._exchange(list(commands))

    def _exchange(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Send commands, and return their answers. On a single server, this takes a fraction of the
        CPU time of redis-py's methods.
        """
        answers: list[Any] = []
        if not commands:
            return answers
        if self.cluster and len(commands) == 1:
            answers = [self._client.execute_command(*commands[0])]
        elif self.cluster:
            with self._client.pipeline() as pipeline:
                for command in commands:
                    pipeline.execute_command(*command)
                answers = pipeline.execute(raise_on_error=False)
        else:
            answers = self._retry.call_with_retry(
                lambda: self._send_once(commands), lambda _error: None
            )
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def _send_once(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        connection = self._idle_connection() or self._client.connection_pool.get_connection()
        try:
            connection.send_packed_command(connection.pack_commands(commands))
            answers = [_answer(connection) for _ in commands]
        except BaseException:
            # Close the connection, because a late answer would be taken for that of the next
            # command. Close the idle connections, too, because they may also be broken.
            while connection is not None:
                connection.disconnect()
                self._client.connection_pool.release(connection)
                connection = self._idle_connection()
            raise
        if len(self._idle) < _MAX_IDLE:
            self._idle.append(connection)
        else:
            self._client.connection_pool.release(connection)
        return answers

    def _idle_connection(self) -> Any:
        """Return an idle connection, or None.

        To get a connection from redis-py's pool takes as long as to send a command.
        """
        with suppress(IndexError):
            return self._idle.pop()
        return None

    def call(self, *command: Any) -> Any:
        """Run a command. Return the answer as redis-py converts it, for example a dict for HGETALL.
        In a cluster, its keys must be in one slot.
        """
        with self._translated():
            return self._client.execute_command(*command)

    def each(self, pattern: bytes, *commands: str) -> Iterator[tuple[bytes, list[Any]]]:
        """Yield (key, answers to commands on it, such as GET) for each key that matches.

        A key may be yielded twice, as by SCAN. A key that is created during the scan may be left
        out. For a key that is deleted during the scan, the answers may be those for a key that does
        not exist, such as None.
        """
        with self._translated():
            for client in self._nodes():
                scan = client.scan_iter(match=pattern, count=_SCANNED_AT_ONCE)
                while keys := list(islice(scan, _SCANNED_AT_ONCE)):
                    with client.pipeline(transaction=False) as pipeline:
                        for key in keys:
                            for command in commands:
                                pipeline.execute_command(command, key)
                        answers = iter(pipeline.execute())
                    for key in keys:
                        yield key, [next(answers) for _ in commands]

    def each_once(self, pattern: bytes, *commands: str) -> Iterator[tuple[bytes, list[Any]]]:
        """Yield what `each` does, but no key twice. This holds all keys in memory."""
        seen: set[bytes] = set()
        for key, answers in self.each(pattern, *commands):
            if key not in seen:
                seen.add(key)
                yield key, answers

    def _nodes(self) -> list[Any]:
        """Return a client for each primary of the cluster, or that of the server."""
        if not self.cluster:
            return [self._client]
        return [self._client.get_redis_connection(node) for node in self._client.get_primaries()]

    def numbers(self, keys: Sequence[bytes]) -> list[int]:
        """Return the numbers that keys hold, which may be in several slots; 0 for a missing key.

        :raises IndexCorrupt: a value is no number, or not from 0 to `MAX_SEQUENCE`.
        """
        return self.to_numbers(self.call_all(("GET", key) for key in keys))

    def to_numbers(self, values: Iterable[bytes | None]) -> list[int]:
        """Return the numbers in the values of keys, as `numbers` does."""
        try:
            numbers = [int(value or 0) for value in values]
        except ValueError as error:
            raise corrupt(self.location, f"a number: {error}", REDIS_REMEDY) from error
        self.require_in_range(numbers)
        return numbers

    def require_in_range(self, numbers: Iterable[int]) -> None:
        """Raise IndexCorrupt if a sequence number or count cannot be right."""
        for number in numbers:
            if not 0 <= number <= MAX_SEQUENCE:
                raise corrupt(self.location, f"the number {number}", REDIS_REMEDY)

    def stop_waiting(self) -> bool:
        """If the server cannot be reached, send no command from now on, so that all fail at once.
        Return True in this case.
        """
        if self._away is not None:
            self._next_attempt_s = float("inf")
        return self._away is not None

    def close(self) -> None:
        """Close all connections."""
        with self._translated_errors():
            disconnect(self._client)

    def _check(self, commands: Iterable[Sequence[Any]]) -> list[Any]:
        """Return the answers to commands. :raises StorageError: the server may evict keys."""
        with self._translated():
            if self.cluster:
                infos = [node.info("memory") for node in self._nodes()]
                policies = [info.get("maxmemory_policy", "noeviction") for info in infos]
                answers = self._exchange(list(commands))
            else:
                # Connect first: retries of `_exchange` would multiply those of the connection.
                self._idle.append(self._client.connection_pool.get_connection())
                info, *answers = self._exchange([("INFO", "memory"), *commands])
                policies = re.findall(r"maxmemory_policy:(\S+)", info.decode())
        for policy in policies:
            if policy != "noeviction":
                raise StorageError(
                    self.location,
                    f"the server's maxmemory-policy is {policy}, but only noeviction never deletes "
                    "keys to free memory: run `CONFIG SET maxmemory-policy noeviction`, or use "
                    "another server",
                )
        return answers

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn errors of redis-py into StorageError or IndexUnreachable, without secrets.

        :raises IndexUnreachable: at once, if another command has just failed in this way.
        """
        away = self._away
        if away is not None:
            if time.monotonic() < self._next_attempt_s:
                raise IndexUnreachable(away.location, away.detail)
            self._next_attempt_s = time.monotonic() + _TIMEOUT_S + _PAUSE_S  # one attempt at a time
        try:
            with self._translated_errors():
                yield
        except IndexUnreachable as error:
            self._away, self._next_attempt_s = error, time.monotonic() + _PAUSE_S
            raise
        except StorageError:  # the server has answered
            self._away = None
            raise
        else:
            self._away = None

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except (AuthenticationError, NoPermissionError) as error:
            raise StorageError(
                self.location,
                f"the server refuses access ({_line(error)}): check user and password in the URL, "
                "and the user's rights (ACL)",
            ) from error
        except (redis.ConnectionError, redis.TimeoutError, RedisClusterException) as error:
            raise IndexUnreachable(
                self.location,
                f"the server cannot be reached ({_line(error)}): check the URL, and that the "
                "server runs",
            ) from error
        except OutOfMemoryError as error:
            raise StorageError(
                self.location,
                f"the server's memory is full ({_line(error)}): raise maxmemory, or remove old "
                "pages",
            ) from error
        except RedisError as error:
            if str(error).startswith("WRONGTYPE"):
                raise IndexForeign(
                    self.location,
                    "another program uses a key under the name of the index: choose another name",
                ) from error
            if "user_script" in str(error) and _DAMAGE.search(str(error)):
                raise corrupt(self.location, _line(error), REDIS_REMEDY) from error
            raise StorageError(self.location, f"a command failed: {_line(error)}") from error
        except OSError as error:
            raise IndexUnreachable(
                self.location, f"the connection failed: {_line(error)}"
            ) from error


def disconnect(client: redis.Redis | RedisCluster) -> None:
    """Close all connections of a client. The `close` of a cluster's client leaves some open."""
    client.close()
    if isinstance(client, RedisCluster):
        nodes = client.nodes_manager
        for node in (*nodes.startup_nodes.values(), *nodes.nodes_cache.values()):
            if node.redis_connection is not None:
                node.redis_connection.connection_pool.disconnect()


def _answer(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]
