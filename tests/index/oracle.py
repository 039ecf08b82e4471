"""The contract of `Index` in lists and linear scans."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Row:
    key: str
    fingerprint: int
    age: int
    last_sequence: int


class Oracle:
    """An index that is opened by one crawl after the other.

    :param sites: a page's representative must be of its own one of so many sites.
    """

    def __init__(self, k, sites):
        self.k = k
        self.sites = sites
        self.stored = {}
        self.log = []
        self.clock = 0
        self.began = 0
        self.open(incremental=False)

    def open(self, *, incremental, goes_on=False):
        """What is pending is forgotten.

        :param goes_on: with the crawl before.
        """
        self.incremental = incremental
        self.pending = {}
        self.superseding = {}
        self.outdated = {}
        if not goes_on:
            self.began = self.clock + 1

    def site_of(self, key):
        return ord(key[-1]) % self.sites

    def near(self, a, b):
        return (a ^ b).bit_count() <= self.k

    def counts(self, row):
        return self.incremental or row.last_sequence >= self.began

    def own(self, key):
        in_flight = [row for row in self.pending.values() if row.key == key]
        return in_flight[-1] if in_flight else self.stored.get(key)

    def scan(self, fingerprint):
        # Of texts that are as old, that of a page and of its second look, the stored one is first.
        rows = dict.fromkeys([*self.stored.values(), *self.pending.values()])
        distances = [((row.fingerprint ^ fingerprint).bit_count(), row.age, row) for row in rows]
        return sorted((one for one in distances if one[0] <= self.k), key=lambda one: one[:2])

    def query(self, fingerprint):
        nearest = {}
        for distance, _, row in self.scan(fingerprint):
            nearest.setdefault(row.key, (row.key, row.fingerprint, distance))
        return list(nearest.values())

    def observe(self, key, fingerprint):
        """Return kind, representative, distance, and whether a copy is provisional; the clock then
        has the number of the observation.
        """
        self.clock += 1
        own = self.own(key)
        distance = None if own is None else (own.fingerprint ^ fingerprint).bit_count()
        same = own is not None and self.near(own.fingerprint, fingerprint)
        others = [
            one
            for one in self.scan(fingerprint)
            if one[2].key != key and self.site_of(one[2].key) == self.site_of(key)
        ]
        grounds = [one for one in others if self.counts(one[2])]
        is_settled = same and self.counts(own)
        if grounds and not is_settled:
            nearest, _, row = grounds[0]
            self.log.append((key, row.key, nearest, fingerprint))
            is_provisional = not any(one in self.stored.values() for _, _, one in grounds)
            return "near-duplicate", row.key, nearest, is_provisional
        if not is_settled:
            self.outdated[self.clock] = [one[2].key for one in others]
        stored = self.stored.get(key)
        if not same or stored is None or not self.near(stored.fingerprint, fingerprint):
            self.pending[self.clock] = Row(key, fingerprint, self.clock, self.clock)
        elif stored.last_sequence < self.began:
            now = stored.fingerprint if self.incremental else fingerprint
            self.pending[self.clock] = replace(stored, last_sequence=self.clock, fingerprint=now)
        return ("unchanged" if same else "changed" if own else "new"), None, distance, None

    def supersede(self, sequence, one):
        self.pending[sequence] = Row(one.key, one.fingerprint, sequence, sequence)
        self.superseding[sequence] = one.representative

    def discard(self, sequence):
        self.pending.pop(sequence, None)

    def confirm(self, sequence):
        """Return True if the page superseded its representative."""
        row = self.pending.pop(sequence, None)
        if row is None:
            return False
        stored = self.stored.get(row.key)
        if stored is not None and stored.last_sequence > row.last_sequence:
            return False  # what was seen later was confirmed before
        if stored is not None and self.near(stored.fingerprint, row.fingerprint):
            now = stored if self.counts(stored) else row
            row = replace(stored, last_sequence=row.last_sequence, fingerprint=now.fingerprint)
        self.stored[row.key] = row
        in_flight = {other.key for other in self.pending.values()}
        representative = self.superseding.get(sequence)
        if representative is not None:
            old = self.stored.get(representative)
            if (
                old is None
                or old.key in in_flight
                or not self.near(old.fingerprint, row.fingerprint)
            ):
                return False
            del self.stored[old.key]
            self.clock += 1
            distance = (old.fingerprint ^ row.fingerprint).bit_count()
            self.log.append((old.key, row.key, distance, old.fingerprint))
            return True
        if not self.incremental:
            for key in self.outdated.get(sequence, ()):
                other = self.stored.get(key)
                if (
                    other is not None
                    and not self.counts(other)
                    and key not in in_flight
                    and self.near(other.fingerprint, row.fingerprint)
                ):
                    del self.stored[key]
        return False
