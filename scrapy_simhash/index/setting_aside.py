"""Set an index aside that a caller cannot use, and bring one back. Nothing is deleted."""

from __future__ import annotations

import re
from contextlib import suppress
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexCorrupt, IndexMismatch, StorageError
from scrapy_simhash.index import move_index
from scrapy_simhash.index.manifest import Manifest

if TYPE_CHECKING:
    from pathlib import Path

_MAX_NAME = 100


def set_aside(directory: Path, folder: Path) -> Path:
    """Move an index into a folder, under the name of its scheme, and return its new path.

    :param folder: on the same file system; it need not exist.
    :raises IndexLocked: the index is open in this process or another.
    :raises StorageError: it cannot be moved, or the directory holds other files.
    """
    try:
        manifest = Manifest.read(directory)
        name = "empty" if manifest is None else scheme_name(manifest.scheme.id)
    except IndexMismatch:
        name = "older-format"
    except IndexCorrupt:
        name = "damaged"
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    target = next(folder / name for name in names if not (folder / name).exists())
    move_index(directory, target)
    return target


def bring_back(scheme_id: str, folder: Path, directory: Path) -> Path | None:
    """Move the index of a scheme that was set aside back into its directory, which must not exist.

    Return the path that it had in the folder, or None if there is none.
    """
    source, manifest = folder / scheme_name(scheme_id), None
    with suppress(StorageError):
        manifest = Manifest.read(source)
    if manifest is None or manifest.scheme.id != scheme_id:
        return None
    move_index(source, directory)
    return source


def scheme_name(scheme_id: str) -> str:
    """Return a name for files and keys in which schemes with different ids differ."""
    name = re.sub(r"[^\w+.-]+", "-", scheme_id)
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[:_MAX_NAME]}-{blake2b(scheme_id.encode(), digest_size=4).hexdigest()}"
