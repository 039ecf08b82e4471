"""Connect to a Redis server or cluster, run commands and scripts there, and translate errors."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import redis
from redis import exceptions
from redis.backoff import ExponentialBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry

from scrapy_simhash.errors import (
    IndexClosed,
    IndexForeign,
    IndexUnreachable,
    SchemeError,
    StorageError,
)
from scrapy_simhash.index.database import REDIS_REMEDY, corrupt
from scrapy_simhash.index.redis.layout import KEYS, redis_key
from scrapy_simhash.index.redis.scripts import MEMORY, Script

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FIELDS_AT_ONCE = 100
_TIMEOUT_S = 5.0
# After the server could not be reached, commands fail at once for this time. Otherwise each of the
# hundreds of commands of a crawl would wait for its own time-out.
_PAUSE_S = 3.0
# Not time-outs: a server that hangs would take several of them for each command.
_RETRIED = (exceptions.ConnectionError,)
# Errors of scripts that read a damaged value. They also contain "user_script".
_DAMAGE = re.compile(
    "attempt to|bad argument|data string|Bad data format|not an integer|would overflow"
)
_ERRORS = (exceptions.RedisError, exceptions.RedisClusterException, OSError)
_REFUSED = (exceptions.AuthenticationError, exceptions.NoPermissionError)
_AWAY = (
    *(exceptions.ConnectionError, exceptions.TimeoutError, OSError),
    # While a replica takes over, too.
    *(exceptions.RedisClusterException, exceptions.ClusterDownError),
)


class Server:
    """A Redis server or cluster that holds an index.

    All methods raise StorageError, or its subclass IndexUnreachable if the server does not answer
    after some retries. For other parameters and errors see `open_redis_index`.

    :param name: name of the index. The constructor checks that the server which has its keys may
        not evict them.
    """

    def __init__(
        self,
        location: str,
        url: str,
        name: str,
        *,
        cluster: bool = False,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.location = location
        self._keys = {what: redis_key(name, what) for what in KEYS}
        if "decode_responses" in parse_qs(urlsplit(url).query):
            raise SchemeError(
                "the URL of the Redis server has the option decode_responses: remove it, because "
                "answers must be bytes"
            )
        self._closed = False
        self._away: IndexUnreachable | None = None  # the last error
        self._next_attempt_s = 0.0
        options: dict[str, Any] = {
            "protocol": 2,  # saves a round trip
            "socket_timeout": _TIMEOUT_S,
            "socket_connect_timeout": _TIMEOUT_S,
            **(parameters or {}),
            "decode_responses": False,
        }
        if not cluster:
            # To get a connection from the pool for each command takes as long as to send it.
            options["single_connection_client"] = True
            options.setdefault("retry", Retry(ExponentialBackoff(cap=0.5, base=0.05), 3, _RETRIED))
        try:
            with self._translated():
                self._client: Any = (RedisCluster if cluster else redis.Redis).from_url(
                    url, **options
                )
            self._check()
        except (TypeError, ValueError) as error:
            raise SchemeError(
                f"redis-py does not accept an option of the URL or the parameters: {_line(error)}"
            ) from error

    def run(self, script: Script, *arguments: Any) -> Any:
        """Run a script on the keys of the index, and return its answer."""
        rest = (len(KEYS), *self._keys.values(), *arguments)
        with self._translated():
            try:
                return self._client.execute_command("EVALSHA", script.sha, *rest)
            except (
                exceptions.NoScriptError
            ):  # the server is new, or a restart or SCRIPT FLUSH has removed it
                return self._client.execute_command("EVAL", script.source, *rest)

    def call(self, command: str, key: str, *arguments: Any) -> Any:
        """Run a command on one of `KEYS`. Return the answer as redis-py converts it, such as a dict
        for HGETALL.
        """
        with self._translated():
            return self._client.execute_command(command, self._keys[key], *arguments)

    def scan(self, key: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield the fields and values of a hash, some of them twice if it changes."""
        with self._translated():
            yield from self._client.hscan_iter(self._keys[key], count=_FIELDS_AT_ONCE)

    def stop_waiting(self) -> bool:
        """If the server cannot be reached, send no command from now on, so that all fail at once.
        Return True in this case.
        """
        if self._away is not None:
            self._next_attempt_s = float("inf")
        return self._away is not None

    def close(self) -> None:
        """Close all connections. After that, all methods but this one raise IndexClosed."""
        self._closed = True
        with suppress(*_ERRORS):
            disconnect(self._client)

    def _check(self) -> None:
        """Raise StorageError if the server may evict keys."""
        with self._translated():
            info = self._client.execute_command("EVAL", MEMORY, 1, self._keys["manifest"])
        policy = re.search(rb"maxmemory_policy:([\w-]+)", info)
        if policy is not None and policy[1] != b"noeviction":
            raise StorageError(
                self.location,
                f"the server's maxmemory-policy is {policy[1].decode()}, but only noeviction never "
                "deletes keys to free memory: run `CONFIG SET maxmemory-policy noeviction`, or use "
                "another server",
            )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn errors of redis-py into StorageError or IndexUnreachable, without secrets.

        :raises IndexUnreachable: at once, if another command has just failed in this way.
        """
        if self._closed:
            raise IndexClosed(self.location, "used after close()")
        if self._away is not None and time.monotonic() < self._next_attempt_s:
            raise IndexUnreachable(self.location, self._away.detail)
        try:
            yield
        except _ERRORS as error:
            ours = self._ours(error)
            self._away = ours if isinstance(ours, IndexUnreachable) else None
            if self._next_attempt_s < float("inf"):
                self._next_attempt_s = time.monotonic() + _PAUSE_S
            raise ours from error
        self._away = None

    def _ours(self, error: Exception) -> StorageError:
        """Return our error for an error of redis-py."""
        line, text = _line(error), str(error)
        if text.startswith("WRONGTYPE"):
            return IndexForeign(
                self.location,
                "another program uses a key under the name of the index: choose another name",
            )
        if "user_script" in text and _DAMAGE.search(text):
            return corrupt(self.location, line, REDIS_REMEDY)
        kind, detail = StorageError, f"a command failed: {line}"
        if isinstance(error, _REFUSED):
            detail = (
                f"the server refuses access ({line}): check user and password in the URL, and "
                "rights (ACL)"
            )
        elif isinstance(error, exceptions.OutOfMemoryError):
            detail = f"the server's memory is full ({line}): raise maxmemory, or remove old pages"
        elif isinstance(error, _AWAY):
            kind = IndexUnreachable
            detail = (
                f"the server cannot be reached ({line}): check the URL, and that the server runs"
            )
        return kind(self.location, detail)


def disconnect(client: redis.Redis | RedisCluster) -> None:
    """Close all connections of a client. The `close` of a cluster's client leaves some open."""
    client.close()
    if isinstance(client, RedisCluster):
        client.disconnect_connection_pools()  # type: ignore[no-untyped-call]


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]
