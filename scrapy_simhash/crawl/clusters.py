"""Clusters that grow too fast: a flood is more often a ban page, a soft 404 or a broken extraction
than copies.
"""

from __future__ import annotations

from collections import OrderedDict

DEFAULT_CLUSTER_LIMIT = 100
# Those that gained a page last; a flood is among them.
_WATCHED_CLUSTERS = 10_000


class Clusters:
    """Counts the pages of clusters, each page once.

    :param limit: how many near-duplicates of one representative are no flood; 0 for any number.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # Hashes, of this process alone, take less than URLs; most clusters have few.
        self._members: OrderedDict[int, tuple[int, ...]] = OrderedDict()

    def is_flood(self, representative: str, key: str) -> bool:
        """Add a near-duplicate to its cluster. True if that has more pages than the limit."""
        if not self._limit:
            return False
        cluster, page = hash(representative), hash(key)
        members = self._members.get(cluster, ())
        if len(members) <= self._limit and page not in members:
            members += (page,)
        self._members[cluster] = members
        self._members.move_to_end(cluster)
        if len(self._members) > _WATCHED_CLUSTERS:
            self._members.popitem(last=False)
        return len(members) > self._limit
