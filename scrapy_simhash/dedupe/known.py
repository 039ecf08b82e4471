"""Compare records with a stored set: an index of other records, which the run does not change."""

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
    from scrapy_simhash.index import Index


@dataclass(frozen=True)
class KnownRecords:
    """A stored set: records in an index that is only read."""

    index: Index
    options: DedupeOptions

    def verdict(self, key: str, record: PageFingerprint) -> Verdict | None:
        """Return a verdict if the set has a copy of a record, else None.

        The kind is ``near-duplicate``, or ``unchanged`` for a copy with the same key.

        :raises StorageError: the index fails.
        """
        if record.fingerprint is None:
            return None
        prediction = predict(
            self.index,
            key,
            record.fingerprint,
            evidence_of(key, record),
            in_scope=self.options.in_scope(key),
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
    """Return the path that is the directory of an index, if any.

    :raises SimhashError: there are other paths beside it.
    """
    for path in paths:
        if (path / MANIFEST).is_file():
            if len(paths) > 1:
                raise SimhashError(
                    f"{path} is an index, and must be the only set to compare with: merge indexes "
                    "with `scrapy simhash index merge`, or add files to one with `dedupe --index`"
                )
            return path
    return None


@contextmanager
def opened_known(directory: Path, options: DedupeOptions) -> Iterator[KnownRecords]:
    """Open an index, and yield its records.

    :raises SimhashError: it has another scheme, or its tables do not fit `max_distance`.
    :raises StorageError: it is missing, in use, or cannot be read.
    """
    scheme_id = manifest_of(directory).scheme.id
    if scheme_id != options.scheme.id:
        raise SimhashError(
            f"{directory} has fingerprints of the scheme {scheme_id}, but this run uses "
            f"{options.scheme.id}: choose the scheme of the index, for example with --preset"
        )
    with opened_index(
        directory, max_distance=options.max_distance, confirmation=options.confirmation
    ) as index:
        yield KnownRecords(index, options)
