"""Detect floods: clusters with more near-duplicates than a limit.

A flood is more often a ban page, a soft 404 or a broken extraction than real copies.
"""

from __future__ import annotations

from scrapy.utils.datatypes import LocalCache

DEFAULT_CLUSTER_LIMIT = 100
# The cluster whose last near-duplicate is oldest is forgotten first, so a growing flood is kept.
_WATCHED_CLUSTERS = 10_000


class Floods:
    """A flood detector that counts each page of a cluster once.

    :param limit: upper limit for the near-duplicates of one representative; 0 means no limit.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        # Hash of the representative → hashes of its near-duplicates. URLs would take more memory.
        self._members: LocalCache[int, tuple[int, ...]] = LocalCache(_WATCHED_CLUSTERS)

    def add(self, representative: str, key: str) -> bool:
        """Add a near-duplicate to its cluster. Return True if the cluster now exceeds the limit."""
        if not self.limit:
            return False
        cluster, page = hash(representative), hash(key)
        members = self._members.pop(cluster, ())
        if len(members) <= self.limit and page not in members:
            members += (page,)
        self._members[cluster] = members
        return len(members) > self.limit
