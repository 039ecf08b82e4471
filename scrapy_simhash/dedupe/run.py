"""Run `dedupe`: judge all records, write the output, and move it into place."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy_simhash.dedupe import writing
from scrapy_simhash.dedupe.fingerprinting import Fingerprinter, Workers
from scrapy_simhash.dedupe.inputs import InputFile, Inputs, changed_error
from scrapy_simhash.dedupe.judging import DedupeSummary, Judge
from scrapy_simhash.dedupe.options import (
    STANDARD_OUTPUT,
    DedupePaths,
    check_free,
    check_paths,
)
from scrapy_simhash.dedupe.state import FORMAT, Checkpoint, State
from scrapy_simhash.documents.files import discard, move_into_place, real_path, sync_file
from scrapy_simhash.documents.formats import format_of
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index import open_index, read_manifest
from scrapy_simhash.index.manifest import FILE_NAME as MANIFEST
from scrapy_simhash.workers.need import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from scrapy_simhash.dedupe.fingerprinting import Fingerprinted, Record
    from scrapy_simhash.dedupe.options import DedupeOptions
    from scrapy_simhash.index import Index

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
    progress: Callable[[Iterable[Record]], Iterable[Record]] = iter,
    note: Callable[[str], object] = lambda _line: None,
) -> DedupeSummary:
    """De-duplicate files, or go on with an interrupted run. Return the counts.

    :param progress: called with the records of all files; may return another iterator over them,
        such as one that shows a progress bar.
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
    for name in inputs.missing:
        note(f"no field {name!r} was found, so it tells no records apart")
    spec = _spec(paths, options, inputs)
    with State(paths.state) as state:
        return _Run(paths, options, inputs, state, spec, progress, note).run()


def _spec(paths: DedupePaths, options: DedupeOptions, inputs: Inputs) -> dict[str, Any]:
    """Return the values that an interrupted run needs unchanged to go on, as JSON values."""
    out = paths.output_file
    return {
        "state": FORMAT,
        **options.to_dict(),
        "inputs": [[str(f.path.absolute()), f.version] for f in inputs.files],
        "against": [
            [str(real_path(path)), None if is_index(path) else InputFile.of(path).version]
            for path in paths.against
        ],
        "format": inputs.format,
        "output": str(paths.output if out is None else real_path(out)),
        "verdicts": str(paths.verdicts and real_path(paths.verdicts)),
        "index": str(paths.index and real_path(paths.index)),
    }


