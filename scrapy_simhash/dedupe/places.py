"""Where a run reads and writes: what cannot be is said before it begins, and what is whole is put
in its place, where nothing else is written over.
"""

from __future__ import annotations

import errno
import filecmp
import os
import secrets
import shutil
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from scrapy_simhash.dedupe.options import Places


def check_places(places: Places) -> None:
    """:raises SimhashError: what is written would be what is read, or written, too."""
    written = {
        "output": places.output_file,
        "verdicts": places.verdicts,
        "index": places.index,
        "state of the run": places.state,
    }
    named = [(role, path) for role, path in written.items() if path is not None]
    for _, out in named:
        for path in places.inputs:
            if out.exists() and out.samefile(path):
                raise SimhashError(f"{out} is an input: write to another file")
            if _lies_in(out, path):
                raise SimhashError(f"{out} lies in {path}, which is read: write elsewhere")
            if _lies_in(path, out):
                raise SimhashError(f"{path}, which is read, lies in {out}: write elsewhere")
    for (role, out), (other_role, other) in combinations(named, 2):
        if real(out) == real(other):
            raise SimhashError(f"{out} cannot be both the {role} and the {other_role}")
        for inner, outer in ((out, other), (other, out)):
            if _lies_in(inner, outer):
                raise SimhashError(f"{inner} lies in {outer}, which is written, too: name another")
    for file in (places.output_file, places.verdicts):
        if file is not None:
            _check_kind(file)


def _check_kind(out: Path) -> None:
    if out.exists() and not (out.is_file() or out.is_dir()):
        raise SimhashError(
            f"{out} is a device or a pipe: write to a file, or with -o - to standard output"
        )
    for folder in (out.parent, real(out).parent):
        if not folder.is_dir():
            raise SimhashError(f"{out} cannot be written: there is no folder {folder}")


def real(path: Path) -> Path:
    """Where links lead to, whether that is there or not."""
    return Path(os.path.realpath(path))


def _lies_in(inner: Path, outer: Path) -> bool:
    return real(outer) in real(inner).parents


def in_the_way(places: Places, *, folder: bool, placed: bool, log: Path) -> str | None:
    """What would be written over, and what to do about it.

    :param folder: the output is one.
    :param placed: by this run, the output.
    :param log: of which the verdicts are a copy.
    """
    out, verdicts = places.output_file, places.verdicts
    if out is not None and not placed and (found := _found(out, places, folder=folder)):
        return found
    if verdicts is not None and not _equal(verdicts, log):
        return _found(verdicts, places)
    return None


def _found(path: Path, places: Places, *, folder: bool = False) -> str | None:
    if path.is_dir():
        if folder and not any(path.iterdir()):
            return None
        return f"{path} is a folder that is there already: name another"
    if not path.exists():
        return None
    if folder:
        return f"{path} is a file that is there already, and a folder is written: name another"
    return None if places.overwrite else f"{path} is there already: --overwrite writes over it"


def _equal(one: Path, other: Path) -> bool:
    return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)


def put_in_place(whole: Path, path: Path) -> None:
    """Give a file or folder its name, on whatever file system that is. Links are followed."""
    path = real(path)
    if path.exists():
        shutil.copymode(path, whole)
    try:
        whole.replace(path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    else:
        return
    # With anything added, a name that fits may be too long.
    near = path.with_name(f".simhash-{secrets.token_hex(8)}")
    try:
        if whole.is_dir():
            shutil.copytree(whole, near)
        else:
            shutil.copy2(whole, near)
            bring_to_disk(near)
        near.replace(path)
    finally:
        discard(near)
    discard(whole)


def bring_to_disk(path: Path) -> None:
    """A file that was written survives a power loss from now on."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def discard(path: Path) -> None:
    """Delete a file, or a folder with all that is in it, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def difference(before: dict[str, Any], order: dict[str, Any], directory: Path) -> str:
    """How a run differs from the interrupted one, and what to do."""
    different = [name for name in order if before.get(name) != order[name]]
    if different == ["options"]:
        old, new = before["options"], order["options"]
        different = [
            f"{name} ({old.get(name)} before)" for name in new if old.get(name) != new[name]
        ]
    return (
        f"{directory} is of an interrupted run that differs in {', '.join(different)}: ask "
        "for the same to go on with it, or begin anew with --restart"
    )
