"""A report of an index, in a file."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from scrapy_simhash.index.offline import read_manifest
from scrapy_simhash.index.record_files import whole_or_nothing
from scrapy_simhash.index.rewriting import opened_source
from scrapy_simhash.index.texts import opened_texts
from scrapy_simhash.index.upkeep import file_bytes
from scrapy_simhash.report.data import build
from scrapy_simhash.report.page import render

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_report(path: Path, directory: Path, **told: Any) -> Mapping[str, Any]:
    """Write the report of an index that nobody else has open, whole or not at all; returns its
    data.

    :param told: `crawl`, `cluster_limit`, `max_pages`, `max_text_bytes` of `build`.
    :raises StorageError: there is no index, it is open elsewhere, or it cannot be read.
    :raises OSError: the file cannot be written; it is named as it was asked for.
    """
    if not path.parent.is_dir():  # said now, for a large report takes a while
        raise OSError(errno.ENOENT, "its directory is not there", str(path))
    data = report_data(directory, **told)
    content = render(data).encode()
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # a pipe, whose links lead to no name, or a device
        else:
            with whole_or_nothing(path) as temporary:
                temporary.write_bytes(content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    return data


def report_data(directory: Path, **told: Any) -> dict[str, Any]:
    """What a report of an index says; see `build`. For the errors see `write_report`."""
    made = read_manifest(directory)
    size = file_bytes(made.database_path(directory))
    with opened_source(directory) as source, opened_texts(directory, made.database) as texts:
        return build(source, texts, file_bytes=size, **told)