@dataclass
class _Run:
    """A run in its locked state folder."""

    paths: DedupePaths
    options: DedupeOptions
    inputs: Inputs
    state: State
    spec: dict[str, Any]
    progress: Callable[[Iterable[Record]], Iterable[Record]]
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
        if paths.restart:
            self._restart()
        is_new = self._is_new()
        checkpoint = Checkpoint() if is_new else state.checkpoint()
        try:
            if is_new:
                state.begin(self.spec)
            else:
                self.inputs.damaged.update(checkpoint.damaged)
                done = self.summary.went_on_after = checkpoint.records_after
                self.note(f"going on after {done:,} records of an interrupted run")
            self._check_outputs(checkpoint)
            if checkpoint.phase == "judging":
                checkpoint = self._judge(checkpoint)
        except BaseException:
            if is_new and not state.has_results():
                state.remove()
            raise
        if checkpoint.phase == "judged":
            self._write()
            checkpoint = replace(checkpoint, phase="written")
            if paths.output != STANDARD_OUTPUT:  # after a kill, it is written again from the start
                state.append(checkpoint)
        else:  # the interrupted run wrote the output
            for _ in self._verdicts():
                pass
        self._check_outputs(checkpoint)
        self._move_into_place()
        state.remove()
        self.summary.passed_over = self.inputs.passed_over
        return self.summary

    def _is_new(self) -> bool:
        """Return False to go on with an interrupted run, which must have had the same values."""
        earlier, spec = self.state.spec(), json.loads(json.dumps(self.spec))
        if earlier is None:
            return True
        if earlier.get("state") != FORMAT:
            raise SimhashError(
                f"{self.state.directory} belongs to an interrupted run of another release of "
                "scrapy-simhash: go on with that release, or begin again with --restart"
            )
        if different := ", ".join(name for name in spec if earlier.get(name) != spec[name]):
            raise SimhashError(
                f"{self.state.directory} belongs to an interrupted run that differs in {different}:"
                " to go on, run the same command on the same files; or begin again with --restart"
            )
        return False

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

    def _check_outputs(self, checkpoint: Checkpoint) -> None:
        """Raise SimhashError if an output that is not in place yet may not be moved there."""
        for path, source in self.outputs:
            if checkpoint.phase != "written" or source.exists():  # else this run has moved it
                as_folder = self.inputs.format == "html" and source == self.state.output
                check_free(path, overwrite=self.paths.overwrite, as_folder=as_folder)

    def _move_into_place(self) -> None:
        for path, source in self.outputs:
            if source.exists():
                move_into_place(source, path)
            elif not path.exists():
                raise SimhashError(
                    f"{path} is missing, and {self.state.directory} no longer holds a copy: begin "
                    "again with --restart"
                )

    def _judge(self, checkpoint: Checkpoint) -> Checkpoint:
        """Judge the records after a checkpoint, and return the last one."""
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
            records = islice(self.progress(inputs.records()), judge.records_judged, None)
            jobs = _jobs(records, _JOB_HTML_FILES if inputs.format == "html" else _JOB_RECORDS)
            fingerprints: Iterable[list[Fingerprinted]]
            if (count := options.workers or self._workers_for_files()) > 1:
                workers = stack.enter_context(closing(Workers(fingerprinter, count)))
                fingerprints = workers.fingerprints(jobs)
            else:
                fingerprints = map(fingerprinter.fingerprint, jobs)
            for fingerprinted in fingerprints:
                judge.add_all(fingerprinted)
            last = judge.finish()
            self.summary.index_entries = last.index_entries
            return last

    def _known(self, stack: ExitStack) -> Index | None:
        """Open and return the index `against`, if any. Files are indexed first, by a run."""
        state, options, against = self.state, self.options, self.paths.against
        if not against:
            return None
        directory = state.known
        if any(map(is_index, against)):
            [directory, *more] = against
            if more:
                raise SimhashError(
                    "an index must be the only set to compare with: merge indexes with `scrapy "
                    "simhash index merge`, or add files to one with `dedupe --index`"
                )
        elif state.known_state.exists() or not directory.exists():  # the index is incomplete
            paths = DedupePaths(inputs=against, state=state.known_state, index=directory)
            summary = dedupe(paths, replace(options, incremental=False))
            self.inputs.damaged.update(summary.damaged)
            self.note(f"{summary.records:,} records were read to compare with")
            if not summary.records:
                discard(directory)
                raise SimhashError(f"there is no record in {', '.join(map(str, against))}")
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

    def _workers_for_files(self) -> int:
        files = self.inputs.files
        is_large = sum(file.size for file in files) >= _MIN_BYTES_FOR_WORKERS
        return available_cores() if is_large or any(file.path.is_dir() for file in files) else 1

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
            lines = state.verdict_lines()
            if paths.verdicts.suffix == ".gz":
                lines = writing.compressed_by_gzip(lines)
            with state.verdicts.open("wb") as file:
                file.writelines(lines)
            sync_file(state.verdicts)

    def _verdicts(self) -> Iterator[dict[str, Any]]:
        """Yield all verdicts as values for JSON, and count them in the summary."""
        lines = self.state.verdict_lines()
        while some := list(islice(lines, _LINES_PARSED_TOGETHER)):
            for verdict in json.loads(b"[%b]" % b",".join(some)):
                self.summary.count(verdict)
                yield verdict


def _jobs(records: Iterable[Record], max_records: int) -> Iterator[Sequence[Record]]:
    job: list[Record] = []
    size = 0
    for record in records:
        job.append(record)
        size += len(record[1])
        if len(job) == max_records or size >= _JOB_BYTES:
            yield job
            job, size = [], 0
    if job:
        yield job


def is_index(path: Path) -> bool:
    """Return True if a path is the directory of an index."""
    return (path / MANIFEST).is_file()
