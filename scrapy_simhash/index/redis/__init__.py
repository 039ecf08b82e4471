"""An index on a Redis server or cluster, which many crawlers share.

Start with `open_redis_index`. It needs redis-py: ``pip install scrapy-simhash[redis]``.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.errors import (
    IndexForeign,
    IndexMismatch,
    IndexMissing,
    PlanError,
    SchemeError,
    StorageError,
)
from scrapy_simhash.index.plan import MIN_RECALL, TablePlan
from scrapy_simhash.index.redis.urls import masked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.index.redis.layout import Layout
    from scrapy_simhash.index.redis.manifest import RedisManifest
    from scrapy_simhash.index.redis.server import Server
    from scrapy_simhash.scheme import Scheme

DEFAULT_EXPECTED_PAGES = 1_000_000
DEFAULT_LEASE_S = 60.0
# (pages up to which, tables, bits of a prefix, probes). Tables are fewer than on disk, because each
# takes memory. Small indexes have short prefixes: a probe costs the server a key, so few probes of
# buckets with dozens of records are cheaper than many of small ones. All plans find at least 99.5 %
# of real near-duplicates (`probing.typical_recall`).
_PROBING = ((200_000, 5, 12, 64), (3_000_000, 5, 16, 192), (None, 8, 18, 256))
_MIN_TYPICAL_RECALL = 0.985
_MIN_PROBED_BITS = 128

logger = logging.getLogger(__name__)


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
) -> RedisIndex:
    """Open an index, or create it. For what is not said here, see `scrapy_simhash.open_index`.

    :param url: of the server, such as ``redis://user:password@host:6379/0``; ``rediss://`` and
        ``unix://`` are possible, too.
    :param name: of the index, such as ``shop:simhash``. All of its keys begin with it.
    :param crawl: a name that several processes share which crawl together: what one of them has met
        counts for all.
    :param lease_s: how long pages of a crawler that has died stay pending.
    :param cluster: the server is one of a Redis cluster.
    :param parameters: further parameters of redis-py's client.
    :param create: if False, the index must exist.
    :raises SchemeError: redis-py is not installed, or the URL or the name is not valid.
    :raises IndexMismatch: the index was created with another scheme or plan, or another process of
        the crawl has other settings.
    :raises IndexForeign: something else is stored under the name.
    :raises StorageError: the server cannot be reached, refuses us, or may evict keys.
    """
    if not lease_s > 0:
        raise SchemeError(f"a lease of {lease_s} s: more than 0 is needed")
    server = _connected(url, name, parameters, cluster=cluster)
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.index.rules import Rules

    try:
        wanted = _Wanted(create, scheme, max_distance, plan, expected_pages, confirmation)
        manifest = _manifest(server, name, wanted)
        distance = manifest.max_distance if max_distance is None else max_distance
        rules = Rules(distance, manifest.confirmation if confirmation is None else confirmation)
        settings = {
            "max_distance": rules.max_distance,
            "min_resemblance": rules.confirmation.min_resemblance,
            "same_name": rules.confirmation.same_name,
            "incremental": incremental,
        }
        index = RedisIndex(
            server,
            manifest,
            name,
            rules=rules,
            incremental=incremental,
            crawl_start=_began(server, manifest.layout(name), crawl, crawl_start, settings),
            lease_s=lease_s,
        )
    except BaseException:
        server.close()
        raise
    return index


def choose_redis_plan(bits: int, max_distance: int, expected_pages: int) -> TablePlan:
    """Return the tables of a new index."""
    from scrapy_simhash.index.cost import choose_plan
    from scrapy_simhash.index.probing import typical_recall

    if bits >= _MIN_PROBED_BITS:
        for pages, tables, width, probes in _PROBING:
            if (pages is None or expected_pages <= pages) and tables * width <= bits:
                plan = TablePlan(bits, tables, prefix_bits=width, probes=probes)
                if typical_recall(plan, max_distance) >= _MIN_TYPICAL_RECALL:
                    return plan
    return choose_plan(bits, max_distance, expected_pages, probing=False)


@dataclass(frozen=True)
class RedisAddress:
    """The place of an index; `str` shows it without secrets.

    For the parameters see `open_redis_index`.
    """

    url: str = field(repr=False)
    name: str
    cluster: bool = False
    parameters: Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        masked(self.url)  # refuses other URLs

    def __str__(self) -> str:
        return f"{masked(self.url)} {self.name}"

    def open(self, **options: Any) -> RedisIndex:
        """Open the index, which must exist, with options of `open_redis_index`."""
        return open_redis_index(
            self.url,
            self.name,
            cluster=self.cluster,
            parameters=self.parameters,
            create=False,
            **options,
        )

    def make(self, manifest: RedisManifest) -> RedisIndex:
        """Make a new index.

        :raises StorageError: there is one.
        """
        from scrapy_simhash.index.redis.layout import state_key

        server = _connected(self.url, self.name, self.parameters, cluster=self.cluster)
        try:
            made = server.call("SET", state_key(self.name, "manifest"), manifest.to_json(), "NX")
        finally:
            server.close()
        if not made:
            raise StorageError(str(self), "there is an index of that name: choose a new name")
        return self.open()

    def delete(self) -> bool:
        """Delete the index, and no other key. Return False if there was none.

        :raises IndexLocked: crawls use it.
        """
        try:
            index = self.open()
        except IndexMissing:
            return False
        with index:
            index.delete()
        return True


def _connected(
    url: str, name: str, parameters: Mapping[str, Any] | None, *, cluster: bool
) -> Server:
    if not name or "{" in name or "}" in name:
        raise SchemeError(f"{name!r} is no name of an index in Redis: a text without braces is")
    try:
        from scrapy_simhash.index.redis.server import Server
    except ImportError as error:
        raise SchemeError(
            f"an index in Redis needs the package redis, which cannot be imported ({error}): "
            "pip install scrapy-simhash[redis]"
        ) from error
    return Server(url, name, cluster=cluster, parameters=parameters)


class _Wanted(NamedTuple):
    """The arguments of `open_redis_index` that an index is made with."""

    create: bool
    scheme: Scheme | None
    max_distance: int | None
    plan: TablePlan | None
    expected_pages: int
    confirmation: Confirmation | None


def _manifest(server: Server, name: str, wanted: _Wanted) -> RedisManifest:
    """Return the manifest of the index, which is made if there is none."""
    from scrapy_simhash.index.redis.layout import state_key
    from scrapy_simhash.index.redis.manifest import RedisManifest

    key = state_key(name, "manifest")
    text = _text(server, key)
    if text is None:
        if not wanted.create:
            raise IndexMissing(server.location, "there is no index of that name")
        made = new_redis_manifest(*wanted[1:])
        # Another process may be faster.
        server.call("SET", key, made.to_json(), "NX")
        text = _text(server, key) or ""
    made = RedisManifest.from_json(server.location, text)
    for what, made_with, asked in (
        ("scheme", made.scheme.id, wanted.scheme.id if wanted.scheme else None),
        ("tables", repr(made.plan), repr(wanted.plan) if wanted.plan else None),
    ):
        if asked is not None and made_with != asked:
            raise IndexMismatch(
                server.location,
                f"it was made with the {what} {made_with}, not {asked}: use these, or another "
                "name; nothing was changed",
            )
    max_distance = wanted.max_distance
    if max_distance is not None:
        if not 0 <= max_distance < made.scheme.bits:
            raise PlanError(
                f"distance {max_distance} of {made.scheme.bits} bits: 0 to {made.scheme.bits - 1}"
            )
        recall = made.plan.recall(max_distance) if max_distance > made.max_distance else 1.0
        if recall < MIN_RECALL:
            raise PlanError(
                f"{made.plan} find {recall:.0%} of the pairs at distance {max_distance}, less than "
                f"{MIN_RECALL:.0%}: lower the distance, or start with another name"
            )
    return made


def _text(server: Server, key: bytes) -> str | None:
    if server.call("TYPE", key) not in {b"string", b"none"}:
        raise IndexForeign(server.location, "its manifest is not ours: choose another name")
    value = server.call("GET", key)
    return None if value is None else value.decode("utf-8", "replace")


def new_redis_manifest(
    scheme: Scheme | None,
    max_distance: int | None,
    plan: TablePlan | None = None,
    expected_pages: int = DEFAULT_EXPECTED_PAGES,
    confirmation: Confirmation | None = None,
) -> RedisManifest:
    """Return the manifest of a new index. For the parameters see `open_redis_index`."""
    from scrapy_simhash.index import check_plan, known_scheme, preset_confirmation
    from scrapy_simhash.index.redis.layout import ENTRIES_PER_GROUP, SHARD_BITS
    from scrapy_simhash.index.redis.manifest import RedisManifest

    scheme, max_distance = known_scheme(scheme, max_distance)
    if plan is None:
        plan = choose_redis_plan(scheme.bits, max_distance, expected_pages)
    else:
        check_plan(plan, scheme, max_distance)
    groups = max(expected_pages // ENTRIES_PER_GROUP, 1)
    return RedisManifest(
        scheme,
        plan,
        max_distance,
        preset_confirmation(scheme) if confirmation is None else confirmation,
        min(max(groups.bit_length() - 1, SHARD_BITS), 32),
    )


def _began(
    server: Server,
    layout: Layout,
    crawl: str | None,
    crawl_start: int | None,
    settings: Mapping[str, Any],
) -> int:
    """Return the first sequence number of a crawl, which the first of its processes decides."""
    now = int(server.call("GET", layout.order[0]) or 0) + 1
    first = now if crawl_start is None else min(crawl_start, now)
    if crawl is None:
        return first
    crawls, ours = layout.state("crawls"), json.dumps({"began": first, **settings})
    server.call("HSETNX", crawls, crawl, ours)
    recorded = json.loads(server.call("HGET", crawls, crawl))
    first = recorded.pop("began")
    if recorded != settings:
        changed = ", ".join(
            f"{what}: {recorded.get(what)} → {value}"
            for what, value in settings.items()
            if recorded.get(what) != value
        )
        raise IndexMismatch(
            server.location,
            f"the crawl {crawl!r} began with other settings ({changed}): give all of its processes "
            "the same ones, or this crawl another name",
        )
    return int(first)
