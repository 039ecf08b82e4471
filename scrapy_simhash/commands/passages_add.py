"""``passages add``: add the documents of files to the index."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._output import counted, note, progress, show, show_json
from scrapy_simhash.commands._pages import Skips, existing_paths, make_reader
from scrapy_simhash.documents.reader import Skipped
from scrapy_simhash.errors import PlanError, SchemeError

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.documents.reader import DocumentReader
    from scrapy_simhash.passages.index import PassageIndex
    from scrapy_simhash.passages.scheme import PassageScheme


@dataclass
class Summary:
    """The documents and new passages of a run, and what the index holds at its end."""

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
    """Add all readable documents. Return the exit code: 1 if all that were found are unreadable."""
    from scrapy_simhash.passages.index import open_passages

    paths = existing_paths(options.files)
    directory = index_directory(options)
    scheme = _scheme(options, directory)
    summary = Summary(str(directory))
    with open_passages(directory, scheme, keep_text=options.keep_text) as index:
        try:
            _add(index, make_reader(options, keep_html=False), paths, directory, summary)
        except KeyboardInterrupt:
            note(
                f"{summary.new + summary.replaced:,} documents were added and are kept: run the "
                "same command again to go on"
            )
            raise
        summary.index_documents, summary.index_passages = index.documents, index.passages
    if options.json:
        # asdict() would copy a Counter wrongly: it would count (reason, count) pairs.
        show_json({**vars(summary), "skipped": dict(summary.skipped)})
    else:
        _show(summary)
    return 0 if summary.read or not summary.skipped else 1


def index_directory(options: argparse.Namespace) -> Path:
    """Return the directory of the index that ``--index`` names, else the settings."""
    if options.index is not None:
        return Path(options.index)
    from scrapy_simhash.commands._settings import passages_directory

    return passages_directory(options.settings)


def _add(
    index: PassageIndex,
    reader: DocumentReader,
    paths: list[Path],
    directory: Path,
    summary: Summary,
) -> None:
    """Add the documents of files, except those in the directory of the index, and count them."""
    skips = Skips()
    summary.skipped = skips.counts
    with progress("documents") as on_progress:
        for document in reader.documents(paths, exclude=directory):
            if isinstance(document, Skipped):
                skips.add(document)
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


def _scheme(options: argparse.Namespace, directory: Path) -> PassageScheme | None:
    """Return the scheme of the index, else the default, as options change it; None if none does."""
    cutting = _given(options, "unit", "characters", "overlapping")
    changes = _given(options, "max_distance", "min_characters")
    if not cutting and not changes and options.bits is None:
        return None
    from scrapy_simhash.passages.manifest import PassagesManifest
    from scrapy_simhash.passages.scheme import PassageScheme

    try:
        manifest = PassagesManifest.read(directory)
    except OSError:
        manifest = None  # `open_passages` raises the error
    scheme = PassageScheme() if manifest is None else manifest.scheme
    try:
        if options.bits is not None and options.bits != scheme.scheme.bits:
            in_proportion = round(scheme.max_distance * options.bits / scheme.scheme.bits)
            changes.setdefault("max_distance", in_proportion)
            changes["scheme"] = replace(scheme.scheme, bits=options.bits)
        return replace(scheme, cutting=replace(scheme.cutting, **cutting), **changes)
    except (SchemeError, PlanError) as error:
        options.wrong_usage(str(error))
        raise  # pragma: no cover - wrong_usage exits


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _show(summary: Summary) -> None:
    count = summary.new + summary.replaced
    show(f"added      {counted(count, 'document')} with {counted(summary.passages, 'passage')}")
    if summary.replaced:
        show(f"             {summary.replaced:,} of them replace an earlier text")
    if summary.unchanged:
        show(f"unchanged  {counted(summary.unchanged, 'document')}")
    if summary.skipped:
        show(f"skipped    {summary.skipped.total():,}")
        for reason, count in summary.skipped.most_common():
            show(f"             {count:,} {reason}")
    show(
        f"the index  {counted(summary.index_documents, 'document')} with "
        f"{counted(summary.index_passages, 'distinct passage')}, in {summary.index}"
    )
