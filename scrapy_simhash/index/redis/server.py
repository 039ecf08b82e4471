"""Connect to a Redis server or cluster, run commands and scripts there, and translate errors."""

from __future__ import annotations

import time
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
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer
from redis.retry import Retry

from scrapy_simhash.errors import IndexUnreachable, SchemeError, StorageError
from scrapy_simhash.index.redis.urls import masked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy_simhash.index.redis.scripts import Script

_TIMEOUT_S = 10.0
_RETRIES = 3  # of methods of redis-py
_TRIES = 3  # of packed commands
# Connections that are kept from the pool, which has a limit.
_MAX_IDLE = 8
_SCANNED_AT_ONCE = 1000


class Server:
    """A Redis server or cluster that holds an index.

    All methods raise StorageError, or its subclass IndexUnreachable if the server does not answer.

    :param url: ``redis://user:password@host:6379/0``, ``rediss://…`` or ``unix://…``.
    :param name: name of the index, for messages.
    :param cluster: the server is one of a cluster.
    :param parameters: further parameters of redis-py's client.
    :raises SchemeError: the URL is not that of a Redis server.
    :raises SchemeError: redis-py does not accept an option.
    :raises StorageError: the server refuses access, or may evict keys.
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
        # Connections that no thread is using.
        self._idle: list[Any] = []
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
                    retry = Retry(ExponentialBackoff(cap=0.5, base=0.05), _RETRIES)
                    self._client = redis.Redis.from_url(
                        url,
                        **{"retry": retry, "retry_on_error": [NoConnection, NoAnswer], **options},
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
        with self._translated():
            if not self.cluster:
                [answer] = self._exchange(script, keys, arguments)
                return answer
            try:
                return self._client.evalsha(script.sha, len(keys), *keys, *arguments)
            except NoScriptError:  # a restart or SCRIPT FLUSH has removed it from the server
                return self._client.eval(script.source, len(keys), *keys, *arguments)

    def run_and_mget(
        self, script: Script, keys: Sequence[bytes], arguments: Sequence[Any], mget: bytes
    ) -> tuple[Any, list[bytes | None]]:
        """Run a script, then a packed MGET, in one round trip. Not in a cluster."""
        with self._translated():
            answer, values = self._exchange(script, keys, arguments, mget)
            return answer, values

    def mget(self, mget: bytes) -> list[bytes | None]:
        """Run a packed MGET, and return the values. Not in a cluster."""
        with self._translated():
            [answer] = self._send(mget, 1)
            if isinstance(answer, RedisError):
                raise answer
            values: list[bytes | None] = answer
            return values

    def _exchange(
        self, script: Script, keys: Sequence[bytes], arguments: Sequence[Any], mget: bytes = b""
    ) -> list[Any]:
        """Run a script and, if given, a packed command. Return the answers; raise their errors."""
        packed = pack("EVALSHA", script.sha, len(keys), *keys, *arguments) + mget
        while True:
            answers = self._send(packed, 2 if mget else 1)
            if isinstance(answers[0], NoScriptError):  # a restart or SCRIPT FLUSH has removed it
                self._client.script_load(script.source)
                continue
            for answer in answers:
                if isinstance(answer, RedisError):
                    raise answer
            return answers

    def _send(self, packed: bytes, count: int) -> list[Any]:
        """Send packed commands on one connection, and return their answers, errors included. This
        takes a fraction of the CPU time of redis-py's methods.
        """
        for attempt in range(1, _TRIES):
            with suppress(NoConnection, NoAnswer):
                return self._send_once(packed, count)
            time.sleep(0.05 * 2**attempt)
        return self._send_once(packed, count)

    def _send_once(self, packed: bytes, count: int) -> list[Any]:
        connection = self._idle_connection() or self._client.connection_pool.get_connection()
        try:
            connection.send_packed_command([packed])
            answers = [_answer(connection) for _ in range(count)]
        except BaseException:
            # A late answer would be taken for that of the next command, so the connection is
            # closed; and so are the idle ones, which may be broken, too.
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
        """Return an idle connection, or None. The pool would take as long as to send a command."""
        with suppress(IndexError):
            return self._idle.pop()
        return None

    def call(self, *command: Any) -> Any:
        """Run a command, and return its answer. In a cluster, its keys must be in one slot."""
        with self._translated():
            return self._client.execute_command(*command)

    def each(self, pattern: bytes, *commands: str) -> Iterator[tuple[bytes, list[Any]]]:
        """Yield (key, answers to commands on it, such as GET) for all keys that match a pattern.

        A key may be yielded twice. Keys that are created or deleted during the scan may be missing.
        """
        with self._translated():
            clients = [self._client]
            if self.cluster:
                primaries = self._client.get_primaries()
                clients = [self._client.get_redis_connection(node) for node in primaries]
            for client in clients:
                scan = client.scan_iter(match=pattern, count=_SCANNED_AT_ONCE)
                while keys := list(islice(scan, _SCANNED_AT_ONCE)):
                    with client.pipeline(transaction=False) as pipeline:
                        for key in keys:
                            for command in commands:
                                pipeline.execute_command(command, key)
                        answers = iter(pipeline.execute())
                    for key in keys:
                        yield key, [next(answers) for _ in commands]

    def values(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys, which may be in several slots."""
        with self._translated():
            mget = self._client.mget_nonatomic if self.cluster else self._client.mget
            values: list[bytes | None] = mget(keys)
            return values

    def close(self) -> None:
        """Close all connections."""
        with self._translated():
            disconnect(self._client)

    def _require_noeviction(self) -> None:
        with self._translated():
            target = {"target_nodes": RedisCluster.PRIMARIES} if self.cluster else {}
            answer = self._client.info("memory", **target)
        for memory in answer.values() if self.cluster and len(answer) else [answer]:
            if not isinstance(memory, dict):
                memory = answer  # noqa: PLW2901 - a cluster of one primary answers as one server
            policy = memory.get("maxmemory_policy", "noeviction")
            if policy != "noeviction":
                raise StorageError(
                    self.location,
                    f"the server's maxmemory-policy is {policy}, so it may drop parts of the "
                    "index: run `CONFIG SET maxmemory-policy noeviction`, or use another server",
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
        except (NoConnection, NoAnswer, RedisClusterException) as error:
            raise IndexUnreachable(
                self.location,
                f"the server cannot be reached ({_line(error)}): check the URL, and that the "
                "server runs",
            ) from error
        except RedisError as error:
            if isinstance(error, OutOfMemoryError) or str(error).startswith("OOM"):
                raise StorageError(
                    self.location,
                    f"the server's memory is full ({_line(error)}): raise maxmemory, or remove old "
                    "pages; nothing was written",
                ) from error
            raise StorageError(self.location, f"the server answers: {_line(error)}") from error
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
    else:
        client.connection_pool.disconnect()


def pack(*arguments: bytes | str | int) -> bytes:
    """Return a command in Redis's protocol."""
    packed = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        value = argument if isinstance(argument, bytes) else str(argument).encode()
        packed.append(b"$%d\r\n%b\r\n" % (len(value), value))
    return b"".join(packed)


def _answer(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]
