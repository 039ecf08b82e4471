"""Check the paths of a run before it begins, so that it overwrites nothing by accident."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from scrapy_simhash.dedupe.options import DedupePaths


def check_paths(paths: DedupePaths) -> None:
    """Check that no path to write is, contains or lies in a path to read or another one to write.

    :raises SimhashError: two paths overlap; or the output or the verdicts are a device or a pipe,
        or belong in a folder that does not exist.
    """
    others = [("which is read", path) for path in (*paths.inputs, *paths.against)]
    for role, path in (
        ("output", paths.output_file),
        ("verdicts", paths.verdicts),
        ("index", paths.index),
        ("state of the run", paths.state),
    ):
        if path is None:
            continue
        for other_role, other in others:
            one, two = real_path(path), real_path(other)
            if one == two or one in two.parents or two in one.parents:
                raise SimhashError(
                    f"{path}, the {role}, and {other}, {other_role}, are the same or lie in each "
                    "other: name another path"
                )
        others.append((f"the {role}", path))
    for file in (paths.output_file, paths.verdicts):
        if file is not None:
            _check_writable(file)


def _check_writable(file: Path) -> None:
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise SimhashError(
            f"{file} is a device or a pipe: write to a file (-o - writes to standard output)"
        )
    for folder in (file.parent, real_path(file).parent):  # they differ if the file is a symlink
        if not folder.is_dir():
            raise SimhashError(f"{file} cannot be written: there is no folder {folder}")


def check_free(path: Path, *, overwrite: bool, as_folder: bool) -> None:
    """Check that nothing exists at a path, or that the run may replace it.

    :param as_folder: the run writes a folder, which may only replace an empty folder.
    :raises SimhashError: the path exists and may not be replaced.
    """
    is_folder = path.is_dir()
    if is_folder and as_folder and not any(path.iterdir()):
        return
    if path.exists() and (is_folder or as_folder):
        what = "folder" if is_folder else "file"
        raise SimhashError(f"{path} is a {what} that exists already: name another path")
    if path.exists() and not overwrite:
        raise SimhashError(f"{path} exists already: --overwrite replaces it")


def real_path(path: Path) -> Path:
    """Return an absolute path with all symlinks followed. The path need not exist."""
    return Path(os.path.realpath(path))
