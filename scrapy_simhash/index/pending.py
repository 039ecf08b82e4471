"""Pages that were observed and wait for `confirm` or `discard`: in memory alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simhash.fingerprint import hamming_distance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.index.base import Entry, Observation


@dataclass(eq=False, slots=True)
class Pending:
    """An observation that is not settled.

    :param entry: what queries see, and what is stored at confirm.
    :param stored: the entry that the store has under its key, at any time.
    :param unmet: stored copies of it that it takes the place of, as of its observation; None
        if that may have changed since.
    :param among: which keys those may have; all if None.
    :param supersedes: key of the representative that it takes the place of.
    """

    observation: Observation
    entry: Entry
    stored: Entry | None
    unmet: Sequence[Entry] | None
    among: Callable[[str], bool] | None = None
    supersedes: str | None = None


class PendingPages:
    """The pending observations of all who look at a store."""

    def __init__(self) -> None:
        self._by_sequence: dict[int, Pending] = {}
        self._by_key: dict[str, list[Pending]] = {}

    def add(self, pending: Pending) -> None:
        """Add an observation."""
        self._by_sequence[pending.observation.sequence] = pending
        self._by_key.setdefault(pending.observation.key, []).append(pending)

    def remove(self, sequence: int) -> None:
        """Forget the observation of that sequence, if it is here."""
        pending = self._by_sequence.pop(sequence, None)
        if pending is None:
            return
        key = pending.observation.key
        others = self._by_key[key]
        others.remove(pending)
        if not others:
            del self._by_key[key]

    def get(self, sequence: int) -> Pending | None:
        """The observation of that sequence."""
        return self._by_sequence.get(sequence)

    def of_key(self, key: str) -> Sequence[Pending]:
        """The observations of a key, oldest first."""
        return self._by_key.get(key, ())

    def within(self, fingerprint: int, max_distance: int) -> list[tuple[int, Entry]]:
        """(distance, entry) of those within the distance, by a scan: few pages are in flight."""
        return [
            (distance, pending.entry)
            for pending in self._by_sequence.values()
            if (distance := hamming_distance(fingerprint, pending.entry.fingerprint))
            <= max_distance
        ]
