"""Fingerprint the rows of a frame, as `dedupe` fingerprints records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import BinaryType

from scrapy_simhash.dedupe.fingerprinting import Fingerprinter, Job, make_job_spec
from scrapy_simhash.detector import evidence_of
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import Column, DataFrame

    from scrapy_simhash.dedupe.options import DedupeOptions, Fields

SCHEMA = (
    "key string, fingerprint binary, certainty binary, sketch binary, site long, title binary, "
    "heading binary, reason string"
)
# A record with such a key has none of its own; no other key begins so.
_NO_KEY = "\0"


class _Rows(NamedTuple):
    """What `make_job_spec` asks for."""

    fields: Fields
    encoding: str
    format: str = "json-lines"
    header: tuple[str, ...] = ()
    delimiter: str = ","


def fingerprinted(content: Column, fields: Fields, options: DedupeOptions) -> Column:
    """Return a column with the fingerprint and the evidence of each record, see `SCHEMA`.

    :param content: records as JSON objects, in bytes.
    """
    import pandas as pd

    spec = make_job_spec(_Rows(fields, options.encoding), options)
    most_bytes, width = options.max_bytes, options.scheme.bits // 8

    def made(contents: pd.Series) -> pd.DataFrame:
        fingerprinter = _fingerprinter(spec)
        rows = [
            _row(fingerprinter, one if len(one) <= most_bytes else "too_large", width)
            for one in contents
        ]
        return pd.DataFrame(rows, columns=[part.split()[0] for part in SCHEMA.split(", ")])

    # Spark reads them, and here they are text with names that only the function knows.
    made.__annotations__ = {"contents": pd.Series, "return": pd.DataFrame}
    found: Column = F.pandas_udf(made, SCHEMA)(content)
    return found


def content_of(frame: DataFrame, fields: Fields) -> Column:
    """Return a column with the fields of each row that count, as a JSON object in bytes.

    :raises SimhashError: a field is missing.
    """
    names = [name for name in dict.fromkeys((*fields.text, fields.html, fields.key)) if name]
    for name in names:
        if name not in frame.columns:
            raise SimhashError(f"no column {name!r}; there are {', '.join(frame.columns)}")
    columns = [
        # As bytes, it would be in base64.
        F.col(f"`{name}`").cast("string").alias(name)
        if isinstance(frame.schema[name].dataType, BinaryType)
        else F.col(f"`{name}`")
        for name in names
    ]
    return F.to_json(F.struct(*columns)).cast("binary")


_fingerprinters: dict[str, Fingerprinter] = {}


def _fingerprinter(spec: dict[str, Any]) -> Fingerprinter:
    """Return the one of this process: batches are small."""
    name = repr(spec)
    if name not in _fingerprinters:
        _fingerprinters[name] = Fingerprinter(spec)
    return _fingerprinters[name]


def _row(fingerprinter: Fingerprinter, content: bytes | str, width: int) -> tuple[Any, ...]:
    [(key, page)] = fingerprinter.fingerprint(Job(_NO_KEY, 1, [content]))
    own_key = None if key.startswith(_NO_KEY) else key
    if page.fingerprint is None:
        return (own_key, None, None, None, None, None, None, page.skipped)
    evidence = page.evidence if own_key is None else evidence_of(own_key, page)
    return (
        own_key,
        page.fingerprint.to_bytes(width, "big"),
        evidence.certainty,
        evidence.sketch,
        evidence.site,
        evidence.title,
        evidence.heading,
        None,
    )
