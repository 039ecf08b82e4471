"""Fingerprint the rows of a DataFrame as `dedupe` fingerprints records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd  # not only for type checkers: Spark reads the annotations
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import BinaryType

from scrapy_simhash.dedupe.fingerprinting import Fingerprinter, Job
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.evidence import encode_evidence
from scrapy_simhash.identities import IDENTITY_FIELDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from scrapy_simhash.dedupe.options import DedupeOptions, Fields

SCHEMA = "key string, fingerprint binary, certainty binary, evidence binary, reason string"
_COLUMNS = [part.split()[0] for part in SCHEMA.split(", ")]
# Stands for a file name in jobs, so that default keys can be told from others.
_NO_KEY = "\0"


def fingerprinted(content: Column, fields: Fields, options: DedupeOptions) -> Column:
    """Return a column of the type `SCHEMA`, in which the key is null for records without a key.

    :param content: a column of records as JSON objects, in bytes.
    """
    fingerprinter = Fingerprinter(options, fields, encoding=options.encoding)
    max_bytes, width = options.max_bytes, options.scheme.bits // 8

    def fingerprint_batch(contents: pd.Series) -> pd.DataFrame:
        rows = [
            # A string is the reason why a record is skipped.
            _row(fingerprinter, content if len(content) <= max_bytes else "too_large", width)
            for content in contents
        ]
        return pd.DataFrame(rows, columns=_COLUMNS)

    column: Column = F.pandas_udf(fingerprint_batch, SCHEMA)(content)
    return column


def content_of(frame: DataFrame, fields: Fields) -> Column:
    """Return a column with the given fields of each row and those that tell records apart, as a
    JSON object in bytes.

    :raises SimhashError: there is no column of that name.
    """
    used = (*fields.text, fields.html, fields.key, *(fields.names or ()))
    telling_apart = (  # `distinct` may also have selectors
        name for name in frame.columns if name in fields.distinct or name.lower() in IDENTITY_FIELDS
    )
    names = [name for name in dict.fromkeys((*used, *telling_apart)) if name]
    for name in names:
        if name not in frame.columns:
            raise SimhashError(f"no column {name!r}; there are {', '.join(frame.columns)}")
    columns = [
        # to_json would encode bytes as base64.
        column_named(name).cast("string").alias(name)
        if isinstance(frame.schema[name].dataType, BinaryType)
        else column_named(name)
        for name in names
    ]
    return F.to_json(F.struct(*columns)).cast("binary")


def column_named(name: str) -> Column:
    """Return the column with a name that may contain dots, which Spark takes for a path."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


def _row(fingerprinter: Fingerprinter, content: bytes | str, width: int) -> tuple[Any, ...]:
    job = Job(_NO_KEY, 1, [content])
    [(key, fingerprint, evidence, skipped)] = fingerprinter.fingerprint(job)
    own_key = None if key == job.default_key(0) else key
    if fingerprint is None:
        return (own_key, None, None, None, skipped)
    return (
        own_key,
        fingerprint.to_bytes(width, "big"),
        evidence.certainty,
        encode_evidence(evidence._replace(certainty=b"")),
        None,
    )
