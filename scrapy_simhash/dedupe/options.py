"""What a run of `dedupe` is asked for."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from scrapy_simhash.detector import DEFAULT_MIN_TOKENS
from scrapy_simhash.index.cost import DEFAULT_EXPECTED_PAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.policy import PolicyAction
    from scrapy_simhash.scheme import Scheme

Format = Literal["json-lines", "json", "csv", "parquet", "html", "warc"]

DEFAULT_MAX_BYTES = 8_000_000
DEFAULT_TIMEOUT_MS = 10_000
DEFAULT_TAGS = {
    name: f"simhash_{name}"
    for name in (
        *("kind", "representative", "distance", "fingerprint"),
        *("similar_to", "similarity"),
    )
}
STANDARD_OUTPUT = Path("-")


@dataclass(frozen=True, kw_only=True)
class Fields:
    """Which fields of a record are what.

    :param text: joined, they are the text.
    :param html: the page, in the place of `text`.
    :param key: what the record is known by; empty for FILE#NUMBER, None for ``url`` if that is
        there.
    """

    text: tuple[str, ...] = ()
    html: str | None = None
    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class DedupeOptions:
    """How records are read and judged, and what becomes of them.

    :param confirmation: what makes a record within `max_distance` bits a copy; None for that of
        the index, or of the preset of the scheme.
    :param format: of all files; None to know it by their names.
    :param fields: None to look for usual names.
    :param action: ``drop`` leaves duplicates out, ``tag`` keeps them and says what they are.
    :param tags: field of a verdict → field of a record, for ``tag``.
    :param incremental: what the index held before counts as seen.
    :param scope: gives for a key which keys may be of its representative; None for all.
    :param scope_name: of `scope`, by which a run that goes on knows it.
    :param max_bytes: longer records are not looked at.
    :param encoding: of JSON and CSV.
    :param workers: processes that read and fingerprint records; 1 to do it in this one.
    :param timeout_ms: for a record in one of several processes.
    """

    scheme: Scheme
    max_distance: int
    confirmation: Confirmation | None = None
    format: Format | None = None
    fields: Fields = field(default_factory=Fields)
    action: PolicyAction = "drop"
    tags: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_TAGS))
    incremental: bool = False
    scope: Callable[[str], Callable[[str], bool] | None] | None = None
    scope_name: str = "all"
    min_tokens: int = DEFAULT_MIN_TOKENS
    max_bytes: int = DEFAULT_MAX_BYTES
    encoding: str = "utf-8"
    expected_records: int = DEFAULT_EXPECTED_PAGES
    workers: int = 1
    timeout_ms: int = DEFAULT_TIMEOUT_MS

    def to_dict(self) -> dict[str, Any]:
        """All that determines the output, as plain values: not how fast it comes."""
        left_out = {"scheme", "confirmation", "fields", "scope", "workers", "timeout_ms"}
        values = {name: value for name, value in vars(self).items() if name not in left_out}
        return {
            **values,
            "tags": dict(self.tags),
            "scheme": self.scheme.id,
            "confirmation": None if self.confirmation is None else asdict(self.confirmation),
            "fields": asdict(self.fields),
        }


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where things are.

    :param inputs: files and folders.
    :param standard_input: the one of them that holds what came on standard input.
    :param output: None for no output; `STANDARD_OUTPUT`.
    :param verdicts: a JSON line for each record.
    :param index: one that is kept; None for one of this run.
    :param state: a directory for what is not whole, and what a run needs to go on after an
        interruption; deleted at the end.
    :param keep_index: leave the index of this run in the directory `state`.
    :param overwrite: the output and verdicts may be there.
    :param restart: forget an interrupted run.
    """

    inputs: Sequence[Path]
    state: Path
    output: Path | None = None
    verdicts: Path | None = None
    index: Path | None = None
    keep_index: bool = False
    overwrite: bool = False
    restart: bool = False
    standard_input: Path | None = None

    @property
    def output_file(self) -> Path | None:
        """The output, unless that goes to standard output."""
        return None if self.output == STANDARD_OUTPUT else self.output
