"""``passages add``: add the documents of files to the index."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._output import note, progress, show
from scrapy_simhash.documents.reader import DocumentReader, Skipped
from scrapy_simhash.errors import PlanError, SchemeError, SimhashError

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.passages.index import PassageIndex
    from scrapy_simhash.passages.scheme import PassageScheme

_SHOWN_SKIPS = 20


@dataclass
class Summary:
    """The counts of documents; `skipped` has a count for each reason."""

    index: str
    new: int = 0
    replaced: int = 0
    unchanged: int = 0
    passages: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    index_documents: int = 0
    index_passages: int = 0

    @property
    def read(self) -> int:
        """Return the number of documents that could be read."""
        return self.new + self.replaced + self.unchanged


def run(options: argparse.Namespace) -> int:
    """Add all documents that can be read. Return 1 if there are none."""
    from scrapy_simhash.passages.index import open_passages

    if "" in options.files:  # Path("") is the working directory
        raise SimhashError("a file without a name: an empty variable of the shell?")
    paths = [Path(file) for file in options.files]
    for path in paths:
        if not path.exists():
            advice = ": only check reads standard input" if str(path) == "-" else ""
            raise SimhashError(f"{path}: no such file{advice}")
    directory = index_directory(options)
    scheme = _scheme(options, directory)
    summary = Summary(str(directory))
    with open_passages(directory, scheme, keep_text=options.keep_text) as index:
        try:
            _add(index, document_reader(options), paths, directory, summary)
        except KeyboardInterrupt:
            note(
                f"{summary.new + summary.replaced:,} documents were added and are kept: run the "
                "same command again to go on"
            )
            raise
        summary.index_documents, summary.index_passages = index.documents, index.passages
    if options.json:
        # Not asdict(), which cannot copy a Counter.
        show(json.dumps({**vars(summary), "skipped": dict(summary.skipped)}, indent=2))
    else:
        _show(summary)
    return 0 if summary.read or not summary.skipped else 1


def index_directory(options: argparse.Namespace) -> Path:
    """Return the directory of the index, by ``--index`` or the settings."""
    if options.index is not None:
        return Path(options.index)
    from scrapy_simhash.commands._settings import passages_directory

    return passages_directory(options.settings)


def document_reader(options: argparse.Namespace) -> DocumentReader:
    """Return a reader with these options."""
    return DocumentReader(
        text_field=options.text_field,
        name_field=options.name_field,
        encoding=options.encoding,
        max_bytes=options.max_bytes,
    )


def _add(
    index: PassageIndex,
    reader: DocumentReader,
    paths: list[Path],
    directory: Path,
    summary: Summary,
) -> None:
    with progress("documents") as on_progress:
        for document in reader.documents(paths, exclude=directory):
            if isinstance(document, Skipped):
                _skip(document, summary)
                continue
            before = index.documents
            passages = index.add(document.name, document.text)
            if passages is None:
                summary.unchanged += 1
            else:
                summary.passages += passages
                if index.documents > before:
                    summary.new += 1
                else:
                    summary.replaced += 1
            on_progress()


def _skip(skipped: Skipped, summary: Summary) -> None:
    summary.skipped[skipped.reason] += 1
    count = summary.skipped.total()
    if count <= _SHOWN_SKIPS:
        detail = f" ({skipped.detail})" if skipped.detail else ""
        note(f"skipped {skipped.place}: {skipped.reason}{detail}")
    elif count == _SHOWN_SKIPS + 1:
        note("skipped more documents; all are counted below")


def _scheme(options: argparse.Namespace, directory: Path) -> PassageScheme | None:
    """Return the index's or the default scheme, changed by the options; None without any."""
    cutting = _given(options, "unit", "characters", "overlapping")
    others = _given(options, "max_distance", "min_characters")
    if not cutting and not others and options.bits is None:
        return None
    from scrapy_simhash.passages.manifest import PassagesManifest
    from scrapy_simhash.passages.scheme import PassageScheme

    try:
        manifest = PassagesManifest.read(directory)
    except OSError:
        manifest = None  # opening the index raises the error
    scheme = PassageScheme() if manifest is None else manifest.scheme
    try:
        if options.bits is not None and options.bits != scheme.scheme.bits:
            in_proportion = round(scheme.max_distance * options.bits / scheme.scheme.bits)
            others.setdefault("max_distance", in_proportion)
            others["scheme"] = replace(scheme.scheme, bits=options.bits)
        return replace(scheme, cutting=replace(scheme.cutting, **cutting), **others)
    except (SchemeError, PlanError) as error:
        options.wrong_usage(str(error))
        raise  # pragma: no cover - wrong_usage exits


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _show(summary: Summary) -> None:
    count = summary.new + summary.replaced
    show(f"added      {_documents(count)} with {_counted(summary.passages, 'passage')}")
    if summary.replaced:
        show(f"             {summary.replaced:,} of them replace an earlier text")
    if summary.unchanged:
        show(f"unchanged  {_documents(summary.unchanged)}")
    if summary.skipped:
        show(f"skipped    {summary.skipped.total():,}")
        for reason, count in summary.skipped.most_common():
            show(f"             {count:,} {reason}")
    show(
        f"the index  {_documents(summary.index_documents)} with "
        f"{_counted(summary.index_passages, 'distinct passage')}, in {summary.index}"
    )


def _documents(count: int) -> str:
    return _counted(count, "document")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
