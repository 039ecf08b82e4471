"""Write the report of an index to a file."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.files import replaced
from scrapy_simhash.maintenance.sources import DatabaseSource, Location, opened_source
from scrapy_simhash.report.data import build
from scrapy_simhash.report.page import render

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_report(path: Path, where: Location, **options: Any) -> Mapping[str, Any]:
    """Write the report of an index to a file atomically, and return its data.

    :param options: `crawl`, `max_pages` and `max_text_bytes` of `build`.
    :raises SchemeError, StorageError: see `opened_source`.
    :raises OSError: the file cannot be written; the error names `path`, not a temporary file.
    """
    if not path.parent.is_dir():  # fail early: it may take long to collect the data
        raise OSError(errno.ENOENT, "its directory does not exist", str(path))
    data = report_data(where, **options)
    content = render(data).encode()
    try:
        with replaced(path) as temporary:
            temporary.write_bytes(content)
            # It has texts and URLs of pages, which may not be for everybody. The mode of an
            # existing file would be kept.
            for file in (temporary, path):
                if file.is_file():  # no pipe or device
                    file.chmod(0o600)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    return data


def report_data(where: Location, **options: Any) -> dict[str, Any]:
    """Return the data of a report. For options and errors, see `write_report`."""
    with opened_source(where) as source:
        # An index in Redis has no texts.
        texts = source.texts if isinstance(source, DatabaseSource) else None
        return build(source, texts, **options)
