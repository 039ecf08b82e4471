"""The options and paths of a run of `dedupe`. Paths are checked before it begins, so that it
overwrites nothing by accident.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.detector import DEFAULT_MAX_BYTES, DEFAULT_MIN_TOKENS
from scrapy_simhash.documents.files import real_path
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.plan import DEFAULT_EXPECTED_PAGES
from scrapy_simhash.verdict import TAGGED_FIELDS
from scrapy_simhash.workers.pages import DEFAULT_TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.documents.formats import Format
    from scrapy_simhash.policy import PolicyAction
    from scrapy_simhash.scheme import Scheme
    from scrapy_simhash.sites import Scope


DEFAULT_TAGS = {name: f"simhash_{name}" for name in (*TAGGED_FIELDS, "cluster")}
STANDARD_OUTPUT = Path("-")
ADVICE = {
    "not_its_encoding": "--encoding names another encoding",
    "content_encoding": "their bodies are compressed in an unknown way, or a package is missing: "
    'pip install "scrapy-simhash[files]"',
    "surplus_fields": "they have more fields than the first line: put values with the delimiter in "
    "quotes, delete lines before the names of the columns, or name another --delimiter",
    "not_json": "they are no JSON objects",
    "not_csv": "a quote in them has no end",
    "no_field": "--text-field or --html-field names another field",
    "too_large": "they are long; --max-bytes sets the limit",
    "unreadable": "they cannot be decompressed",
}
"""Reason why records cannot be read or judged → what to do."""


@dataclass(frozen=True, kw_only=True)
class Fields:
    """Names of the fields that `dedupe` reads.

    :param text: fields whose texts are joined; ignored if `html` is given.
    :param html: field with an HTML page.
    :param key: field with the key. None uses ``url`` or ``id`` if there is such a field, ``""``
        uses no field. A record without a key gets the key FILE#NUMBER, a WARC record its URL, and
        an HTML file its path.
    :param names: fields of which the first one with a text is the name of the record, unless it is
        an HTML page. None uses ``title``, ``name`` and ``headline``, as far as there are such.
    :param distinct: fields of records, and selectors on HTML pages, whose values tell them apart.
    """

    text: tuple[str, ...] = ()
    html: str | None = None
    key: str | None = None
    names: tuple[str, ...] | None = None
    distinct: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DedupeOptions:
    """Options for reading and judging records, and for the treatment of duplicates.

    :param confirmation: conditions that confirm a record within `max_distance` bits as a copy.
        None uses those of the index if it exists, and those of the scheme's preset if not.
    :param format: format of all files; None to tell it from their names.
    :param fields: the fields to read. Without `text` and `html`, `dedupe` looks for usual names
        (`scrapy_simhash.dedupe.fields`).
    :param action: ``drop`` leaves duplicates out, ``tag`` keeps them and adds fields.
    :param tags: for the action ``tag``: field of a verdict → field of a record.
    :param incremental: records that the index held before this run count as seen.
    :param scope: where the representative of a record may be, by the URLs in their keys.
    :param min_tokens: records with fewer tokens are not judged, but kept.
    :param max_bytes: longer records are not judged, but kept.
    :param encoding: encoding of JSON and CSV; UTF-16 and UTF-32 are recognized.
    :param delimiter: that of CSV; None finds it.
    :param expected_records: number of records for which the tables of a new index are chosen.
    :param workers: processes that parse and fingerprint records; 1 to use this process; 0 for one
        process per CPU, or for this process if the input is small.
    :param timeout_ms: wall-clock limit for the records of one message to a worker process. If they
        exceed it, each record is tried alone, and is skipped if it exceeds the limit again.
    """

    scheme: Scheme
    max_distance: int
    confirmation: Confirmation | None = None
    format: Format | None = None
    fields: Fields = field(default_factory=Fields)
    action: PolicyAction = "drop"
    tags: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_TAGS))
    incremental: bool = False
    scope: Scope = "all"
    min_tokens: int = DEFAULT_MIN_TOKENS
    max_bytes: int = DEFAULT_MAX_BYTES
    encoding: str = "utf-8"
    delimiter: str | None = None
    expected_records: int = DEFAULT_EXPECTED_PAGES
    workers: int = 1
    timeout_ms: int = DEFAULT_TIMEOUT_MS

    def to_dict(self) -> dict[str, Any]:
        """Return the options that an interrupted run needs unchanged to go on, as JSON values."""
        changeable = ("workers", "timeout_ms")
        return {
            **{name: value for name, value in vars(self).items() if name not in changeable},
            "tags": dict(self.tags),
            "scheme": self.scheme.id,
            "confirmation": None if self.confirmation is None else asdict(self.confirmation),
            "fields": asdict(self.fields),
        }


@dataclass(frozen=True, kw_only=True)
class DedupePaths:
    """The files and folders of a run.

    :param inputs: files and folders.
    :param state: folder for the state of the run. An interrupted run goes on from it; a finished
        run deletes it.
    :param output: None to write no output; `STANDARD_OUTPUT` for ``-``.
    :param verdicts: a file for the verdicts, a JSON line for each record.
    :param index: directory of an index to use and to fill; None for a temporary index in `state`.
    :param overwrite: replace an existing output and existing verdicts.
    :param restart: discard an interrupted run.
    :param standard_input: the one of `inputs` that is a copy of standard input, if any.
    :param against: the directory of an index, or files and folders, with records that count as
        seen. They are only read.
    """

    inputs: Sequence[Path]
    state: Path
    output: Path | None = None
    verdicts: Path | None = None
    index: Path | None = None
    overwrite: bool = False
    restart: bool = False
    standard_input: Path | None = None
    against: Sequence[Path] = ()

    @property
    def output_file(self) -> Path | None:
        """Return the path of the output; None for standard output, or without an output."""
        return None if self.output == STANDARD_OUTPUT else self.output


def check_paths(paths: DedupePaths) -> None:
    """Check that no path to write is, contains or lies in a path to read or another one to write.

    :raises SimhashError: two paths overlap; or the output or the verdicts are a device or a pipe,
        or belong in a folder that does not exist.
    :raises OSError: symlinks form a loop.
    """
    read = [("which is read", path) for path in (*paths.inputs, *paths.against)]
    written = [
        (f"the {role}", path)
        for role, path in (
            ("output", paths.output_file),
            ("verdicts", paths.verdicts),
            ("index", paths.index),
            ("state of the run", paths.state),
        )
        if path is not None
    ]
    for at, (role, path) in enumerate(written):
        for other_role, other in (*read, *written[:at]):
            one, two = real_path(path), real_path(other)
            if one == two or one in two.parents or two in one.parents:
                raise SimhashError(
                    f"{path}, {role}, and {other}, {other_role}, are the same or lie in each other:"
                    " name another path"
                )
    for file in filter(None, (paths.output_file, paths.verdicts)):
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise SimhashError(
                f"{file} is a device or a pipe: write to a file (-o - writes to standard output)"
            )
        for folder in (file.parent, real_path(file).parent):  # they differ if it is a symlink
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
