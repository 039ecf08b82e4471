"""Tell the format of a file from its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from scrapy_simhash.documents.decoding import HTML_ENDINGS

if TYPE_CHECKING:
    from pathlib import Path

Format = Literal["json-lines", "json", "csv", "parquet", "html", "warc"]

_ENDINGS: dict[str, Format] = {
    **dict.fromkeys((".jl", ".jsonl", ".jsonlines", ".ndjson"), "json-lines"),
    **dict.fromkeys(HTML_ENDINGS, "html"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    ".json": "json",
    ".warc": "warc",
    ".wet": "warc",
}


def format_of(path: Path) -> Format | None:
    """Return the format of a file by its name, which may end with ``.gz``, or None if unknown;
    ``html`` for a folder.
    """
    if path.is_dir():
        return "html"
    name = path.name.lower().removesuffix(".gz")
    return next((form for ending, form in _ENDINGS.items() if name.endswith(ending)), None)
