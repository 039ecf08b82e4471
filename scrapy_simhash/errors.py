"""The errors of this package: one root, evidence on each, and what to do next in the text.

::

    SimhashError
    ├── SchemeError (ValueError)        a scheme, preset or fingerprint that cannot be
    ├── SettingsError (ValueError)      a SIMHASH_* setting with a value that is not allowed
    ├── PlanError (ValueError)          tables that cannot find what is asked of them
    ├── ExtractionError                 the extractor failed on a page
    ├── EmptyText                       no feature is left to fingerprint
    ├── UnsupportedText (ValueError)    a text that the scheme cannot take
    ├── WorkerError                     a process that fingerprints pages does not do its work
    └── StorageError                    an index that cannot be used; never deleted by us
        ├── IndexLocked                 another process has it open
        ├── IndexForeign                the directory holds something else
        ├── IndexMismatch               made with another scheme, plan or format version
        ├── IndexCorrupt                its files are damaged
        └── IndexClosed                 used after close()
"""

from __future__ import annotations


class SimhashError(Exception):
    """Root of all errors that this package raises on purpose."""


class SchemeError(SimhashError, ValueError):
    """A scheme, preset, weight or fingerprint outside what is possible."""


class PlanError(SimhashError, ValueError):
    """A table plan that cannot be built, or cannot find enough at the distance asked for."""


class SettingsError(SimhashError, ValueError):
    """A setting with a value that is not allowed."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name} = {value!r} is not allowed: {allowed}")
        self.name = name
        self.value = value
        self.allowed = allowed

    def __reduce__(self) -> tuple[type[SettingsError], tuple[str, object, str]]:
        return type(self), (self.name, self.value, self.allowed)


class ExtractionError(SimhashError):
    """An extractor failed on a page; `extractor` names it, `__cause__` is its own error."""

    def __init__(self, extractor: str, detail: str) -> None:
        super().__init__(f"extractor {extractor!r} failed: {detail}")
        self.extractor = extractor
        self.detail = detail

    def __reduce__(self) -> tuple[type[ExtractionError], tuple[str, str]]:
        return type(self), (self.extractor, self.detail)


class EmptyText(SimhashError):
    """No feature is left of a text, so that it has no fingerprint."""


class UnsupportedText(SimhashError, ValueError):
    """A text that the scheme cannot take, such as one beyond ASCII for ``ascii-mt19937``."""


class WorkerError(SimhashError):
    """A worker process could not be started, or failed for a reason that is not a page's."""


class StorageError(SimhashError):
    """An index that cannot be opened, read or written; `location` is its directory."""

    def __init__(self, location: str, detail: str) -> None:
        super().__init__(f"index {location}: {detail}")
        self.location = location
        self.detail = detail

    def __reduce__(self) -> tuple[type[StorageError], tuple[str, str]]:
        return type(self), (self.location, self.detail)


class IndexLocked(StorageError):
    """Another process has the index open: LevelDB allows one."""


class IndexForeign(StorageError):
    """The directory holds something that is not an index of ours."""


class IndexMismatch(StorageError):
    """The index was made with another scheme, table plan or format version."""


class IndexCorrupt(StorageError):
    """The files of the index are damaged."""


class IndexClosed(StorageError):
    """The index was used after close()."""
