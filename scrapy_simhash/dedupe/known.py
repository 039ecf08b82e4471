"""Compare records with a stored set that the run does not change: an index, or other files."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simhash.detector import evidence_of
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.manifest import FILE_NAME as MANIFEST
from scrapy_simhash.maintenance.explain import predict
from scrapy_simhash.maintenance.sources import manifest_of, opened_index
from scrapy_simhash.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scrapy_simhash.dedupe.options import DedupeOptions
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.index import ObservingIndex
    from scrapy_simhash.index.redis.index import RedisIndex


@dataclass(frozen=True)
class KnownRecords:
    """The records of a stored set.

    :param index: index of the records, which is not changed.
    """

    index: ObservingIndex | RedisIndex
    options: DedupeOptions

    def verdict(self, key: str, record: PageFingerprint) -> Verdict | None:
        """Return the verdict on a record whose content is in the set; None for other records.

        :return: its kind is ``near-duplicate`` or ``unchanged``.
        :raises StorageError: the index fails.
        """
        if record.fingerprint is None:
            return None
        scope = self.options.scope
        prediction = predict(
            self.index,
            key,
            record.fingerprint,
            evidence_of(key, record),
            in_scope=None if scope is None else scope(key),
        )
        if prediction.kind not in ("near-duplicate", "unchanged"):
            return None
        return Verdict(
            kind=prediction.kind,
            key=key,
            bits=self.options.scheme.bits,
            fingerprint=record.fingerprint,
            representative=prediction.representative,
            distance=prediction.distance,
            similarity=prediction.similarity,
        )


def index_among(paths: Sequence[Path]) -> Path | None:
    """Return the directory of the index that the paths name; None if they name files.

    :raises SimhashError: an index is named beside other paths.
    """
    for path in paths:
        if (path / MANIFEST).is_file():
            if len(paths) > 1:
                raise SimhashError(
                    f"{path} is an index, which must be the only set to compare with: `scrapy "
                    "simhash merge` makes one index of several"
                )
            return path
    return None


@contextmanager
def opened_known(directory: Path, options: DedupeOptions) -> Iterator[KnownRecords]:
    """Open an index to compare with.

    :raises SimhashError: its fingerprints are of another scheme.
    :raises StorageError: it is missing, in use, or cannot be read.
    """
    scheme_id = manifest_of(directory).scheme.id
    if scheme_id != options.scheme.id:
        raise SimhashError(
            f"{directory} has fingerprints of the scheme {scheme_id}, but this run uses "
            f"{options.scheme.id}: choose the same with --preset"
        )
    with opened_index(
        directory, max_distance=options.max_distance, confirmation=options.confirmation
    ) as index:
        yield KnownRecords(index, options)
