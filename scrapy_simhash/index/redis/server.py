"""Talk to a Redis server or cluster: connect, run scripts, translate errors."""

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
from redis.exceptions import (
    ConnectionError as NoConnection,
)
from redis.exceptions import (
    TimeoutError as NoAnswer,
)
from redis.retry import Retry

from scrapy_simhash.errors import IndexUnreachable, StorageError
from scrapy_simhash.index.redis.urls import masked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy_simhash.index.redis.scripts import Script

_TIMEOUT_S = 10.0
_RETRIES = 3
_SCANNED_AT_ONCE = 1000


class Server:
    """A Redis server or cluster that holds an index.

    :param url: as redis-py takes it: ``redis://user:password@host:6379/0``, ``rediss://…`` or
        ``unix://…``.
    :param name: of the index; for messages.
    :param cluster: the server is one of a cluster.
    :param parameters: further ones of redis-py's client.
    :raises IndexUnreachable: it cannot be reached.
    :raises StorageError: it refuses us, or may evict keys.
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
        # Connections between two commands, of any thread.
        self._idle: list[Any] = []
        options = {
            "socket_timeout": _TIMEOUT_S,
            "socket_connect_timeout": _TIMEOUT_S,
            **(parameters or {}),
            "decode_responses": False,
        }
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

    def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[Any] = ()) -> Any:
        """Run a script, whose keys are in one slot, and return its answer."""
        with self._translated():
            if not self.cluster:
                [answer] = self._exchanged(script, keys, arguments)
                return answer
            try:
                return self._client.evalsha(script.sha, len(keys), *keys, *arguments)
            except NoScriptError:  # the server was started again, or SCRIPT FLUSH
                return self._client.eval(script.source, len(keys), *keys, *arguments)

    def run_and_get(
        self, script: Script, keys: Sequence[bytes], arguments: Sequence[Any], get: bytes
    ) -> tuple[Any, list[bytes | None]]:
        """Run a script and then a packed command, on a single server, in one round trip."""
        with self._translated():
            answer, values = self._exchanged(script, keys, arguments, get)
            return answer, values

    def get(self, get: bytes) -> list[bytes | None]:
        """Carry out a packed command on a single server."""
        with self._translated():
            [values] = self._sent(get, 1)
            if isinstance(values, RedisError):
                raise values
            found: list[bytes | None] = values
            return found

    def _exchanged(
        self, script: Script, keys: Sequence[bytes], arguments: Sequence[Any], get: bytes = b""
    ) -> list[Any]:
        """Run a script on a single server, and then the packed command if there is one."""
        packed = pack("EVALSHA", script.sha, len(keys), *keys, *arguments) + get
        while True:
            answers = self._sent(packed, 2 if get else 1)
            if isinstance(answers[0], NoScriptError):  # it was started again, or SCRIPT FLUSH
                self._client.script_load(script.source)
                continue
            for answer in answers:
                if isinstance(answer, RedisError):
                    raise answer
            return answers

    def _sent(self, packed: bytes, answers: int) -> list[Any]:
        """Send packed commands on one connection, and return the answers, errors included.

        Commands that are packed here cost a fraction of what the methods of redis-py cost.
        """
        for attempt in range(1, _RETRIES):
            with suppress(NoConnection, NoAnswer):
                return self._sent_once(packed, answers)
            time.sleep(0.05 * 2**attempt)
        return self._sent_once(packed, answers)

    def _sent_once(self, packed: bytes, answers: int) -> list[Any]:
        connection = self._idle_connection() or self._client.connection_pool.get_connection()
        try:
            connection.send_packed_command([packed])
            found = [_answer(connection) for _ in range(answers)]
        except BaseException:
            # An answer may be on its way; and where one connection is broken, the idle ones may be.
            while connection is not None:
                connection.disconnect()
                self._client.connection_pool.release(connection)
                connection = self._idle_connection()
            raise
        self._idle.append(connection)
        return found

    def _idle_connection(self) -> Any:
        """Return a connection, or None. The pool takes as long to lend one as it takes to send."""
        with suppress(IndexError):
            return self._idle.pop()
        return None

    def call(self, *command: Any) -> Any:
        """Carry out a command on one key."""
        with self._translated():
            return self._client.execute_command(*command)

    def each(self, pattern: bytes, *commands: str) -> Iterator[tuple[bytes, list[Any]]]:
        """Yield all keys that match a pattern, with the answers to commands on each, such as GET.

        A key may come twice; one that is made or deleted meanwhile may come, or not.
        """
        with self._translated():
            clients = [self._client]
            if self.cluster:
                primaries = self._client.get_primaries()
                clients = [self._client.get_redis_connection(node) for node in primaries]
            for client in clients:
                found = client.scan_iter(match=pattern, count=_SCANNED_AT_ONCE)
                while keys := list(islice(found, _SCANNED_AT_ONCE)):
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
            client = self._client
            found: list[bytes | None] = (
                client.mget_nonatomic(keys) if self.cluster else client.mget(keys)
            )
            return found

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
                    "index: `CONFIG SET maxmemory-policy noeviction`, or use a server of its own",
                )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn errors of redis-py into our own, which name no secret."""
        try:
            yield
        except (AuthenticationError, NoPermissionError) as error:
            raise StorageError(
                self.location,
                f"the server refuses us ({_words(error)}): check user and password in the URL, and "
                "the user's rights (ACL)",
            ) from error
        except OutOfMemoryError as error:
            raise self._full(error) from error
        except (NoConnection, NoAnswer, RedisClusterException) as error:
            raise IndexUnreachable(
                self.location,
                f"the server cannot be reached ({_words(error)}): check that it runs, and the URL",
            ) from error
        except RedisError as error:
            if str(error).startswith("OOM"):
                raise self._full(error) from error
            raise StorageError(self.location, f"the server says: {_words(error)}") from error
        except OSError as error:
            raise IndexUnreachable(
                self.location, f"the connection failed: {_words(error)}"
            ) from error

    def _full(self, error: RedisError) -> StorageError:
        return StorageError(
            self.location,
            f"the server's memory is full ({_words(error)}): raise maxmemory, or remove old pages; "
            "nothing was written",
        )


def disconnect(client: redis.Redis | RedisCluster) -> None:
    """Close a client's connections, also those that a cluster's client forgets to close."""
    client.close()
    if isinstance(client, RedisCluster):
        nodes = client.nodes_manager
        for node in (*nodes.startup_nodes.values(), *nodes.nodes_cache.values()):
            if node.redis_connection is not None:
                node.redis_connection.connection_pool.disconnect()
    else:
        client.connection_pool.disconnect()


def pack(*arguments: bytes | str | int) -> bytes:
    """Return a command as Redis takes it."""
    packed = [b"*%d\r\n" % len(arguments)]
    for one in arguments:
        value = one if isinstance(one, bytes) else str(one).encode()
        packed.append(b"$%d\r\n%b\r\n" % (len(value), value))
    return b"".join(packed)


def _answer(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]
