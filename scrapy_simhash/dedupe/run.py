"""Run `dedupe`: judge all records, write the output, and move it into place."""

from __future__ import annotations

import json
from collections import deque
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from scrapy_simhash.dedupe import writing
from scrapy_simhash.dedupe.fingerprinting import Fingerprinter, Job, Workers
from scrapy_simhash.dedupe.inputs import InputFile, Inputs, changed_error, format_of
from scrapy_simhash.dedupe.judging import DedupeSummary, Judge
from scrapy_simhash.dedupe.options import (
    STANDARD_OUTPUT,
    DedupePaths,
    check_free,
    check_paths,
    real_path,
)
from scrapy_simhash.dedupe.state import State
from scrapy_simhash.documents.files import discard, move_into_place, sync_file
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index import open_index
from scrapy_simhash.index.manifest import FILE_NAME as MANIFEST
from scrapy_simhash.index.offline import read_manifest
from scrapy_simhash.workers.need import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from scrapy_simhash.dedupe.fingerprinting import Fingerprinted
    from scrapy_simhash.dedupe.options import DedupeOptions
    from scrapy_simhash.dedupe.state import Checkpoint
    from scrapy_simhash.documents.lines import Part
    from scrapy_simhash.index import Index

    _Part: TypeAlias = tuple[int, Part]  # with the number of its file

# Upper limits of a job (the records of one message to a worker). The last record may exceed the
# bytes.
_JOB_RECORDS = 256
_JOB_BYTES = 1 << 20
# A job of HTML files holds only paths. Eight long pages stay within the time-out of a job.
_JOB_HTML_FILES = 8
# Smaller inputs take less time than worker processes need to start.
_MIN_BYTES_FOR_WORKERS = 4_000_000
# Verdicts are parsed in groups: a call of `json.loads` for each takes three times as long.
_LINES_PARSED_TOGETHER = 64


def dedupe(
    paths: DedupePaths,
    options: DedupeOptions,
    *,
    progress: Callable[[Iterable[_Part]], Iterable[_Part]] = iter,
    note: Callable[[str], object] = lambda _line: None,
) -> DedupeSummary:
    """De-duplicate files, or go on with an interrupted run. Return the counts.

    :param progress: called with the parts of all files; may return another iterator over them, such
        as one that shows a progress bar.
    :param note: called with messages to the user.
    :raises SimhashError: the run is not possible, a worker cannot start, or the index fails.
    :raises OSError: a file cannot be read or written.
    """
    check_paths(paths)
    inputs = Inputs(paths, options)
    writing.check_output(inputs, paths, options)
    out = paths.output_file
    has_ending = out is not None and inputs.format != "html" and "." in out.name.removesuffix(".gz")
    if out is not None and has_ending and format_of(out) != inputs.format:
        note(f"{out} gets the format of the input, {inputs.format}, whatever its name says")
    with State(paths.state) as state:
        return _Run(paths, options, inputs, state, progress, note).run()


