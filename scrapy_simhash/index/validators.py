"""Encode and decode the validators of a page: the ETag and Last-Modified headers of a response. The
next request sends them back, so that the server can answer that the page has not changed.

Validators belong to the text of an entry. If the number of the entry has changed, so has its text.
"""

from __future__ import annotations

import json
from typing import NamedTuple


class Validators(NamedTuple):
    """The validators of the last response of a page that was handled without an error.

    :param number: `Entry.number` of the page's entry at that time.
    :param etag: the header; empty if it is missing or unusable. `last_modified` likewise.
    """

    number: int
    etag: str
    last_modified: str


def encode_validators(validators: Validators) -> bytes:
    """Return the side row of a page's validators."""
    return json.dumps(validators, separators=(",", ":")).encode()


def decode_validators(row: bytes) -> Validators:
    """Return the validators of a side row. :raises ValueError: the row cannot be read."""
    try:
        number, etag, last_modified = json.loads(row)
        return Validators(int(number), str(etag), str(last_modified))
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"the validators of a page cannot be read ({error})") from error
