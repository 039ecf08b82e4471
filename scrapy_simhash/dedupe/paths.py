"""Check the paths of a run before it begins, so that it overwrites nothing by accident."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from scrapy_simhash.dedupe.options import DedupePaths


def check_paths(paths: DedupePaths) -> None:
    """Check that no path to write overlaps a path to read or another path to write.

    :raises SimhashError: two paths overlap; or the output or the verdicts are a device or a pipe,
        or belong in a folder that does not exist.
    """
    read = (*paths.inputs, *paths.against)
    by_role = {
        "output": paths.output_file,
        "verdicts": paths.verdicts,
        "index": paths.index,
        "state of the run": paths.state,
    }
    written = [(role, path) for role, path in by_role.items() if path is not None]
    for role, path in written:
        for source in read:
            if path.exists() and source.exists() and path.samefile(source):
                raise SimhashError(f"{path} is read, so it cannot be the {role}: name another")
            if _lies_in(path, source):
                raise SimhashError(f"{path} lies in {source}, which is read: write elsewhere")
            if _lies_in(source, path):
                raise SimhashError(f"{source}, which is read, lies in {path}: write elsewhere")
    for (role, path), (other_role, other) in combinations(written, 2):
        if real_path(path) == real_path(other):
            raise SimhashError(f"{path} cannot be both the {role} and the {other_role}")
        for inner, outer in ((path, other), (other, path)):
            if _lies_in(inner, outer):
                raise SimhashError(
                    f"{inner} lies in {outer}, which is written, too: move it, or name another path"
                )
    if paths.output_file is not None:
        _check_writable(paths.output_file, " (-o - writes to standard output)")
    if paths.verdicts is not None:
        _check_writable(paths.verdicts)


def _check_writable(file: Path, advice: str = "") -> None:
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise SimhashError(f"{file} is a device or a pipe: write to a file{advice}")
    for folder in (file.parent, real_path(file).parent):  # they differ if the file is a symlink
        if not folder.is_dir():
            raise SimhashError(f"{file} cannot be written: there is no folder {folder}")


def check_free(path: Path, *, overwrite: bool, as_folder: bool) -> None:
    """Check that nothing exists at a path, or that the run may replace it.

    :param as_folder: the run writes a folder, which may only replace an empty folder.
    :raises SimhashError: the path exists and may not be replaced.
    """
    if path.is_dir():
        if not as_folder or any(path.iterdir()):
            raise SimhashError(f"{path} is a folder that exists already: name another path")
    elif path.exists():
        if as_folder:
            raise SimhashError(
                f"{path} is a file that exists already, but a folder is to be written: name another"
            )
        if not overwrite:
            raise SimhashError(f"{path} exists already: --overwrite replaces it")


def real_path(path: Path) -> Path:
    """Return an absolute path with all symlinks followed. The path need not exist."""
    return Path(os.path.realpath(path))


def _lies_in(inner: Path, outer: Path) -> bool:
    return real_path(outer) in real_path(inner).parents
