"""The exceptions of this package; those of crawls are in `scrapy_simhash.crawl.exceptions`.

::

    SimhashError
    ├── SchemeError (ValueError)        an invalid scheme, preset, key or fingerprint
    ├── SettingsError (ValueError)      a SIMHASH_* setting with an invalid value
    ├── PlanError (ValueError)          an invalid distance k, or unsuitable tables
    ├── ExtractionError                 the extractor failed on a page
    ├── EmptyText                       a text without any feature to fingerprint
    ├── UnsupportedText (ValueError)    a text that the scheme does not support
    ├── WorkerError                     a worker process that cannot start or fails
    └── StorageError                    an index that cannot be used (nothing is deleted)
        ├── IndexLocked                 the index is in use
        ├── IndexForeign                the location holds other data
        ├── IndexMismatch               the index was made with another scheme, plan or format
        ├── IndexCorrupt                the files are damaged
        ├── IndexMissing                there is no index at this location
        ├── IndexUnreachable            the server does not answer
        └── IndexClosed                 used after close()
"""

from __future__ import annotations

import copyreg


class SimhashError(Exception):
    """The base class of the exceptions in this module. They can be pickled."""

    def __reduce__(self) -> tuple[object, ...]:
        # A subclass may make its message of several arguments.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class SchemeError(SimhashError, ValueError):
    """An invalid scheme, preset, feature weight, key or fingerprint."""


class PlanError(SimhashError, ValueError):
    """A distance k that is out of range, or tables that do not suit the scheme or k.

    Tables do not suit k if they find too few of the pairs at distance k.
    """


class SettingsError(SimhashError, ValueError):
    """A setting with an invalid value; `reason` says what is wrong, or which values are valid."""

    def __init__(self, name: str, value: object, reason: str) -> None:
        super().__init__(f"{name} = {value!r}: {reason}")
        self.name = name
        self.value = value
        self.reason = reason


class ExtractionError(SimhashError):
    """An extractor failed on a page. `extractor` is its name, `__cause__` its exception."""

    def __init__(self, extractor: str, detail: str) -> None:
        super().__init__(f"extractor {extractor!r} failed: {detail}")
        self.extractor = extractor
        self.detail = detail


class EmptyText(SimhashError):
    """A text without any feature, which has no fingerprint."""


class UnsupportedText(SimhashError, ValueError):
    """A text that the scheme does not support, such as non-ASCII text for ``ascii-mt19937``."""


class WorkerError(SimhashError):
    """A worker process that cannot start, or fails for a reason other than a page."""


class StorageError(SimhashError):
    """An index that cannot be opened, read or written; `location` says where it is.

    :param advice: what to do, if `detail` does not say it.
    """

    def __init__(self, location: str, detail: str, advice: str = "") -> None:
        super().__init__(f"index {location}: {detail}" + (f": {advice}" if advice else ""))
        self.location = location
        self.detail = detail
        self.advice = advice


class IndexLocked(StorageError):
    """The index is in use, by this process or another."""


class IndexForeign(StorageError):
    """The location holds data that is not an index of this package."""


class IndexMismatch(StorageError):
    """The index was made with another scheme or plan than the caller's, or has another format.

    `part` says which: ``scheme``, ``tables``, ``database``, ``format`` or, in Redis, ``crawl``.
    """

    def __init__(self, location: str, detail: str, advice: str = "", part: str = "") -> None:
        super().__init__(location, detail, advice)
        self.part = part


class IndexCorrupt(StorageError):
    """The files of the index are damaged."""


class IndexMissing(StorageError):
    """There is no index at this location."""


class IndexUnreachable(StorageError):
    """The server of the index cannot be reached, or does not answer."""


class IndexClosed(StorageError):
    """The index was used after close()."""
