"""Connect to a Redis server or cluster, run commands and scripts there, and translate errors."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

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
from scrapy_simhash.index.redis.urls import masked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy_simhash.index.redis.scripts import Script

_TIMEOUT_S = 10.0
# Upper limit for `Server._idle`; further connections go back to redis-py's pool.
_MAX_IDLE = 8
_SCANNED_AT_ONCE = 1000


class Server:
    """A Redis server or cluster that holds an index.

    All methods raise StorageError, or its subclass IndexUnreachable if the server does not answer
    after some retries. For the parameters and errors see `open_redis_index`.
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        cluster: bool = False,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.location = f"{masked(url)} {name}"
        self.cluster = cluster
        # Connections outside of redis-py's pool that no thread is using.
        self._idle: list[Any] = []
        backoff = ExponentialBackoff(cap=0.5, base=0.05)
        # Of `_exchange`, whose connections also retry to connect.
        self._retry = Retry(backoff, 2)
        options = {
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
                        url, **{"retry": Retry(backoff, 3), **options}
                    )
            try:
                self._require_noeviction()
            except BaseException:
                disconnect(self._client)
                raise
        except (TypeError, ValueError) as error:
            raise SchemeError(
                f"redis-py does not accept an option of the URL or the parameters: {_line(error)}"
            ) from error

    def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[Any] = ()) -> Any:
        """Run a script and return its answer. In a cluster, its keys must be in one slot."""
        if not self.cluster:
            return self._exchange(script, ("EVALSHA", script.sha, len(keys), *keys, *arguments))
        with self._translated():
            try:
                return self._client.evalsha(script.sha, len(keys), *keys, *arguments)
            except NoScriptError:  # a restart or SCRIPT FLUSH has removed it from the server
                return self._client.eval(script.source, len(keys), *keys, *arguments)

    def _exchange(self, script: Script, command: Sequence[Any]) -> Any:
        """Send the command that runs a script on one connection, and return the answer. This takes
        a fraction of the CPU time of redis-py's methods.
        """
        with self._translated():
            while True:
                answer = self._retry.call_with_retry(
                    lambda: self._send_once(command), lambda _error: None
                )
                if isinstance(answer, NoScriptError):
                    self._client.script_load(script.source)  # as in `run`, the server lost it
                elif isinstance(answer, RedisError):
                    raise answer
                else:
                    return answer

    def _send_once(self, command: Sequence[Any]) -> Any:
        connection = self._idle_connection() or self._client.connection_pool.get_connection()
        try:
            connection.send_command(*command)
            answer = _answer(connection)
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
        return answer

    def _idle_connection(self) -> Any:
        """Return an idle connection, or None.

        To get a connection from redis-py's pool takes as long as to send a command.
        """
        with suppress(IndexError):
            return self._idle.pop()
        return None

    def call(self, *command: Any) -> Any:
        """Run a command, and return its answer. In a cluster, its keys must be in one slot."""
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

        :raises IndexCorrupt: a value is no number.
        """
        with self._translated():
            mget = self._client.mget_nonatomic if self.cluster else self._client.mget
            values: list[bytes | None] = mget(keys)
        try:
            return [int(value or 0) for value in values]
        except ValueError as error:
            raise corrupt(self.location, f"a number: {error}", REDIS_REMEDY) from error

    def close(self) -> None:
        """Close all connections."""
        with self._translated():
            disconnect(self._client)

    def _require_noeviction(self) -> None:
        with self._translated():
            memory = [node.info("memory") for node in self._nodes()]
        for policy in (one.get("maxmemory_policy", "noeviction") for one in memory):
            if policy != "noeviction":
                raise StorageError(
                    self.location,
                    f"the server's maxmemory-policy is {policy}, but only noeviction never deletes "
                    "keys to free memory: run `CONFIG SET maxmemory-policy noeviction`, or use "
                    "another server",
                )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn errors of redis-py into StorageError or IndexUnreachable, without secrets."""
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
