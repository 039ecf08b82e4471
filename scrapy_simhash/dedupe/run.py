"""`dedupe`: files of records → the same without near-duplicates, or with tags."""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import ExitStack, closing
from itertools import groupby
from typing import TYPE_CHECKING, Any

from scrapy_simhash.dedupe import parquet, writing
from scrapy_simhash.dedupe.inputs import Inputs
from scrapy_simhash.dedupe.judging import Judge
from scrapy_simhash.dedupe.options import STANDARD_OUTPUT
from scrapy_simhash.dedupe.places import (
    bring_to_disk,
    check_places,
    difference,
    discard,
    in_the_way,
    put_in_place,
    real,
)
from scrapy_simhash.dedupe.pool import Workers, answers_here
from scrapy_simhash.dedupe.state import Checkpoint, State
from scrapy_simhash.dedupe.summary import DedupeSummary
from scrapy_simhash.dedupe.worker import Job, make_order
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index import index_url, open_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_simhash.dedupe.options import DedupeOptions, Places
    from scrapy_simhash.dedupe.writing import Sink, Writer

# A job is what a worker gets at once: little enough that none waits long for another.
_JOB_RECORDS = 64
_JOB_BYTES = 1 << 17
# Of an index whose tables are not probed: a bucket is read several times as fast in memory as in
# rows.
_INDEX_BUFFER_BYTES = 256 << 20
# Less is done before processes have started.
_WORTH_PROCESSES_BYTES = 4_000_000


def dedupe(
    places: Places,
    options: DedupeOptions,
    *,
    progress: Callable[[int, int | None], object] = lambda _done, _of: None,
    note: Callable[[str], object] = lambda _line: None,
) -> DedupeSummary:
    """De-duplicate files. A run that was interrupted goes on if it is asked for again.

    :param progress: told of the number of records that were judged, and that there may be.
    :param note: told what a person may want to know.
    :raises SimhashError: it cannot be done, and why.
    :raises OSError: a file cannot be read or written.
    """
    check_places(places)
    inputs = Inputs(
        places.inputs,
        options,
        compressed=_is_compressed(places),
        standard_input=places.standard_input,
    )
    writing.check_tags(inputs, options)
    with State(places.state) as state:
        return _Run(places, options, inputs, state, progress=progress, note=note).run()


