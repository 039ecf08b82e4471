"""An index on a Redis server or cluster, which many crawlers share.

Start with `open_redis_index`. It needs redis-py: ``pip install scrapy-simhash[redis]``.
"""

from __future__ import annotations

import json
import re
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_simhash.errors import (
    IndexMismatch,
    IndexMissing,
    SchemeError,
)
from scrapy_simhash.index.database import REDIS_REMEDY, corrupt
from scrapy_simhash.index.index import Index, rules_of
from scrapy_simhash.index.manifest import IndexSpec, Manifest
from scrapy_simhash.index.plan import DEFAULT_EXPECTED_PAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.index.redis.store import RedisStore
    from scrapy_simhash.index.rules import CrawlRules
    from scrapy_simhash.scheme import Scheme

DEFAULT_LEASE_S, MIN_LEASE_S = 60.0, 0.1
SCHEMES = ("redis", "rediss", "unix")


def open_redis_index(
    url: str,
    name: str,
    scheme: Scheme | None = None,
    *,
    max_distance: int | None = None,
    plan: TablePlan | None = None,
    expected_pages: int = DEFAULT_EXPECTED_PAGES,
    incremental: bool = False,
    crawl_start: int | None = None,
    crawl: str | None = None,
    confirmation: Confirmation | None = None,
    lease_s: float = DEFAULT_LEASE_S,
    cluster: bool = False,
    parameters: Mapping[str, Any] | None = None,
    create: bool = True,
) -> Index:
    """Open an index, or create it. `scrapy_simhash.open_index` describes the other parameters.

    :param url: ``redis://user:password@host:6379/0``, ``rediss://…`` or ``unix://…``.
    :param name: name of the index, such as ``shop:simhash``. All of its Redis keys begin with it.
    :param crawl: name of a crawl that several processes share: what one has seen counts for all.
    :param lease_s: how long pages of a crawler that has died stay pending, at least 0.1.
    :param cluster: the server is one of a Redis cluster.
    :param parameters: further parameters of redis-py's client.
    :param create: if False, the index must exist.
    :raises SchemeError: redis-py is not installed, or the URL, the name or the lease is not valid.
    :raises PlanError: `max_distance` is too large for the tables of the index, or for any.
    :raises IndexMissing: there is no index, and `create` is False.
    :raises IndexMismatch: the index has another scheme, plan or format version, or another process
        of the crawl has other settings.
    :raises IndexForeign: something else is stored under the name.
    :raises StorageError: the server cannot be reached, refuses access, or may evict keys.
    """
    if not lease_s >= MIN_LEASE_S:
        raise SchemeError(f"lease_s is {lease_s}: at least {MIN_LEASE_S} is needed")
    spec = IndexSpec("redis", scheme, max_distance, plan, expected_pages, confirmation)
    address = RedisAddress(url, name, cluster, parameters)
    store = address.store(lease_s, spec.to_manifest if create else None)
    try:
        spec.check_existing(store.location, store.manifest)
        rules = rules_of(store, max_distance, confirmation, incremental, crawl_start)
        if crawl is not None:
            rules = replace(rules, crawl_start=_shared_start(store, crawl, rules))
        return Index(store, rules)
    except BaseException:
        store.server.close()
        raise


@dataclass(frozen=True)
class RedisAddress:
    """The server and the name of an index; `str` and `repr` show no secrets.

    For the parameters see `open_redis_index`. :raises SchemeError: the URL is not valid.
    """

    url: str = field(repr=False)
    name: str
    cluster: bool = False
    parameters: Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        masked(self.url)  # raises SchemeError

    def __str__(self) -> str:
        return f"{masked(self.url)} {self.name}"

    def open(self, **options: Any) -> Index:
        """Open the index with options of `open_redis_index`, but `create` defaults to False."""
        return open_redis_index(
            self.url,
            self.name,
            cluster=self.cluster,
            parameters=self.parameters,
            **{"create": False, **options},
        )

    def store(
        self, lease_s: float = DEFAULT_LEASE_S, new: Callable[[], Manifest] | None = None
    ) -> RedisStore:
        """Open the store of the index, to read and change it without the rules of a crawl.

        :param new: returns the manifest with which the index is created if it is missing.
        :raises SchemeError: the name is not valid, or redis-py is missing.
        :raises StorageError: there is no index (IndexMissing), or the server fails.
        """
        if not self.name or "{" in self.name or "}" in self.name:
            raise SchemeError(
                f"the name {self.name!r} of the index is empty or has braces: use another"
            )
        try:
            from scrapy_simhash.index.redis.server import Server
            from scrapy_simhash.index.redis.store import RedisStore
        except ImportError as error:
            raise SchemeError(
                f"an index in Redis needs the package redis, which cannot be imported ({error}): "
                "pip install scrapy-simhash[redis]"
            ) from error
        server = Server(
            str(self), self.url, self.name, cluster=self.cluster, parameters=self.parameters
        )
        try:
            text = server.call("GET", "manifest")
            if text is None and new is not None:
                # NX: another process may have been faster, and then its manifest counts.
                server.call("SET", "manifest", new().to_json(), "NX")
                text = server.call("GET", "manifest")
            if text is None:
                raise IndexMissing(server.location, "there is no index of that name")
            manifest = Manifest.from_json(server.location, text)
            return RedisStore(server, manifest, lease_s)
        except BaseException:
            server.close()
            raise

    def opened_store(self) -> AbstractContextManager[RedisStore]:
        """Return a context that opens and closes the store."""
        return closing(self.store())


def _shared_start(store: RedisStore, crawl: str, rules: CrawlRules) -> int:
    """Return the first sequence number of a named crawl. Its first process sets it.

    :raises IndexMismatch: the crawl began with other settings.
    """
    server = store.server
    settings = {
        "max_distance": rules.max_distance,
        **asdict(rules.confirmation),
        "incremental": rules.incremental,
    }
    server.call("HSETNX", "crawls", crawl, json.dumps({"began": rules.crawl_start, **settings}))
    try:
        stored = json.loads(server.call("HGET", "crawls", crawl) or b"")
        first = int(stored.pop("began"))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise corrupt(server.location, f"the crawl {crawl!r}: {error!r}", REDIS_REMEDY) from error
    if stored != settings:
        changed = ", ".join(
            f"{name}: {stored.get(name)} → {value}"
            for name, value in settings.items()
            if stored.get(name) != value
        )
        raise IndexMismatch(
            server.location,
            f"the crawl {crawl!r} began with other settings ({changed})",
            "give all of its processes the same settings, or this crawl another name",
            "crawl",
        )
    return first


def masked(url: str) -> str:
    """Return the URL of a server without user, password and query.

    :raises SchemeError: the URL is not that of a Redis server, or has a fragment.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        # "/" or "#" in a password cuts the URL in the wrong place, and a part of the password would
        # be taken for the path or the fragment.
        is_valid = parts.scheme == "unix" or (
            parts.scheme in SCHEMES and host and re.fullmatch("/?[0-9]*/?", parts.path)
        )
        if parts.fragment or not is_valid:
            raise ValueError
    except ValueError:
        # The message does not repeat the URL, because it may contain a password.
        raise SchemeError(
            "the URL of the Redis server is not valid: use redis://host:6379/0, rediss://… or "
            "unix://…, and write / as %2F and # as %23 in a password"
        ) from None
    if ":" in host:
        host = f"[{host}]"
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"