@dataclass
class _Run:
    """A run in its locked state folder."""

    paths: DedupePaths
    options: DedupeOptions
    inputs: Inputs
    state: State
    progress: Callable[[Iterable[_Part]], Iterable[_Part]]
    note: Callable[[str], object]

    def __post_init__(self) -> None:
        paths, state = self.paths, self.state
        self.summary = DedupeSummary(damaged=self.inputs.damaged)
        # (path of an output, where the state holds it until it is moved to its path)
        outputs = ((paths.output_file, state.output), (paths.verdicts, state.verdicts))
        self.outputs = [(path, source) for path, source in outputs if path is not None]

    def run(self) -> DedupeSummary:
        """Do the phases of the run that are not done yet, and return its counts."""
        state, paths = self.state, self.paths
        spec = self._spec()
        if paths.restart:
            self._restart()
        interrupted_spec = state.spec()
        if interrupted_spec is None:
            self._begin(spec)
        elif interrupted_spec != spec:
            raise self._other_run_error(interrupted_spec, spec)
        checkpoint = state.checkpoint()
        self.inputs.damaged.update(checkpoint.damaged)
        done_before = self.summary.went_on_after = checkpoint.records_after
        if interrupted_spec is not None:
            self._check_outputs(checkpoint)
            self.note(f"going on after {done_before:,} records of an interrupted run")
        if checkpoint.phase == "judging":
            try:
                self._judge(checkpoint)
            except BaseException:
                has_indexed = state.known.exists() or state.known_state.exists()
                if interrupted_spec is None and not (
                    has_indexed or state.checkpoint().records_after
                ):
                    state.remove()
                raise
            checkpoint = state.checkpoint()
        if checkpoint.phase == "judged":
            self._write()
            checkpoint = replace(checkpoint, phase="written")
            if paths.output != STANDARD_OUTPUT:  # after a kill, it is written again from the start
                state.append(checkpoint)
        self._move_into_place(checkpoint)
        return self.summary

    def _spec(self) -> dict[str, Any]:
        """Return the values that an interrupted run needs unchanged to go on, as JSON values."""
        paths, out = self.paths, self.paths.output_file
        spec = {
            **self.options.to_dict(),
            "inputs": [[str(f.path.absolute()), f.version] for f in self.inputs.files],
            "against": [
                [str(real_path(path)), None if is_index(path) else InputFile.of(path).version]
                for path in paths.against
            ],
            "format": self.inputs.format,
            "output": str(paths.output if out is None else real_path(out)),
            "verdicts": str(paths.verdicts and real_path(paths.verdicts)),
            "index": str(paths.index and real_path(paths.index)),
        }
        plain: dict[str, Any] = json.loads(json.dumps(spec))
        return plain

    def _other_run_error(self, old: dict[str, Any], new: dict[str, Any]) -> SimhashError:
        different = ", ".join(name for name in new if old.get(name) != new[name])
        return SimhashError(
            f"{self.state.directory} belongs to an interrupted run that differs in {different}: to "
            "go on, run the same command on the same files; or begin again with --restart"
        )

    def _restart(self) -> None:
        state, index = self.state, self.paths.index
        counts_as_seen = index is not None and index.exists() and self.options.incremental
        if counts_as_seen and state.spec() is not None:
            raise SimhashError(
                f"the index {index} holds records that the interrupted run judged, and they would "
                "count as seen: go on without --restart, or restore the index from a backup "
                f"and delete {state.directory}"
            )
        state.clear()

    def _begin(self, spec: dict[str, Any]) -> None:
        try:
            self._check_outputs(None)
        except SimhashError:
            self.state.remove()
            raise
        self.state.begin(spec)

    def _check_outputs(self, checkpoint: Checkpoint | None) -> None:
        """Raise SimhashError if an output that is not in place yet may not be moved there."""
        is_written = checkpoint is not None and checkpoint.phase == "written"
        for path, source in self.outputs:
            if not is_written or source.exists():  # else this run has moved it already
                as_folder = self.inputs.format == "html" and source == self.state.output
                check_free(path, overwrite=self.paths.overwrite, as_folder=as_folder)

    def _judge(self, checkpoint: Checkpoint) -> None:
        options, inputs, state = self.options, self.inputs, self.state
        with ExitStack() as stack:
            index = stack.enter_context(
                open_index(
                    self.paths.index or state.index,
                    options.scheme,
                    max_distance=options.max_distance,
                    confirmation=options.confirmation,
                    expected_pages=options.expected_records,
                    incremental=options.incremental,
                    sync="no" if self.paths.index is None else "everysec",
                    crawl_start=checkpoint.crawl_start,
                )
            )
            if len(index) and not options.incremental and not checkpoint.records_after:
                self.note(
                    f"the index holds {len(index):,} records of earlier runs. They do not count as "
                    "seen: add --incremental if they should"
                )
            known = self._known(stack)
            judge = Judge(state, index, options, checkpoint, inputs.damaged, known=known)
            fingerprinter = Fingerprinter(
                options,
                inputs.fields,
                record_format=inputs.format,
                encoding=inputs.record_encoding,
                versions=self.paths.index is not None,
            )
            jobs = _jobs(inputs, self.progress(inputs.parts()), judge.records_judged)
            records_of_jobs: Iterable[list[Fingerprinted]]
            if (count := self._worker_count()) > 1:
                workers = stack.enter_context(closing(Workers(fingerprinter, count)))
                records_of_jobs = workers.fingerprints(jobs)
            else:
                records_of_jobs = map(fingerprinter.fingerprint, jobs)
            for records in records_of_jobs:
                judge.add_all(records)
            self.summary.index_entries = judge.finish()

    def _known(self, stack: ExitStack) -> Index | None:
        """Open and return the index `against`, if any. Files are indexed first, by a run."""
        state, options, against = self.state, self.options, self.paths.against
        if not against:
            return None
        directory = against[0]
        if any(map(is_index, against)):
            if len(against) > 1:
                raise SimhashError(
                    "an index must be the only set to compare with: merge indexes with `scrapy "
                    "simhash index merge`, or add files to one with `dedupe --index`"
                )
        else:
            directory = state.known
            if state.known_state.exists() or not directory.exists():  # the index is incomplete
                paths = DedupePaths(inputs=against, state=state.known_state, index=directory)
                summary = dedupe(paths, replace(options, incremental=False))
                self.inputs.damaged.update(summary.damaged)
                self.note(f"{summary.records:,} records were read to compare with")
        if read_manifest(directory).scheme.id != options.scheme.id:
            raise SimhashError(
                f"{directory} has fingerprints of another scheme than this run ({options.scheme.id}"
                "): choose the scheme of the index, for example with --preset"
            )
        return stack.enter_context(
            open_index(
                directory,
                max_distance=options.max_distance,
                confirmation=options.confirmation,
                create=False,
            )
        )

    def _worker_count(self) -> int:
        if self.options.workers:
            return self.options.workers
        files = self.inputs.files
        if sum(file.size for file in files) < _MIN_BYTES_FOR_WORKERS and not any(
            file.path.is_dir() for file in files
        ):
            return 1
        return available_cores()

    def _write(self) -> None:
        paths, state = self.paths, self.state
        discard(state.output)
        discard(state.verdicts)
        verdicts = self._verdicts()
        writing.write_output(self.inputs, verdicts, paths, self.options, state.output)
        if next(verdicts, None) is not None:
            raise changed_error("an input")
        self.inputs.check_unchanged()
        if paths.verdicts is not None:
            with state.verdicts.open("wb") as file:
                file.writelines(state.verdict_lines())
            sync_file(state.verdicts)

    def _verdicts(self) -> Iterator[dict[str, Any]]:
        lines = self.state.verdict_lines()
        while some := list(islice(lines, _LINES_PARSED_TOGETHER)):
            for verdict in json.loads(b"[%b]" % b",".join(some)):
                self.summary.count(verdict)
                yield verdict

    def _move_into_place(self, checkpoint: Checkpoint) -> None:
        state = self.state
        if not self.summary.records:  # the interrupted run wrote the output, so count here
            deque(self._verdicts(), maxlen=0)
        self._check_outputs(checkpoint)
        for path, source in self.outputs:
            if source.exists():
                move_into_place(source, path)
            elif not path.exists():
                raise SimhashError(
                    f"{path} is missing, and {state.directory} no longer holds a copy: begin again "
                    "with --restart"
                )
        state.remove()
        self.summary.passed_over = self.inputs.passed_over


def _jobs(inputs: Inputs, parts_of_files: Iterable[_Part], skip: int) -> Iterator[Job]:
    """Yield jobs of all records except the first `skip` ones."""
    max_records = _JOB_HTML_FILES if inputs.format == "html" else _JOB_RECORDS
    for file_number, parts in groupby(parts_of_files, key=itemgetter(0)):
        name = "" if inputs.format == "html" else inputs.files[file_number].name
        contents: list[bytes | str] = []
        size = first = 0
        for number, part in enumerate((part for _, part in parts if part.is_record), 1):
            if skip:
                skip -= 1
                continue
            if not contents:
                size, first = 0, number
            contents.append(part.data if part.reason is None else part.reason)
            size += len(part.data)
            if len(contents) == max_records or size >= _JOB_BYTES:
                yield Job(name, first, contents)
                contents = []
        if contents:
            yield Job(name, first, contents)


def is_index(path: Path) -> bool:
    """Return True if a path is the directory of an index."""
    return (path / MANIFEST).is_file()