class _Run:
    def __init__(
        self,
        places: Places,
        options: DedupeOptions,
        inputs: Inputs,
        state: State,
        *,
        progress: Callable[[int, int | None], object],
        note: Callable[[str], object],
    ) -> None:
        self._places = places
        self._options = options
        self._inputs = inputs
        self._state = state
        self._progress = progress
        self._note = note
        self._summary = DedupeSummary()
        state.damaged = inputs.damaged

    def run(self) -> DedupeSummary:
        """Do what is left to do."""
        state, places = self._state, self._places
        order = self._order()
        if places.restart:
            self._restart()
        before = state.order()
        if before is None:
            self._begin(order)
        elif before != order:
            raise SimhashError(difference(before, order, state.directory))
        checkpoint = state.checkpoint()
        self._summary.went_on_after = checkpoint.records
        if before is not None:
            self._stop_if_in_the_way(checkpoint)
            self._note(f"going on after {checkpoint.records:,} records of an interrupted run")
        if checkpoint.phase == "judging":
            try:
                self._judge(checkpoint)
            except BaseException:
                if before is None and not state.checkpoint().records:
                    state.remove()  # nothing was done that could be gone on with
                raise
            checkpoint = state.checkpoint()
        if checkpoint.phase == "judged":
            self._inputs.unchanged_since()
            self._write()
            if places.output != STANDARD_OUTPUT:  # of which nobody knows where it is later
                checkpoint = Checkpoint("written", checkpoint.records, checkpoint.log_bytes)
                state.write(checkpoint)
        self._put_in_place(checkpoint)
        self._summary.damaged = self._inputs.damaged
        return self._summary

    def _order(self) -> dict[str, Any]:
        inputs, places, out = self._inputs, self._places, self._places.output_file
        return {
            "inputs": [[str(f.path.absolute()), *f.state()] for f in inputs.files],
            "format": inputs.format,
            "output": str(places.output if out is None else real(out)),
            "verdicts": None if places.verdicts is None else str(real(places.verdicts)),
            "index": None if places.index is None else str(real(places.index)),
            "options": json.loads(json.dumps(self._options.to_dict())),
        }

    def _restart(self) -> None:
        state = self._state
        if (
            self._places.index is not None
            and self._options.incremental
            and state.order() is not None
            and self._places.index.exists()
        ):
            raise SimhashError(
                f"the index {self._places.index} holds what the interrupted run has judged, and "
                "it would count as seen: go on without --restart, or restore the index and delete "
                f"{state.directory}"
            )
        state.clear()

    def _begin(self, order: dict[str, Any]) -> None:
        try:
            self._stop_if_in_the_way(Checkpoint())
            index = self._state.index
            if index.exists() and not self._places.overwrite:
                raise SimhashError(
                    f"{index} was kept by an earlier run: move it away, or --overwrite it"
                )
        except SimhashError:
            self._state.remove(keep_index=True)
            raise
        self._state.clear()
        self._state.begin(order)

    def _stop_if_in_the_way(self, checkpoint: Checkpoint) -> None:
        """:raises SimhashError: what would be written over is not of this run."""
        state = self._state
        found = in_the_way(
            self._places,
            folder=self._inputs.format == "html",
            placed=checkpoint.phase == "written" and not state.output.exists(),
            log=state.log,
        )
        if found is not None:
            raise SimhashError(found)

    def _judge(self, checkpoint: Checkpoint) -> None:
        options, inputs, state = self._options, self._inputs, self._state
        directory = self._places.index or state.index
        order = make_order(inputs, options)
        with ExitStack() as stack:
            index = stack.enter_context(
                open_index(
                    index_url(directory),
                    options.scheme,
                    max_distance=options.max_distance,
                    confirmation=options.confirmation,
                    expected_pages=options.expected_records,
                    incremental=options.incremental,
                    sync="no" if self._places.index is None else "everysec",
                    buffer_bytes=_INDEX_BUFFER_BYTES,
                    began=checkpoint.began,
                )
            )
            if len(index) and not options.incremental and not checkpoint.records:
                self._note(
                    f"the index holds {len(index):,} records of before, which do not count as "
                    "seen; with --incremental they do"
                )
            judge = stack.enter_context(Judge(state, index, options, checkpoint))
            jobs = _jobs(inputs, judge.records)
            if (workers := self._worker_count()) > 1:
                pool = stack.enter_context(closing(Workers(order, workers)))
                answered = stack.enter_context(closing(pool.answers(jobs)))
            else:
                answered = stack.enter_context(closing(answers_here(order, jobs)))
            for _job, answers in answered:
                for answer in answers:
                    judge.add(answer)
                share = inputs.share_done()
                self._progress(judge.records, round(judge.records / share) if share else None)
            self._summary.index_entries = judge.finish()

    def _worker_count(self) -> int:
        if self._options.workers:
            return self._options.workers
        files = self._inputs.files
        if sum(file.size for file in files) < _WORTH_PROCESSES_BYTES and not any(
            file.path.is_dir() for file in files
        ):
            return 1
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1

    def _write(self) -> None:
        verdicts = self._counted()
        output, whole, inputs = self._places.output, self._state.output, self._inputs
        discard(whole)
        if output is None:
            for _ in verdicts:
                pass
        elif inputs.format == "parquet":
            tags = self._options.tags if self._options.action == "tag" else None
            parquet.write_rows(self._places.inputs, verdicts, whole, tags)
        elif inputs.format == "html":
            writing.write_frames(inputs, verdicts, writing.FolderWriter(inputs, whole))
        elif output == STANDARD_OUTPUT:
            if sys.stdout is not None:
                writing.write_frames(inputs, verdicts, self._writer(sys.stdout.buffer))
                sys.stdout.flush()
        else:
            with whole.open("wb", buffering=1 << 20) as file:
                if _is_compressed(self._places) and inputs.format != "warc":
                    with writing.compressing(file, max(1, self._worker_count())) as sink:
                        writing.write_frames(inputs, verdicts, self._writer(sink))
                else:
                    writing.write_frames(inputs, verdicts, self._writer(file))
        if whole.is_file():
            bring_to_disk(whole)
        if next(verdicts, None) is not None:
            raise SimhashError("an input was changed meanwhile: begin anew, with --restart")
        self._inputs.unchanged_since()

    def _writer(self, sink: Sink) -> Writer:
        inputs, options = self._inputs, self._options
        if inputs.format == "warc":
            return writing.WarcWriter(sink, inputs, compressed=_is_compressed(self._places))
        if inputs.format == "csv":
            if options.action == "drop":
                return writing.LineWriter(sink, writing.untagged, inputs.header_line)
            tags = writing.CsvTags(inputs, options.tags, options.encoding)
            return writing.LineWriter(sink, tags, tags.head(inputs.header_line))
        added = {} if options.action == "drop" else options.tags
        tagged = writing.tagged_json(added, options.encoding)
        if inputs.format == "json" and inputs.is_array:
            return writing.ArrayWriter(sink, tagged)
        return writing.LineWriter(sink, tagged)

    def _counted(self) -> Iterator[dict[str, Any]]:
        with self._state.log.open(encoding="ascii") as log:
            for line in log:
                verdict = json.loads(line)
                self._summary.count(verdict)
                yield verdict

    def _put_in_place(self, checkpoint: Checkpoint) -> None:
        places, state, out = self._places, self._state, self._places.output_file
        if not self._summary.records:  # it was written by a run that was interrupted here
            for _ in self._counted():
                pass
        self._stop_if_in_the_way(checkpoint)
        if out is not None:
            if state.output.exists():
                put_in_place(state.output, out)
            elif not out.exists():
                raise SimhashError(
                    f"{out} is not there, nor what was written for it: begin anew, with --restart"
                )
        if places.verdicts is not None:
            shutil.copyfile(state.log, state.new_verdicts)
            put_in_place(state.new_verdicts, places.verdicts)
        state.remove(keep_index=places.keep_index)


def _jobs(inputs: Inputs, done: int) -> Iterator[Job]:
    """Jobs of all records but the first ones."""
    for number, frames in groupby(inputs.frames(), key=lambda pair: pair[0]):
        name = "" if inputs.format == "html" else inputs.files[number].name
        contents: list[bytes | str] = []
        size, first = 0, 1
        records = (frame for _, frame in frames if frame.kind == "record")
        for at, frame in enumerate(records, 1):
            if done:
                done -= 1
                first = at + 1
                continue
            content = frame.data if frame.content is None else frame.content
            contents.append(content if frame.reason is None else frame.reason)
            size += len(content)
            if len(contents) == _JOB_RECORDS or size >= _JOB_BYTES:
                yield Job(name, first, contents)
                contents, size, first = [], 0, at + 1
        if contents:
            yield Job(name, first, contents)


def _is_compressed(places: Places) -> bool:
    return places.output is not None and places.output.name.endswith(".gz")
