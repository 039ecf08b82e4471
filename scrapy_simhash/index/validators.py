"""Store the validators of a page: ETag and Last-Modified, by which a server tells if it changed.

They are valid for the content in the index as long as the entry of the page has the same number.
"""

from __future__ import annotations

import json
from typing import NamedTuple


class Validators(NamedTuple):
    """The validators of the last handled response of a page.

    :param number: `Entry.number` of the entry of the page.
    :param etag: header of the response, or empty; `last_modified` likewise.
    """

    number: int
    etag: str
    last_modified: str


def encode_validators(validators: Validators) -> bytes:
    """Return the side row of a page."""
    return json.dumps(validators, separators=(",", ":")).encode()


def decode_validators(row: bytes) -> Validators:
    """Return the validators of a side row. :raises ValueError: the row cannot be read."""
    try:
        number, etag, last_modified = json.loads(row)
        return Validators(int(number), str(etag), str(last_modified))
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"the validators of a page cannot be read ({error})") from error
