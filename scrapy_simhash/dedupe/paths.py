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
    """Check that what is written overlaps neither with what is read nor with each other.

    :raises SimhashError: paths overlap, or one cannot be written.
    """
    read = (*paths.inputs, *paths.against)
    by_role = {
        "output": paths.output_file,
        "verdicts": paths.verdicts,
        "index": paths.index,
        "state of the run": paths.state,
    }
    written = [(role, path) for role, path in by_role.items() if path is not None]
    for _, out in written:
        for path in read:
            if out.exists() and path.exists() and out.samefile(path):
                raise SimhashError(f"{out} is an input: write to another file")
            if _lies_in(out, path):
                raise SimhashError(f"{out} lies in {path}, which is read: write elsewhere")
            if _lies_in(path, out):
                raise SimhashError(f"{path}, which is read, lies in {out}: write elsewhere")
    for (role, out), (other_role, other) in combinations(written, 2):
        if real_path(out) == real_path(other):
            raise SimhashError(f"{out} cannot be both the {role} and the {other_role}")
        for inner, outer in ((out, other), (other, out)):
            if _lies_in(inner, outer):
                raise SimhashError(f"{inner} lies in {outer}, which is written, too: name another")
    for file in filter(None, (paths.output_file, paths.verdicts)):
        _check_writable(file)


def _check_writable(file: Path) -> None:
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise SimhashError(
            f"{file} is a device or a pipe: write to a file, or with -o - to standard output"
        )
    for folder in (file.parent, real_path(file).parent):
        if not folder.is_dir():
            raise SimhashError(f"{file} cannot be written: there is no folder {folder}")


def check_free(path: Path, *, overwrite: bool, as_folder: bool) -> None:
    """Check that a path can be written without overwriting anything against the user's will.

    :param as_folder: the output is a folder, which may replace only an empty folder.
    :raises SimhashError: the path exists and may not be replaced.
    """
    if path.is_dir():
        if not as_folder or any(path.iterdir()):
            raise SimhashError(f"{path} is a folder that exists already: name another path")
    elif path.exists():
        if as_folder:
            raise SimhashError(
                f"{path} is a file that exists already, and a folder is written: name another path"
            )
        if not overwrite:
            raise SimhashError(f"{path} exists already: --overwrite replaces it")


def real_path(path: Path) -> Path:
    """Return the path with symlinks followed, whether it exists or not."""
    return Path(os.path.realpath(path))


def _lies_in(inner: Path, outer: Path) -> bool:
    return real_path(outer) in real_path(inner).parents
