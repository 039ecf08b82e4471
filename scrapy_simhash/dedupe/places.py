"""Where a run reads and writes: what cannot be is said before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.dedupe.options import STANDARD_OUTPUT
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_simhash.dedupe.options import Places


def check_places(places: Places) -> None:
    """:raises SimhashError: what is written would be what is read."""
    written = [
        path
        for path in (places.output, places.verdicts)
        if path is not None and path != STANDARD_OUTPUT
    ]
    if any(str(path) == "-" for path in places.inputs):
        raise SimhashError("standard input cannot be read, as the input is read twice: name a file")
    for out in written:
        for path in places.inputs:
            if out.exists() and out.samefile(path):
                raise SimhashError(f"{out} is an input: write to another file")
            if path.is_dir() and path.resolve() in (out.resolve(), *out.resolve().parents):
                raise SimhashError(f"{out} lies in {path}, which is read: write elsewhere")
        if not out.parent.is_dir():
            raise SimhashError(f"{out} cannot be written: there is no folder {out.parent}")
    if len({out.resolve() for out in written}) < len(written):
        raise SimhashError(f"{written[0]} cannot be both the output and the verdicts")


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
